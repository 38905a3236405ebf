"""SIGINT and SIGTERM at every stage of an answer, and at a question: 130, quiet, all usable."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from cli.project_support import Terminal
from conftest_types import Run
from tiny_gguf import write_tiny_bert

SIGNALS = [signal.SIGINT, signal.SIGTERM]
QUERY = "how do I roll back a bad deploy?"
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(
    own_memcli: tuple[Run, Path], built_project: tuple[Path, dict[str, str]], tmp_path: Path
) -> Start:
    """Start the program in the test's own copy of the small project."""
    env = {**built_project[1], "MEMCLI_HOME": str(tmp_path / "central"), "HOME": str(tmp_path)}

    def started(*arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "memcli", *arguments],
            cwd=own_memcli[1],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    return started


def interrupted(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send the signal; the process must end soon with 130 and say nothing."""
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")


def stage_of_last_run(run: Run) -> str:
    record = run("runs", "show", "last", "--json").document["run"]
    assert record["status"] == "failed"
    assert record["error"]["code"] == "retrieval_interrupted"
    stage: str = record["error"]["stage"]
    return stage


def wait_for_a_running_run(run: Run) -> None:
    end = time.monotonic() + 60
    while not run("runs", "list", "--status", "running", "--json").document["runs"]:
        assert time.monotonic() < end


@pytest.mark.parametrize("number", SIGNALS)
def test_while_a_model_is_read(
    start: Start, own_memcli: tuple[Run, Path], tmp_path: Path, number: signal.Signals
) -> None:
    """From a disk that has stopped answering: a pipe that nobody fills."""
    run, _ = own_memcli
    pipe = tmp_path / "slow.gguf"
    os.mkfifo(pipe)
    process = start("activate", QUERY, "--reranker", str(pipe))
    # Opening waits until the other side has opened it: then it is loading.
    with pipe.open("wb") as stream:
        stream.write(b"GGUF\3\0\0\0")
        stream.flush()
        time.sleep(0.2)
        interrupted(process, number)
    assert stage_of_last_run(run) == "load"
    assert run("activate", QUERY).status == 0


@pytest.mark.parametrize("number", SIGNALS)
def test_while_a_cross_encoder_reranks(
    start: Start, own_memcli: tuple[Run, Path], tmp_path: Path, number: signal.Signals
) -> None:
    run, root = own_memcli
    for note in range(10):
        text = f"# Rollback {note}\n\n" + "how to roll back a bad deploy in time. " * 36
        (root / f"docs/n{note}.md").write_text(text)
    assert run("index", "build").status == 0
    # Some seconds of work for these pairs of 512 tokens.
    model = write_tiny_bert(tmp_path / "slow.gguf", seed=1, width=384, layers=12, heads=4)
    stages = []
    wait, too_early, too_late = 1.5, 0.0, 0.0
    for _ in range(12):
        process = start("activate", QUERY, "--reranker", str(model), "--json")
        wait_for_a_running_run(run)
        time.sleep(wait)
        if process.poll() is not None:
            process.communicate()
            too_late = wait
            wait = (too_early + too_late) / 2
            continue
        interrupted(process, number)
        stages.append(stage_of_last_run(run))
        if stages[-1] == "rerank":
            break
        too_early = wait
        wait = (too_early + too_late) / 2 if too_late else 1.5 * wait
    assert "rerank" in stages, f"the signal never met the reranker: {stages}"
    assert run("activate", QUERY).status == 0


def test_at_any_moment_from_start_to_end_it_is_130_or_done(
    start: Start, own_memcli: tuple[Run, Path]
) -> None:
    """Loading llama.cpp, its model, embedding, printing: whatever the signal meets."""
    run, _ = own_memcli
    for step in range(12):
        process = start("activate", QUERY, "--json")
        time.sleep(0.1 + 0.08 * step)
        number = SIGNALS[step % 2]
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        assert b"Traceback" not in err
        # Before the program has a say, Python and the system end it in their own way.
        assert process.returncode in (0, 130, -number)
        # An answer comes whole or not at all.
        if out:
            assert orjson.loads(out)["fragments"]
        assert err == b""
    assert not run("runs", "list", "--status", "running", "--json").document["runs"]
    assert run("activate", QUERY).status == 0


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("command", [("clear",), ("forget",), ("init",)])
def test_at_a_question(
    own_memcli: tuple[Run, Path],
    built_project: tuple[Path, dict[str, str]],
    tmp_path: Path,
    command: tuple[str, ...],
    number: signal.Signals,
) -> None:
    run, root = own_memcli
    assert run("activate", QUERY).status == 0
    before = (root / "memcli.toml").read_text()
    env = {**built_project[1], "MEMCLI_HOME": str(tmp_path / "central"), "HOME": str(tmp_path)}
    asking = Terminal.memcli(command, root, env)
    asking.wait_for("[y/N]")
    if number is signal.SIGINT:
        asking.type("\x03")
    else:
        asking.send(number)
    assert asking.status() == 130
    assert b"Traceback" not in asking.shown
    assert len(run("runs", "list", "--json").document["runs"]) == 1
    assert (root / "memcli.toml").read_text() == before


def test_an_end_of_input_at_a_question_is_a_no(
    own_memcli: tuple[Run, Path], built_project: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    run, root = own_memcli
    assert run("activate", QUERY).status == 0
    env = {**built_project[1], "MEMCLI_HOME": str(tmp_path / "central"), "HOME": str(tmp_path)}
    asking = Terminal.memcli(["clear"], root, env)
    asking.wait_for("[y/N]")
    asking.type("\x04")
    assert asking.status() == 1
    assert len(run("runs", "list", "--json").document["runs"]) == 1


def test_at_any_moment_of_an_export_it_is_130_or_done_and_no_file_is_a_part(
    start: Start, own_memcli: tuple[Run, Path]
) -> None:
    run, root = own_memcli
    assert run("activate", QUERY).status == 0
    assert run("case", "create", "last").status == 0
    case = run("case", "list", "--json").document["cases"][0]["case_id"]
    resolved = run("case", "resolve", case, "--expected-version", "1", "--evidence", "rank:1")
    assert resolved.status == 0, resolved.err
    whole = run("export", "--out", "whole")
    assert whole.status == 0, whole.err
    for step in range(12):
        out = root / f"out-{step}"
        process = start("export", "--out", str(out))
        time.sleep(0.04 + 0.04 * step)
        number = SIGNALS[step % 2]
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
        assert b"Traceback" not in err
        assert process.returncode in (0, 130, -number)
        left = {path.name for path in out.iterdir()} if out.is_dir() else set()
        # Two renames are two moments: one file may be there without the other, but whole.
        assert left <= {"fixture.json", "report.json"}, left
        for name in left:
            assert (out / name).read_bytes() == (root / "whole" / name).read_bytes()
