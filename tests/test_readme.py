"""The README is run: every command of its tour succeeds in a copy of the sample project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = README.split("## A tour", 1)[1].split("\n## ", 1)[0]


def tour_commands() -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", TOUR, re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def test_every_command_of_the_tour_succeeds_in_order(tmp_path: Path) -> None:
    project = tmp_path / "harbor"
    shutil.copytree(ROOT / "sample_projects" / "harbor", project)
    environ = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "MEMCLI_HOME": str(tmp_path / "home"),
        "MEMCLI_CONFIG": str(tmp_path / "config"),
        "TMPDIR": str(tmp_path),
    }
    commands = tour_commands()
    assert len(commands) >= 12
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {command.replace('/tmp/', str(tmp_path) + '/')}"],
            cwd=project,
            env=environ,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def test_the_exit_status_table_is_the_enum() -> None:
    from memcli.cli.exit_status import ExitStatus

    rows = re.findall(r"^\| (\d+) \|", README, re.MULTILINE)
    assert [int(row) for row in rows] == [int(status) for status in ExitStatus]


def test_the_readme_names_no_command_that_does_not_exist() -> None:
    from memcli.cli.command_table import COMMANDS

    known = {" ".join(command.words) for command in COMMANDS}
    for line in tour_commands():
        words = re.findall(r"memcli ((?:[a-z]+ ?)+)", line)[-1].split()
        assert " ".join(words[:2]) in known or words[0] in known, line
