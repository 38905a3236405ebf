"""Help, version and listings start like the bare interpreter (F35)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest_types import Run

HEAVY = ("numpy", "llama_cpp", "sqlite_utils", "rich", "pydantic", "typer")


def imported_by(*arguments: str, built_project: tuple[Path, dict[str, str]]) -> set[str]:
    root, env = built_project
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "memcli", *arguments],
        capture_output=True,
        text=True,
        env=env,
        cwd=root,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip().split(".")[0] for line in lines}


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("-h",)])
def test_help_and_version_import_nothing_heavy(
    arguments: tuple[str, ...], built_project: tuple[Path, dict[str, str]]
) -> None:
    assert not imported_by(*arguments, built_project=built_project) & set(HEAVY)


@pytest.mark.parametrize("arguments", [("index", "list"), ("memory", "list"), ("activate", "-h")])
def test_listings_load_neither_numpy_nor_llama_cpp_nor_sqlite_utils(
    arguments: tuple[str, ...], built_project: tuple[Path, dict[str, str]]
) -> None:
    loaded = imported_by(*arguments, built_project=built_project)
    assert not loaded & {"numpy", "llama_cpp", "sqlite_utils"}


def test_help_names_every_command_its_options_and_the_exit_statuses(memcli: Run) -> None:
    from memcli.cli.command_table import COMMANDS

    done = memcli("--help")
    assert done.status == 0
    for command in COMMANDS:
        assert " ".join(command.words) in done.out
        shown = memcli(*command.words, "--help")
        assert shown.status == 0
        assert "Examples:" in shown.out
        for option in ("-C, --project", "--json", "-q, --quiet", "--no-color", "--no-input"):
            assert option in shown.out


def test_version_is_the_packages_and_verbose_names_the_engines(memcli: Run) -> None:
    from memcli import __version__

    assert memcli("--version").out == f"memcli {__version__}\n"
    verbose = memcli("--version", "-v").out
    assert "sqlite 3." in verbose
    assert "llama-cpp-python 0." in verbose


def test_no_arguments_show_the_overview_with_status_2(memcli: Run) -> None:
    done = memcli()
    assert done.status == 2
    assert "Usage:" in done.out


def test_an_unknown_command_suggests_a_near_one(memcli: Run) -> None:
    done = memcli("activte", "x")
    assert done.status == 2
    assert "activate" in done.err
    assert "head swap" in memcli("head", "swop").err


def test_an_unknown_option_is_a_usage_error_also_as_json(memcli: Run) -> None:
    done = memcli("activate", "--frobnicate", "x", "--json")
    assert done.status == 2
    assert done.error["code"] == "usage"
    assert done.out == ""


def test_global_options_work_before_and_after_the_command(
    memcli: Run, built_project: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    root, _ = built_project
    before = memcli("-C", str(root), "--json", "head", "show", cwd=tmp_path)
    after = memcli("head", "show", "-C", str(root), "--json", cwd=tmp_path)
    by_variable = memcli(
        "head", "show", cwd=tmp_path, env={"MEMCLI_PROJECT": str(root), "MEMCLI_JSON": "1"}
    )
    assert before.status == 0
    assert before.out == after.out == by_variable.out
