"""``memcli config show``: every setting, its value, its origin, and what is wrong with a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.project_support import validate
from cli.run_support import Bench, Printed

from memcli.configuration import OPTIONS


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def configure(bench: Bench, *, project: str = "", user: str = "") -> None:
    (bench.root / "memcli.toml").write_text(f'id = "harbor"\n{project}')
    (bench.base / "config").mkdir(exist_ok=True)
    (bench.base / "config" / "config.toml").write_text(user)


def origin_of(printed: Printed, key: str) -> tuple[Any, str]:
    setting = next(each for each in printed.document["settings"] if each["key"] == key)
    return setting["value"], setting["origin"]


def test_every_setting_is_shown_with_its_value_and_origin(bench: Bench) -> None:
    shown = bench.run("config", "show").out
    for option in OPTIONS:
        line = next(line for line in shown.splitlines() if option.key in line)
        assert line.split()[-1] == "default"
    assert "history.record           true" in shown


def test_flags_go_before_environment_before_project_before_user_before_defaults(
    bench: Bench,
) -> None:
    key, env = "models.threads", {"MEMCLI_THREADS": "3"}
    assert origin_of(bench.run("config", "show", "--json"), key) == (0, "default")
    configure(bench, user="[models]\nthreads = 1\n")
    assert origin_of(bench.run("config", "show", "--json"), key) == (1, "user config.toml")
    configure(bench, user="[models]\nthreads = 1\n", project="[models]\nthreads = 2\n")
    assert origin_of(bench.run("config", "show", "--json"), key) == (2, "project memcli.toml")
    given = bench.run("config", "show", "--json", env=env)
    assert origin_of(given, key) == (3, "environment MEMCLI_THREADS")
    given = bench.run("config", "show", "--json", "--threads", "4", env=env)
    assert origin_of(given, key) == (4, "flag --threads")


def test_the_files_considered_are_named_also_where_they_are_not_there(bench: Bench) -> None:
    printed = bench.run("config", "show", "--json")
    validate(printed.document)
    assert printed.document["files"] == [
        {"path": str(bench.root / "memcli.toml"), "origin": "project memcli.toml", "exists": True},
        {
            "path": str(bench.base / "config" / "config.toml"),
            "origin": "user config.toml",
            "exists": False,
        },
    ]
    assert "config.toml (not there)" in bench.run("config", "show").out


def test_listed_sources_and_trust_are_shown(bench: Bench) -> None:
    outside = bench.base / "shelf"
    outside.mkdir()
    configure(
        bench,
        project=f'[[source]]\nroot = "{outside}"\ninclude = ["*.md"]\nexclude = ["old/"]\n',
        user=f'[trust]\nroots = ["{bench.root}"]\n',
    )
    printed = bench.run("config", "show", "--json")
    validate(printed.document)
    assert printed.document["project"]["trusted"] is True
    assert printed.document["sources"] == [
        {
            "scope": "project",
            "root": str(outside),
            "include": ["*.md"],
            "exclude": ["old/"],
            "kind": None,
            "prefix": None,
            "origin": "project memcli.toml",
        }
    ]
    assert f"{outside} (*.md, !old/), from project memcli.toml" in bench.run("config", "show").out


@pytest.mark.parametrize(
    ("text", "named", "suggested"),
    [
        ("[limits]\ntoken = 100\n", "limits.token", "limits.tokens"),
        ("[model]\nthreads = 1\n", "model", "models"),
        ("threads = 1\n", "threads", "models.threads"),
        ("[[source]]\nincludes = ['*.md']\n", "includes", "include"),
    ],
)
def test_an_unknown_key_is_an_error_that_names_file_and_key_and_the_near_one(
    bench: Bench, text: str, named: str, suggested: str
) -> None:
    configure(bench, project=text)
    for command in (("config", "show"), ("memory", "list"), ("runs", "list")):
        printed = bench.run(*command, "--json")
        assert printed.status == 2
        assert printed.out == ""
        assert printed.error["code"] == "configuration_invalid"
        assert str(bench.root / "memcli.toml") in printed.error["message"]
        assert named in printed.error["message"]
        assert suggested in printed.error["hint"]


@pytest.mark.parametrize(
    "text",
    [
        '[models]\nembedder = "../evil.gguf"\n',
        '[[source]]\nroot = "../.."\n',
        '[trust]\nroots = ["/"]\n',
        "[limits]\ntokens = 100000\n",
    ],
)
def test_what_a_project_may_not_ask_for_is_refused_by_every_command(
    bench: Bench, text: str
) -> None:
    """F23: nothing outside the project without the user's own consent."""
    configure(bench, project=text)
    printed = bench.run("config", "show", "--json")
    assert printed.status == 2
    assert printed.error["code"] in ("configuration_invalid", "source_outside_project")
    assert printed.error["message"]


def test_a_flag_of_the_wrong_kind_is_an_error_that_names_the_flag(bench: Bench) -> None:
    printed = bench.run("config", "show", "--gpu", "atuo", "--json")
    assert printed.status == 2
    assert "--gpu" in printed.error["message"]
    printed = bench.run("config", "show", "--json", env={"MEMCLI_GPU": "atuo"})
    assert "MEMCLI_GPU" in printed.error["message"]


@pytest.mark.parametrize(
    "command", [("config", "show"), ("init", "--dry-run"), ("completion", "bash")]
)
def test_none_of_it_loads_a_model_or_numpy(
    built_project: tuple[Path, dict[str, str]], command: tuple[str, ...]
) -> None:
    """F35."""
    root, env = built_project
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "memcli", *command],
        capture_output=True,
        text=True,
        env=env,
        cwd=root,
    )
    assert done.returncode == 0
    loaded = {line.rsplit("|", 1)[1].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert not loaded & {"numpy", "llama_cpp", "sqlite_utils", "rich", "watchfiles"}
