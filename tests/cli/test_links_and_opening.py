"""Hits open: links in terminals that know them, and ``--open N`` in the user's editor."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from cli.project_support import Terminal
from conftest_types import Run
from escapes.hostile_project import reseal

from memcli.cli.environment import process_environment
from memcli.cli.links import address, knows_links
from memcli.cli.opening import editor_command, editor_of, open_fragment_of_run
from memcli.cli.options import GlobalValues, Invocation
from memcli.errors import Failure

QUERY = "how do I roll back a bad deploy?"
LINK = "\x1b]8;;"


@pytest.fixture
def editor(tmp_path: Path) -> Path:
    """An editor that writes down its arguments, one a line."""
    program = tmp_path / "my editor"
    program.write_text(
        f'#!/bin/sh\nfor each in "$@"; do printf "%s\\n" "$each"; done > "{tmp_path}/opened"\n'
    )
    program.chmod(0o755)
    return program


def opened(tmp_path: Path) -> list[str]:
    return (tmp_path / "opened").read_text().splitlines()


# Links


@pytest.mark.parametrize(
    ("environ", "known"),
    [
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7200"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "4800"}, False),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"TERM": "xterm-256color", "WT_SESSION": "1"}, True),
        ({"TERM": "xterm-256color"}, False),
        ({}, False),
        ({"TERM": "dumb", "VTE_VERSION": "7200"}, False),
        ({"TERM": "dumb", "FORCE_HYPERLINK": "1"}, False),
        ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, False),
        ({"TERM": "xterm", "FORCE_HYPERLINK": "1"}, True),
        ({"TERM": "xterm-kitty", "MEMCLI_NO_LINKS": "1"}, False),
        ({"TERM": "xterm", "FORCE_HYPERLINK": "1", "MEMCLI_NO_LINKS": "1"}, False),
        ({"TERM": "xterm-kitty", "MEMCLI_NO_LINKS": "0"}, True),
    ],
)
def test_links_only_in_terminals_that_are_known_to_know_them(
    environ: dict[str, str], known: bool
) -> None:
    assert knows_links(environ) is known


@pytest.mark.parametrize(
    "name", ["a b.md", "部署.md", "a\x1b\\b;c.md", "a\x07b.md", "100%.md", "a#b?c.md", "a\nb.md"]
)
def test_nothing_in_a_path_can_end_the_sequence_and_it_reads_back(name: str) -> None:
    link = address(Path("/notes") / name, host="my host")
    assert link.startswith("file://my%20host/notes/")
    assert link.isascii()
    assert link.isprintable()
    assert not set(link) & set(" ;\\#?")
    assert unquote(urlsplit(link).path) == f"/notes/{name}"


def test_a_path_that_is_no_utf_8_keeps_its_bytes() -> None:
    assert address(Path(os.fsdecode(b"/notes/\xff.md")), host="h") == "file://h/notes/%FF.md"


def shown_at_a_terminal(
    built_project: tuple[Path, dict[str, str]], *arguments: str, **env: str
) -> str:
    root, environ = built_project
    terminal = Terminal.memcli(arguments, root, {**environ, **env})
    assert terminal.status() == 0
    return terminal.shown.decode()


def test_a_fragments_place_is_a_link_to_its_file_on_this_host(
    built_project: tuple[Path, dict[str, str]],
) -> None:
    shown = shown_at_a_terminal(built_project, "activate", QUERY, TERM="xterm-kitty", NO_COLOR="1")
    file = built_project[0] / "docs/rollback.md"
    link = f"{LINK}{address(file)}\x1b\\docs/rollback.md:1{LINK}\x1b\\"
    assert shown.splitlines()[0].startswith(f"1. {link} ")


def test_no_links_where_they_are_refused_unknown_or_the_output_is_no_terminal(
    built_project: tuple[Path, dict[str, str]], memcli: Run
) -> None:
    for env in (
        {"TERM": "xterm-kitty", "MEMCLI_NO_LINKS": "1"},
        {"TERM": "dumb"},
        {"TERM": "xterm-256color"},
    ):
        assert LINK not in shown_at_a_terminal(built_project, "activate", QUERY, **env)
    shown = shown_at_a_terminal(built_project, "activate", QUERY, "--json", TERM="xterm-kitty")
    assert LINK not in shown
    assert LINK not in memcli("activate", QUERY, env={"TERM": "xterm-kitty"}).out


# Opening


@pytest.mark.parametrize(
    ("editor", "expected"),
    [
        ("vim", ["vim", "+12", "/n/a.md"]),
        ("/usr/bin/nano -w", ["/usr/bin/nano", "-w", "+12", "/n/a.md"]),
        ("emacsclient -nw", ["emacsclient", "-nw", "+12", "/n/a.md"]),
        ("code --wait", ["code", "--wait", "-g", "/n/a.md:12"]),
        ("'/opt/My Apps/codium'", ["/opt/My Apps/codium", "-g", "/n/a.md:12"]),
        ("cursor.exe", ["cursor.exe", "-g", "/n/a.md:12"]),
        ("hx", ["hx", "/n/a.md:12"]),
        ("subl -w", ["subl", "-w", "/n/a.md:12"]),
    ],
)
def test_each_editor_is_told_the_line_in_its_own_way(editor: str, expected: list[str]) -> None:
    words = editor_of({"EDITOR": editor})
    assert editor_command(words, Path("/n/a.md"), 12) == expected


def test_visual_goes_before_editor_and_blank_counts_as_not_set() -> None:
    assert editor_of({"VISUAL": "vim", "EDITOR": "ed"}) == ["vim"]
    assert editor_of({"VISUAL": " ", "EDITOR": "ed"}) == ["ed"]
    for environ in ({}, {"VISUAL": "", "EDITOR": ""}, {"EDITOR": "'unclosed"}):
        with pytest.raises(Failure) as caught:
            editor_of(environ)
        assert caught.value.code == "no_editor"
        assert caught.value.hint


def test_open_starts_the_editor_with_the_file_at_the_fragments_line(
    memcli: Run, built_project: tuple[Path, dict[str, str]], editor: Path, tmp_path: Path
) -> None:
    done = memcli("activate", QUERY, "--open", "1", env={"EDITOR": f"'{editor}' --flag"})
    assert done.status == 0, done.err
    assert done.out.startswith("1. docs/rollback.md:1 ")
    assert opened(tmp_path) == ["--flag", "+1", str(built_project[0] / "docs/rollback.md")]


def test_the_line_is_the_one_in_the_file_front_matter_counted(
    memcli: Run, built_project: tuple[Path, dict[str, str]], editor: Path, tmp_path: Path
) -> None:
    document = memcli("activate", "the pager is handed over on Tuesday", "--json").document
    at, fragment = next(
        (at, each)
        for at, each in enumerate(document["fragments"], 1)
        if each["path"] == "docs/oncall.md" and each["text"].startswith("# On call")
    )
    env = {"VISUAL": f"'{editor}'"}
    memcli("activate", "the pager is handed over on Tuesday", "--open", str(at), env=env)
    assert opened(tmp_path) == ["+6", str(built_project[0] / "docs/oncall.md")]
    assert fragment["locator"]["start_line"] == 6


def test_a_path_is_never_read_by_a_shell(
    own_memcli: tuple[Run, Path], editor: Path, tmp_path: Path
) -> None:
    run, root = own_memcli
    name = "docs/$(touch pwned); `touch pwned` & 'quoted' \"x\".md"
    (root / name).write_text("# Submarines\n\nThe periscope is greased with seal oil.\n")
    assert run("index", "build").status == 0
    done = run("activate", "periscope grease", "--open", "1", env={"EDITOR": f"'{editor}'"})
    assert done.status == 0, done.err
    assert opened(tmp_path) == ["+1", str(root / name)]
    assert not list(root.rglob("pwned"))


def test_without_an_editor_it_says_so_before_it_does_anything(memcli: Run) -> None:
    done = memcli("activate", QUERY, "--open", "1", "--json")
    assert done.status == 1
    assert done.out == ""
    assert done.error["code"] == "no_editor"
    assert "EDITOR" in done.error["message"]
    assert "export EDITOR=" in done.error["hint"]


def test_a_number_that_was_not_returned_is_an_error_after_the_answer(
    memcli: Run, editor: Path
) -> None:
    env = {"EDITOR": f"'{editor}'"}
    done = memcli("activate", QUERY, "--open", "12", env=env)
    assert done.status == 1
    assert "no fragment 12 to open: 1 to " in done.err
    assert "docs/rollback.md" in done.out
    done = memcli("activate", "zzqx plugh", "--open", "1", "--json", env=env)
    assert done.error["code"] == "fragment_not_found"
    assert memcli("activate", QUERY, "--open", "0", env=env).status == 2
    assert memcli("activate", "--queries", "-", "--open", "1", env=env).status == 2


@pytest.mark.parametrize("command", ["/nowhere/editor", "false"])
def test_an_editor_that_fails_is_an_error(memcli: Run, command: str) -> None:
    done = memcli("activate", QUERY, "--open", "1", "--json", env={"EDITOR": command})
    assert done.status == 1
    assert done.error["code"] == "editor_failed"
    assert done.document["fragments"]


def test_a_file_that_is_gone_is_an_error_and_a_moved_project_opens_its_own(
    own_memcli: tuple[Run, Path], editor: Path, tmp_path: Path
) -> None:
    run, root = own_memcli
    env = {"EDITOR": f"'{editor}'"}
    moved = root.rename(tmp_path / "moved")
    done = run("activate", QUERY, "--open", "1", env=env, cwd=moved)
    assert done.status == 0, done.err
    # The copy's index names the original's files, which are no longer among its sources.
    assert opened(tmp_path) == ["+1", str(moved / "docs/rollback.md")]
    (moved / "docs/rollback.md").unlink()
    done = run("activate", QUERY, "--open", "1", env=env, cwd=moved)
    assert done.status == 1
    assert "[file_not_found]" in done.err


def test_an_index_that_came_with_a_project_opens_nothing_outside_it(
    own_memcli: tuple[Run, Path], editor: Path, tmp_path: Path
) -> None:
    """F23."""
    run, root = own_memcli
    secret = tmp_path / "secret"
    secret.write_text("key\n")
    (root / "docs/rollback.md").unlink()
    (root / "docs/rollback.md").symlink_to(secret)
    with sqlite3.connect(root / ".memcli/search-index.sqlite") as connection:
        connection.execute("UPDATE search_resources SET file_path = ?", (str(secret),))
        reseal(connection)
    connection.close()
    done = run("activate", QUERY, "--open", "1", env={"EDITOR": f"'{editor}'"})
    assert "[file_not_found]" in done.err
    assert not (tmp_path / "opened").exists()


def test_ctrl_c_belongs_to_the_editor_while_it_runs(
    built_project: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    """An editor in the terminal uses it; memcli must not end under it."""
    root, environ = built_project
    program = tmp_path / "editor"
    program.write_text(
        "#!/bin/sh\ntrap 'echo caught; exit 0' INT\necho editing\nwhile :; do sleep 0.1; done\n"
    )
    program.chmod(0o755)
    env = {**environ, "EDITOR": str(program)}
    terminal = Terminal.memcli(["activate", QUERY, "--open", "1"], root, env)
    terminal.wait_for("editing")
    terminal.type("\x03")
    assert terminal.status() == 0
    assert b"caught" in terminal.shown


def test_a_stored_run_opens_its_fragment_too_and_another_projects_run_says_where(
    own_memcli: tuple[Run, Path], editor: Path, tmp_path: Path
) -> None:
    """What `runs show --open N` calls."""
    run, root = own_memcli
    environ = {
        "MEMCLI_HOME": str(tmp_path / "central"),
        "MEMCLI_CONFIG": str(tmp_path / "config"),
        "HOME": str(tmp_path),
        "EDITOR": f"'{editor}'",
    }
    assert run("activate", QUERY).status == 0
    note = root / "docs/rollback.md"
    other = tmp_path / "other"
    other.mkdir()
    (other / "memcli.toml").write_text('id = "other"\n')
    for place in (root, other):
        environment = replace(process_environment(), environ=environ, working_directory=place)
        invocation = Invocation(environment, GlobalValues())
        with invocation.open() as memcli:
            runs = memcli.list_retrieval_runs(all_projects=True).runs
            view = memcli.get_retrieval_run(runs[0].run_id)
            if place == root:
                open_fragment_of_run(invocation, memcli, view, 1)
                assert opened(tmp_path) == ["+1", str(note)]
            else:
                with pytest.raises(Failure, match="of another project") as caught:
                    open_fragment_of_run(invocation, memcli, view, 1)
                assert f"memcli -C {root} runs show {view.run.run_id}" in caught.value.hint


def test_runs_show_opens_a_fragment_of_a_stored_run(own_memcli: tuple[Run, Path]) -> None:
    run, root = own_memcli
    assert run("activate", "how do I roll back a bad deploy?").status == 0
    opened = root / "opened"
    editor = root / "editor.sh"
    editor.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {opened}\n')
    editor.chmod(0o700)
    done = run("runs", "show", "last", "--open", "1", env={"EDITOR": str(editor)})
    assert done.status == 0, done.err
    assert opened.read_text().splitlines() == ["+1", str(root / "docs/rollback.md")]
    assert run("runs", "show", "last", "--open", "1", env={"EDITOR": ""}).status == 1
