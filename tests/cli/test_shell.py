"""What a shell expects: pipes, locales, dumb terminals, signals, odd text (F38)."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest_types import Run

LONG_PATH = "docs/" + "a-folder-with-a-long-name/" * 4 + "a-note.md"
MARKUP = (
    "# Markup\n\nClose with [/b] [red] [/foo] and \x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b31m.\n"
)


@pytest.fixture
def odd_project(own_memcli: tuple[Run, Path]) -> tuple[Run, Path]:
    run, root = own_memcli
    (root / LONG_PATH).parent.mkdir(parents=True)
    (root / LONG_PATH).write_text("# A long path\n\n" + "the zebra word goes on and on " * 8 + "\n")
    (root / "docs/markup.md").write_text(MARKUP)
    assert run("index", "build").status == 0
    return run, root


def test_text_that_looks_like_markup_is_printed_as_is_and_control_sequences_are_not(
    odd_project: tuple[Run, Path],
) -> None:
    run, _ = odd_project
    for arguments in (("--explain",), (), ("--format", "text")):
        done = run("activate", "close with markup", *arguments)
        assert done.status == 0
        assert "[/b] [red] [/foo]" in done.out
        assert "\x1b" not in done.out + done.err
        assert "\x9b" not in done.out
        assert "\\x1b[31mred" in done.out


def test_long_lines_and_paths_are_never_wrapped_in_a_pipe(odd_project: tuple[Run, Path]) -> None:
    run, _ = odd_project
    done = run("activate", "the zebra word", env={"COLUMNS": "40"})
    assert any(LONG_PATH in line for line in done.out.splitlines())
    assert "the zebra word goes on and on " * 7 in done.out
    assert any(LONG_PATH in line for line in run("memory", "list").out.splitlines())


@pytest.mark.parametrize("extra", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {"TERM": "dumb"}])
def test_output_is_utf_8_whatever_the_locale_or_terminal(
    memcli: Run, extra: dict[str, str]
) -> None:
    done = memcli("activate", "部署前要做什么", "--format", "markdown", env=extra)
    assert done.status == 0
    assert "数据库迁移必须在低峰期执行" in done.out


def shell(script: str, root: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    memcli = f"{sys.executable} -m memcli"
    return subprocess.run(
        ["bash", "-c", script.replace("MEMCLI", memcli)],
        cwd=root,
        env=env,
        capture_output=True,
        text=True,
    )


def test_a_closed_pipe_ends_quietly(built_project: tuple[Path, dict[str, str]]) -> None:
    root, env = built_project
    for command in ("activate 'roll back' --explain", "memory list", "--help", "status"):
        done = shell(f"set -o pipefail; MEMCLI {command} | true", root, env)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert "BrokenPipe" not in done.stderr


def test_no_standard_input_and_closed_streams_do_no_harm(
    built_project: tuple[Path, dict[str, str]],
) -> None:
    root, env = built_project
    assert shell("MEMCLI activate 'roll back' < /dev/null", root, env).returncode == 0
    assert shell("MEMCLI activate 'roll back' >&- 2>&-", root, env).returncode == 0
    assert shell("MEMCLI head show <&-", root, env).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_build_with_130_and_the_head_still_answers(
    own_memcli: tuple[Run, Path],
    built_project: tuple[Path, dict[str, str]],
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    run, root = own_memcli
    for note in range(200):
        text = f"# Note {note}\n\n" + f"sentence {note} about something. " * 60
        (root / f"docs/n{note}.md").write_text(text)
    env = {**built_project[1], "MEMCLI_HOME": str(tmp_path / "central"), "HOME": str(tmp_path)}
    building = subprocess.Popen(
        [sys.executable, "-m", "memcli", "index", "build"],
        cwd=root,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(4)
    building.send_signal(number)
    out, err = building.communicate(timeout=60)
    assert building.returncode == 130, err
    assert b"Traceback" not in err
    assert out == b""
    done = run("activate", "how do I roll back a bad deploy?", "--json")
    assert done.document["fragments"][0]["path"] == "docs/rollback.md"


def in_terminal(arguments: list[str], root: Path, env: dict[str, str]) -> bytes:
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(root)
        os.execve(sys.executable, [sys.executable, "-m", "memcli", *arguments], env)
    shown = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.waitpid(child, 0)
    return shown


def test_colour_only_on_a_terminal_and_never_when_refused(
    built_project: tuple[Path, dict[str, str]],
) -> None:
    root, env = built_project
    env = {**env, "TERM": "xterm-256color"}
    assert b"\x1b[" in in_terminal(["activate", "roll back"], root, env)
    for extra in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert b"\x1b" not in in_terminal(["activate", "roll back"], root, {**env, **extra})
    assert b"\x1b" not in in_terminal(["activate", "roll back", "--no-color"], root, env)


def test_a_terminal_shows_progress_with_a_rate_while_the_model_loads_and_works(
    own_memcli: tuple[Run, Path], built_project: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    """F26: our own display is kept while llama.cpp's lines are caught."""
    _, root = own_memcli
    for note in range(12):
        (root / f"docs/n{note}.md").write_text(f"# Note {note}\n\n" + f"words {note} " * 150)
    env = {**built_project[1], "MEMCLI_HOME": str(tmp_path / "c"), "TERM": "xterm-256color"}
    shown = in_terminal(["index", "build"], root, env).decode()
    assert "embed " in shown
    assert "/s" in shown
    assert "built " in shown
    assert "llama" not in shown
    quiet = in_terminal(["index", "build", "--force", "-q"], root, env).decode()
    assert "embed " not in quiet


def test_piped_progress_is_silent(own_memcli: tuple[Run, Path]) -> None:
    run, root = own_memcli
    (root / "docs/new.md").write_text("# New\n\ntext\n")
    done = run("index", "build")
    assert done.err.count("\n") <= 3
    assert "\x1b" not in done.err


def test_moved_aside_and_renamed_notes_are_found_after_a_build_and_never_before(
    own_memcli: tuple[Run, Path],
) -> None:
    """F20: an editor's rename-save, then a deletion: the head equals a complete revision."""
    run, root = own_memcli
    note = root / "docs/rollback.md"
    temporary = root / "docs/.rollback.md.tmp"
    temporary.write_text(
        "# Rolling back\n\nRoll back a bad deploy with the big red lever in room five.\n"
    )
    temporary.replace(note)
    query = "how do I roll back a bad deploy?"
    before = run("activate", query, "--json").document["fragments"][0]
    assert "six minutes" in before["text"]
    assert run("index", "build").status == 0
    after = run("activate", query, "--json").document["fragments"][0]
    assert "red lever" in after["text"]
    note.unlink()
    assert run("index", "build").status == 0
    gone = run("activate", query, "--json").document["fragments"]
    assert "docs/rollback.md" not in [each["path"] for each in gone]


def test_required_gpu_on_a_cpu_build_is_an_error(memcli: Run) -> None:
    """F27."""
    done = memcli("activate", "roll back", "--gpu", "require", "--json")
    from memcli.models.native_library import native

    if not native().llama_supports_gpu_offload():
        assert done.status == 3
        assert done.error["code"] == "model_not_ready"
    assert "device" in memcli("status").out


def test_a_plain_embedding_gguf_as_reranker_is_refused_by_name(memcli: Run) -> None:
    """F14."""
    from memcli.models.profile import BUNDLED_EMBEDDER

    done = memcli("activate", "roll back", "--reranker", str(BUNDLED_EMBEDDER.file), "--json")
    assert done.status == 3
    assert done.error["code"] == "model_unsuitable"
    assert BUNDLED_EMBEDDER.file.name in done.error["message"]


def test_cross_encoder_by_path_reranks_and_the_answer_says_so(memcli: Run, tmp_path: Path) -> None:
    from tiny_gguf import write_tiny_bert

    model = write_tiny_bert(tmp_path / "tiny.gguf", seed=5)
    done = memcli("activate", "roll back a deploy", "--reranker", str(model), "--json", "--explain")
    assert done.status == 0, done.err
    scores = [e["rerank_score"] for e in done.document["candidates"] if e["rerank_rank"]]
    assert len(scores) > 3
    ranked = sorted(
        (e for e in done.document["candidates"] if e["rerank_rank"]), key=lambda e: e["rerank_rank"]
    )
    assert [e["rerank_score"] for e in ranked] == sorted(scores, reverse=True)


def test_no_output_of_any_command_carries_control_sequences_to_a_terminal(
    odd_project: tuple[Run, Path], built_project: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    _, root = odd_project
    (root / "memcli.toml").write_text(
        'id = "small"\n[[source]]\nscope = "project"\nroot = "."\n'
        'include = ["\\u001b]0;pwned\\u0007*.md"]\n'
    )
    env = {**built_project[1], "MEMCLI_HOME": str(tmp_path / "c"), "TERM": "xterm-256color"}
    env["NO_COLOR"] = env["MEMCLI_NO_LINKS"] = "1"
    for arguments in (
        ("activate", "close with markup"),
        ("activate", "close with markup", "--format", "markdown"),
        ("activate", "close with markup", "--format", "xml"),
        ("activate", "close with markup", "--json"),
        ("activate", "close with markup", "--explain"),
        ("memory", "list"),
        ("head", "show"),
        ("status",),
        ("why", "close with markup", "docs/markup.md"),
    ):
        shown = in_terminal(list(arguments), root, env).decode()
        assert "\x1b" not in shown, arguments
        assert "\x9b" not in shown, arguments
        assert "\x07" not in shown, arguments


def test_queries_takes_no_option_that_it_would_ignore(memcli: Run) -> None:
    for option in (("--state", "x"), ("--state-out", "x"), ("--format", "xml")):
        done = memcli("activate", "--queries", "-", *option, given=b'"roll back"\n')
        assert done.status == 2


def test_an_answer_is_printed_even_if_its_state_cannot_be_written(
    memcli: Run, tmp_path: Path
) -> None:
    out = tmp_path / "no-such-folder" / "state.json"
    done = memcli("activate", "roll back a deploy", "--state-out", str(out))
    assert done.status == 1
    assert done.out.startswith("1. docs/rollback.md")
    assert "file_unwritable" in done.err


def test_why_past_its_deadline_says_so(memcli: Run) -> None:
    env = {"MEMCLI_LIMIT_DEADLINE_SECONDS": "0.01"}
    done = memcli("why", "roll back", "docs/rollback.md", "--json", env=env)
    assert done.status == 1
    assert done.error["code"] == "activation_deadline"


def test_a_revision_can_be_kept_and_let_go(own_memcli: tuple[Run, Path]) -> None:
    run, _ = own_memcli
    head = run("head", "show", "--json").document["head"]
    assert run("index", "keep", head, "--json").document["kept"] is True
    assert run("index", "list", "--json").document["revisions"][0]["kept"] is True
    assert run("index", "keep", head, "--undo", "--json").document["kept"] is False
