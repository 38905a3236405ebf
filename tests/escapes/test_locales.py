"""Output is UTF-8 in every locale, and no argument or file name is beyond showing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import orjson
import pytest
from escapes.test_path_traversal import run_in

from memcli.facade import Memcli

PROGRAM = (sys.executable, "-m", "memcli")
LOCALES = (
    {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONUTF8": "0", "LC_ALL": "en_US.ISO-8859-1", "PYTHONIOENCODING": "latin-1"},
    {"PYTHONIOENCODING": "ascii:strict", "LC_ALL": "C.UTF-8"},
)
COMMANDS = (
    ("why", "部署", "文档/部署手册.md"),
    ("why", "--help"),
    ("memory", "show", "文档/部署手册.md"),
    ("runs", "show", "last"),
    ("completion", "words", "resources", "文"),
)


@pytest.fixture
def project(
    write_notes: Callable[[Mapping[str, str]], Path],
    open_project: Callable[..., Memcli],
    one_model: None,
) -> Path:
    root = write_notes({"文档/部署手册.md": "# 部署手册\n\n部署前先通知值班同学。\n"})
    memcli = open_project(root)
    memcli.build_index()
    memcli.activate_memory("部署前要通知谁")
    return root


def run(
    root: Path, env: Mapping[str, str], *arguments: str | bytes
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*PROGRAM, *arguments], cwd=root, env=env, capture_output=True)


@pytest.mark.parametrize("locale", LOCALES, ids=lambda each: each["LC_ALL"])
def test_every_locale_gets_utf_8_and_reads_names_in_it(
    project: Path, homes: dict[str, str], locale: dict[str, str]
) -> None:
    for arguments in COMMANDS:
        done = run(project, {**homes, **locale}, *map(os.fsencode, arguments))
        assert done.returncode == 0, done.stderr
        assert done.stderr.count(b"Traceback") == 0
        assert "部署" in done.stdout.decode("utf-8"), arguments


def test_an_editor_does_not_see_the_mode_that_memcli_runs_in(
    project: Path, homes: dict[str, str], tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\nenv > "{tmp_path}/seen"\n')
    editor.chmod(0o755)
    env = {**homes, **LOCALES[0], "EDITOR": str(editor)}
    done = run(project, env, "runs", "show", "last", "--open", "1")
    assert done.returncode == 0, done.stderr
    assert "PYTHONUTF8=0" in (tmp_path / "seen").read_text().splitlines()


def test_arguments_and_names_that_are_no_utf_8_are_shown_as_their_bytes(
    project: Path, homes: dict[str, str], one_model: None
) -> None:
    Path(os.fsdecode(os.fsencode(project) + b"/bad\xff.md")).write_text("# Bad\n")
    odd = os.fsdecode(b"x\xff\x9b\xfe")
    for arguments in (
        ("activate", odd), ("activate", "-", "-C", odd), ("why", odd, odd), (odd,),
        ("runs", "show", odd), ("runs", "show", "last", "--candidate", odd), ("status",),
        ("memory", "show", odd), ("index", "build"), ("index", "keep", odd), ("head", "swap", odd),
        ("case", "show", odd), ("case", "create", odd), ("report", odd), ("forget", odd),
        ("export", "--out", f"/dev/null/{odd}"), ("models", "use", odd),
        ("config", "show", "--embedder", odd), ("init", "--dry-run"), ("completion", odd),
        ("models", "add", odd, odd),
        ("activate", "q", "--state", odd), ("runs", "list", "--since", odd), ("memory", "list"),
    ):  # fmt: skip
        for json in ((), ("--json",)):
            shown = run_in(project, homes, *arguments, *json)
            assert "Traceback" not in shown
            assert "internal_error" not in shown, arguments
            if json:
                for line in shown.splitlines():
                    assert not line.startswith("{") or orjson.loads(line)
    assert "bad\\xff.md" in run_in(project, homes, "memory", "list")
    done = run(project, homes, "runs", "show", os.fsencode(odd), "--json")
    assert orjson.loads(done.stderr)["error"]["code"] == "usage"
