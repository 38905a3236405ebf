"""Real terminals in a hostile project: the program, a labelling session, a shell's completion."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.case_support import CaseBench
from cli.project_support import Terminal
from escapes.conftest import Asked
from escapes.hostile_project import ALL, NAME, QUERY
from escapes.terminal_checker import harm_in
from history.factory import Corpus

from memcli.cli.completion.scripts import script

# A shell would run these, look up these files, or recall these lines.
NOTES = {
    "q$(touch pwned1)`touch pwned2`.md": "dollar",
    "r'; touch pwned3; '.md": "apostrophe",
    'p"; touch pwned4; ".md': "quote",
    "s*.md": "star",
    "s1.md": "one",
    "t!echo.md": "exclamation",
    "u & touch pwned5;#.md": "ampersand",
    "v\\w.md": "backslash",
}


@pytest.mark.parametrize("link", ["1", "0"])
def test_a_real_terminal_is_sent_nothing_but_our_own_sequences(asked: Asked, link: str) -> None:
    ground = asked.ground
    env = {**ground.environ, "FORCE_HYPERLINK": link}
    for arguments in (["activate", QUERY, "--no-record"], ["runs", "list"]):
        terminal = Terminal.memcli(arguments, ground.root, env)
        assert terminal.status() == 0
        shown = terminal.shown.replace(b"\r\n", b"\n")
        assert harm_in(shown, own="text") == []
        assert (b"\x1b]8;;file://" in shown) is (link == "1" and arguments[0] == "activate")


def test_a_progress_bar_among_hostile_names_is_its_own(own_ground: Asked) -> None:
    ground = own_ground.ground
    terminal = Terminal.memcli(["index", "build", "--force"], ground.root, ground.environ)
    assert terminal.status() == 0
    assert harm_in(terminal.shown.replace(b"\r\n", b"\n"), own="progress") == []


def test_a_labelling_session_shows_no_sequence_of_a_note(tmp_path: Path) -> None:
    bench = CaseBench(tmp_path)
    bodies = {f"note{at}{ALL}": f"# Head {ALL}\n\nMoor at night. {ALL}\n" for at in range(3)}
    bench.draft(f"how do we moor {ALL} at night?", Corpus(bodies, description=f"About {ALL}"))
    with bench.sitting("case", "next") as sitting:
        sitting.until("candidates 3")
        for keys, shown in (
            ("j", "candidates"), ("x", "1 marked"), ("\r", "fragment"), ("o", "whole note"),
            ("\r", "candidates 3"), ("v", "whole query"), ("\r", "candidates 3"),
            (f"/night\x1b[200~{ALL}\x1b[201~\r", "found"), ("\t", "marked 1"), ("w", "2 marked"),
            ("?", "any key"), ("x", "marked 2"), ("s", "saved case"),
        ):  # fmt: skip
            sitting.press(keys)
            if keys == "s":
                sitting.finish()
            else:
                sitting.until(shown)
        assert harm_in(sitting.shown, own="session") == []
        assert "saved case" in sitting.printed


@pytest.fixture
def shell(tmp_path: Path, asked: Asked) -> Iterator[Terminal]:
    """A bash with the completion, in a project of files that a shell must not read."""
    from memcli.facade import Memcli, Surroundings

    bash = shutil.which("bash")
    assert bash is not None
    root = tmp_path / "shell"
    root.mkdir()
    (root / "memcli.toml").touch()
    for name, text in NOTES.items():
        (root / name).write_text(f"{text}\n")
    homes = {
        "MEMCLI_HOME": str(tmp_path / "central"), "MEMCLI_CONFIG": str(tmp_path / "config"),
        "HOME": str(tmp_path),
    }  # fmt: skip
    with Memcli.open(root, project=root, surroundings=Surroundings(environ=homes)) as memcli:
        memcli.build_index()
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "memcli"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memcli "$@"\n')
    program.chmod(0o755)
    (folder / "setup").write_text(
        script("bash") + "\nbind 'set bell-style none'\nPS1='$ '\necho re''ady\n"
    )
    env = {
        **homes, "PATH": f"{folder}:{os.environ['PATH']}", "TERM": "dumb", "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(Path(__file__).parents[2]), "SETUP": str(folder / "setup"),
    }  # fmt: skip
    terminal = Terminal([bash, "--norc", "--noprofile", "-i"], root, env, columns=400)
    terminal.type("source $SETUP\n")
    terminal.wait_for("ready")
    terminal.settle(0.2)
    yield terminal
    terminal.kill()
    assert not list(root.glob("pwned*"))


def test_a_completed_name_is_one_word_to_bash_whatever_it_holds(shell: Terminal) -> None:
    """The line is completed and run: the note is shown, and nothing else is done."""
    for begun, text in (
        ("q", "dollar"), ('"q', "dollar"), ("'r", "apostrophe"), ('"p', "quote"),
        ("u", "ampersand"), ('"t', "exclamation"), ('"v', "backslash"),
    ):  # fmt: skip
        shell.forget()
        shell.type(f"memcli memory show {begun}\t")
        shell.wait_for(".md")
        shell.type("\n")
        shell.wait_for(text)


def test_a_pattern_among_the_words_is_no_pattern(shell: Terminal) -> None:
    shell.forget()
    shell.type("memcli memory show s\t\t")
    shell.wait_for("s1.md")
    assert "s\\*.md" in shell.settle(0.3)


def test_completion_words_are_one_printable_word_a_line(asked: Asked) -> None:
    import subprocess

    ground = asked.ground
    for kind in ("runs", "cases", "resources", "projects", "models"):
        done = subprocess.run(
            [sys.executable, "-m", "memcli", "completion", "words", kind],
            cwd=ground.root,
            env=ground.environ,
            capture_output=True,
        )
        assert done.stderr == b""
        assert harm_in(done.stdout) == []
        for line in done.stdout.decode().splitlines():
            word, _, about = line.partition("\t")
            assert word.isprintable()
            assert about
    assert NAME not in done.stdout.decode()
