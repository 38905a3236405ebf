"""Every listing at 40 and at 200 columns, in a pipe, and through the tools a shell has."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cli.project_support import Terminal
from conftest_types import Run

from memcli.cli.safe_text import display_width

COMMANDS = (
    "status", "memory list", "memory show docs/oncall.md --units", "index list", "head show",
    "runs list", "runs show last", "case list", "config show", "init --dry-run",
    "activate 'roll back a deploy'", "activate 'roll back a deploy' --explain", "doctor",
    "why 'roll back' docs/rollback.md", "--help", "activate --help",
)  # fmt: skip
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;;[^\x1b]*\x1b\\")


def shell(script: str, root: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    program = f"{sys.executable} -m memcli"
    return subprocess.run(
        ["bash", "-c", script.replace("MEMCLI", program)],
        cwd=root,
        env=env,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def used_project(built_project: tuple[Path, dict[str, str]]) -> tuple[Path, dict[str, str]]:
    """The small project after a question, so that every listing has rows."""
    root, env = built_project
    done = shell("MEMCLI activate 'roll back a deploy' && MEMCLI case create last", root, env)
    assert done.returncode == 0, done.stderr
    return built_project


@pytest.mark.parametrize("columns", [40, 200])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_works_on_a_terminal_of_40_and_of_200_columns(
    used_project: tuple[Path, dict[str, str]], command: str, columns: int
) -> None:
    root, env = used_project
    terminal = Terminal.memcli(
        shlex.split(command), root, {**env, "TERM": "xterm-256color"}, columns
    )
    assert terminal.status() == 0
    text = ESCAPES.sub("", terminal.shown.decode())
    assert text.strip()
    assert "\x1b" not in text
    assert "Traceback" not in text


@pytest.mark.parametrize("command", ["runs list", "case list"])
def test_tables_fit_a_narrow_terminal(
    used_project: tuple[Path, dict[str, str]], command: str
) -> None:
    root, env = used_project
    terminal = Terminal.memcli(shlex.split(command), root, {**env, "TERM": "dumb"}, 40)
    assert terminal.status() == 0
    out = [line for line in terminal.shown.decode().splitlines() if "memcli" not in line]
    assert max(map(display_width, out)) <= 40


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_gets_the_same_bytes_at_every_width_and_no_escapes(
    used_project: tuple[Path, dict[str, str]], command: str
) -> None:
    """F38."""
    root, env = used_project
    if command.startswith("activate '"):
        command += " --no-record"
    outputs = []
    for columns in ("40", "200"):
        done = shell(f"MEMCLI {command} | cat", root, {**env, "COLUMNS": columns, "TERM": "xterm"})
        assert done.returncode == 0
        assert "\x1b" not in done.stdout + done.stderr
        # Ages, run times (and their bars) and free space are never the same twice.
        outputs.append(re.sub(r"\d+(\.\d+)?|[█▏▎▍▌▋▊▉]+", "0", done.stdout))
    if not command.endswith("--help") or command == "--help":
        assert outputs[0] == outputs[1]


def test_head_ends_every_command_quietly_and_the_status_is_0(
    used_project: tuple[Path, dict[str, str]],
) -> None:
    root, env = used_project
    for command in (
        "doctor",
        "config show",
        "completion zsh",
        "runs list --json",
        "init --dry-run",
    ):
        done = shell(f"set -o pipefail; MEMCLI {command} | head -n 1", root, env)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == 1
        for trouble in ("Traceback", "BrokenPipe", "Exception"):
            assert trouble not in done.stderr


def test_xargs_and_a_loop_over_ids_work(used_project: tuple[Path, dict[str, str]]) -> None:
    root, env = used_project
    done = shell(
        "set -o pipefail; MEMCLI runs list | tail -n +2 | cut -f 1 | head -n 2 |"
        " xargs -n 1 MEMCLI runs show --json | wc -l",
        root,
        env,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 1
    done = shell(
        "MEMCLI memory list --json | python3 -m json.tool > /dev/null && "
        "printf 'who carries the pager\\0roll back a deploy\\0' |"
        " xargs -0 -n 1 MEMCLI activate --format markdown",
        root,
        env,
    )
    assert done.returncode == 0, done.stderr
    assert "docs/oncall.md" in done.stdout
    assert "docs/rollback.md" in done.stdout


def test_a_failing_command_fails_the_pipeline(used_project: tuple[Path, dict[str, str]]) -> None:
    root, env = used_project
    for command, status in (("runs show nosuchrun", 1), ("head swop", 2), ("case show zz", 1)):
        done = shell(f"set -o pipefail; MEMCLI {command} | cat", root, env)
        assert done.returncode == status
        assert done.stdout == ""


@pytest.mark.parametrize("extra", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX"}])
def test_settings_init_and_doctor_print_utf_8_in_every_locale(
    memcli: Run, tmp_path: Path, extra: dict[str, str]
) -> None:
    root = tmp_path / "项目"
    (root / "文档").mkdir(parents=True)
    (root / "文档/部署.md").write_text("# 部署\n", encoding="utf-8")
    for command in ("init --dry-run", "config show", "doctor"):
        done = memcli(*command.split(), cwd=root, env=extra)
        assert done.status == 0, done.err
        assert "项目" in done.out
    assert "文档/" in memcli("init", "--dry-run", cwd=root, env=extra).out
