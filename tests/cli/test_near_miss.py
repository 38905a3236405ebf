"""A command, option, or id that there is not: what comes near is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.run_support import Bench

from memcli.cli.command_table import COMMANDS, GROUPS, find
from memcli.cli.near_miss import _OTHER_NAMES


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        ("activte x", "memcli activate"),
        ("head swop", "memcli head swap"),
        ("index biuld", "memcli index build"),
        ("rus", "memcli runs"),
        ("run list", "memcli runs list"),
        ("build", "memcli index build"),
        ("unpni x", "memcli runs unpin"),
        ("search x", "memcli activate"),
        ("rebuild", "memcli index build"),
        ("help", "memcli --help"),
        ("docter", "memcli doctor"),
        ("compeltion bash", "memcli completion"),
        ("cofnig show", "memcli config show"),
    ],
)
def test_an_unknown_command_names_the_near_ones(bench: Bench, typed: str, suggested: str) -> None:
    printed = bench.run(*typed.split(), "--json")
    assert printed.status == 2
    assert printed.out == ""
    assert printed.error["code"] == "usage"
    assert printed.error["hint"].startswith("Did you mean: ")
    near = printed.error["hint"].removeprefix("Did you mean: ").removesuffix("?").split(", ")
    assert suggested in near


def test_the_last_word_alone_names_every_command_that_ends_so(bench: Bench) -> None:
    hint = bench.run("show", "--json").error["hint"]
    for group in ("head", "memory", "runs", "case"):
        assert f"memcli {group} show" in hint


def test_nothing_near_points_to_the_help(bench: Bench) -> None:
    assert bench.run("xyzzy", "--json").error["hint"] == "See `memcli --help`."
    assert bench.run("runs", "xyzzy", "--json").error["hint"] == "See `memcli runs --help`."


def test_every_other_name_leads_to_a_command_that_there_is() -> None:
    for name, meant in _OTHER_NAMES.items():
        words = tuple(word for word in meant.split() if not word.startswith("-"))
        assert find(words) or not words
        assert name not in {each.words[0] for each in COMMANDS}


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_alone_names_its_commands_and_its_help_shows_them(bench: Bench, group: str) -> None:
    printed = bench.run(group, "--json")
    assert printed.status == 2
    assert printed.out == ""
    shown = bench.run(group, "--help")
    assert shown.status == 0
    for command in COMMANDS:
        if command.words[0] == group:
            assert command.words[1] in printed.error["message"]


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        ("activate x --fromat json", "--format"),
        ("clear --dryrun", "--dry-run"),
        ("runs list --al-projects", "--all-projects"),
        ("--jsno status", "--json"),
        ("status --no-colour", "--no-color"),
    ],
)
def test_an_unknown_option_names_the_near_ones(bench: Bench, typed: str, suggested: str) -> None:
    printed = bench.run(*typed.split())
    assert printed.status == 2
    assert "there is no option" in printed.err
    assert f"Did you mean: {suggested}" in printed.err


def test_an_option_like_nothing_points_to_the_commands_help(bench: Bench) -> None:
    assert "See `memcli status --help`." in bench.run("status", "-X").err


def test_a_wrong_choice_names_all_of_them(bench: Bench) -> None:
    printed = bench.run("completion", "bsh")
    assert printed.status == 2
    for shell in ("bash", "zsh", "fish", "powershell"):
        assert shell in printed.err
