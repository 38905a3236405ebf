"""Completion: the files are what the program generates, and real shells complete with them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import orjson
import pytest
from cli.project_support import Terminal, validate
from conftest_types import Run

from memcli.cli.command_table import COMMANDS
from memcli.cli.completion.scripts import FILES, script
from memcli.cli.completion.spec import program_spec

FOLDER = Path(__file__).parent.parent.parent / "completions"
Ask = Callable[[str], list[str]]


@pytest.mark.parametrize("shell", FILES)
def test_the_file_is_the_one_that_the_program_generates(shell: str) -> None:
    file = FOLDER / FILES[shell]
    assert file.read_text(encoding="utf-8") == script(shell), (
        f"out of date: memcli completion {shell} > completions/{FILES[shell]}"
    )


def test_the_command_prints_the_file_also_as_a_document(memcli: Run) -> None:
    printed = memcli("completion", "zsh")
    assert printed.status == 0
    assert printed.out == script("zsh")
    assert printed.err == ""
    document = memcli("completion", "zsh", "--json").document
    validate(document)
    assert document["script"] == printed.out
    assert memcli("completion", "tcsh").status == 2


def test_every_command_option_and_choice_is_in_every_file() -> None:
    program = program_spec()
    assert {each.words for each in program.commands} == {each.words for each in COMMANDS}
    for shell in FILES:
        text = script(shell)
        for command in program.commands:
            assert command.words[-1] in text
            for option in command.options:
                for name in option.names:
                    stem = name.lstrip("-") if shell == "fish" else name
                    assert stem in text, f"{shell}: {command.name} {name}"
        for choice in ("markdown", "succeeded", "powershell", "require"):
            assert choice in text


def test_no_option_name_is_a_switch_in_one_command_and_takes_a_value_in_another() -> None:
    """A person who learned one need not unlearn it for the other."""
    takes: dict[str, set[bool]] = {}
    for command in program_spec().commands:
        for option in command.options:
            for name in option.names:
                takes.setdefault(name, set()).add(option.value is not None)
    assert [name for name, kinds in takes.items() if len(kinds) > 1] == []


# The words that shells ask for


@pytest.fixture(scope="module")
def known(built_project: tuple[Path, dict[str, str]]) -> dict[str, str]:
    """A Run, a Case and the head of the small project."""
    root, env = built_project

    def run(*arguments: str) -> bytes:
        command = [sys.executable, "-m", "memcli", *arguments, "--json"]
        return subprocess.run(command, cwd=root, env=env, capture_output=True, check=True).stdout

    document = orjson.loads(run("activate", "who carries the pager?"))
    case = re.search(rb'"case_id":"([0-9a-f]+)"', run("case", "create", document["run_id"]))
    assert case is not None
    return {
        "run": document["run_id"],
        "case": case[1].decode(),
        "head": document["revision_id"],
    }


def first_words(text: str) -> list[str]:
    return [line.partition("\t")[0] for line in text.splitlines()]


def test_it_knows_runs_cases_revisions_paths_projects_and_models(
    memcli: Run, known: dict[str, str]
) -> None:
    assert first_words(memcli("completion", "words", "runs").out)[0] == "last"
    assert known["run"] in first_words(memcli("completion", "words", "runs").out)
    assert "who carries the pager?" in memcli("completion", "words", "runs", known["run"]).out
    assert known["case"] in first_words(memcli("completion", "words", "cases").out)
    assert first_words(memcli("completion", "words", "revisions").out) == [known["head"]]
    assert first_words(memcli("completion", "words", "resources", "docs/r").out) == [
        "docs/rollback.md"
    ]
    assert "docs/部署.md" in first_words(memcli("completion", "words", "resources").out)
    assert "small" in first_words(memcli("completion", "words", "projects").out)
    assert "bundled" in first_words(memcli("completion", "words", "embedders").out)
    assert "late_interaction" in first_words(memcli("completion", "words", "rerankers").out)
    models = first_words(memcli("completion", "words", "models").out)
    assert {"bundled", "late_interaction"} <= set(models)
    assert len(first_words(memcli("completion", "words", "pullable").out)) > 2


def test_it_is_asked_about_the_project_that_the_line_names(
    memcli: Run, built_project: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    root, _ = built_project
    (tmp_path / "memcli.toml").touch()
    assert memcli("completion", "words", "resources", cwd=tmp_path).out == ""
    asked = memcli("completion", "words", "-C", str(root), "resources", cwd=tmp_path)
    assert "AGENTS.md" in asked.out


@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        ((), {}),
        (("nonsense",), {}),
        (("-C",), {}),
        (("-C", "/nowhere", "runs"), {}),
        (("runs",), {"MEMCLI_GPU": "garbled"}),
        (("runs",), {"MEMCLI_HOME": "/dev/null/x"}),
        (("runs", "zz\x1b\n"), {}),
        (("resources", "\udcff"), {}),
    ],
)
def test_whatever_is_wrong_it_says_nothing_and_succeeds(
    memcli: Run, arguments: Sequence[str], more: dict[str, str]
) -> None:
    done = memcli("completion", "words", *arguments, env=more)
    assert (done.status, done.out, done.err) == (0, "", "")


def test_a_damaged_store_and_index_say_nothing(
    own_memcli: tuple[Run, Path], tmp_path: Path
) -> None:
    run, root = own_memcli
    (root / ".memcli/search-index.sqlite").write_bytes(b"damaged" * 100)
    (tmp_path / "central").mkdir()
    (tmp_path / "central/local.db").write_bytes(b"damaged" * 100)
    for kind in ("runs", "cases", "revisions", "resources", "projects"):
        done = run("completion", "words", kind)
        assert (done.status, done.out, done.err) == (0, "", "")


def test_text_from_notes_and_queries_cannot_send_control_sequences(
    own_memcli: tuple[Run, Path],
) -> None:
    run, root = own_memcli
    (root / "docs/odd\nname.md").write_text("# Odd \x1b[31mred\n\ntext\n")
    (root / "docs/odd.md").write_text("# Odd \x1b[31mred\n\ntext\n")
    assert run("index", "build").status == 0
    run("activate", "red \x1b]0;title\x07 \x1b[31m")
    for kind in ("runs", "resources"):
        shown = run("completion", "words", kind).out
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert all(line.count("\t") == 1 for line in shown.splitlines())
    assert "docs/odd.md" in first_words(run("completion", "words", "resources").out)


def test_a_key_press_imports_no_model_and_no_command_line(
    built_project: tuple[Path, dict[str, str]],
) -> None:
    root, env = built_project
    for kind in ("runs", "cases", "revisions", "resources", "models", "pullable"):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "memcli", "completion", "words", kind],
            capture_output=True,
            text=True,
            env=env,
            cwd=root,
        )
        loaded = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines()}
        heavy = ("numpy", "llama_cpp", "sqlite_utils", "typer", "rich")
        assert not [each for each in loaded if each.partition(".")[0] in heavy]


def test_a_key_press_writes_nothing(
    built_project: tuple[Path, dict[str, str]], tmp_path: Path, memcli: Run
) -> None:
    (tmp_path / "memcli.toml").touch()
    for kind in ("runs", "resources", "revisions"):
        memcli("completion", "words", kind, cwd=tmp_path, env={"MEMCLI_HOME": str(tmp_path / "h")})
    assert [each.name for each in tmp_path.iterdir()] == ["memcli.toml"]


# Real shells


@pytest.fixture(scope="module")
def programs(
    tmp_path_factory: pytest.TempPathFactory,
    built_project: tuple[Path, dict[str, str]],
    known: dict[str, str],
) -> dict[str, str]:
    """An environment whose ``memcli`` is the one under test."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "memcli"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memcli "$@"\n')
    program.chmod(0o755)
    (folder / "setup.zsh").write_text(ZSH_SETUP.format(file=FOLDER / "_memcli"))
    (folder / "setup.bash").write_text(BASH_SETUP.format(file=FOLDER / "memcli.bash"))
    return {
        **built_project[1],
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(FOLDER.parent),
        "SETUP": str(folder / "setup"),
        "TERM": "xterm",
        "LC_ALL": "C.UTF-8",
    }


BASH_SETUP = """
source '{file}'
bind 'set bell-style none'
# What would be completed is printed, and the line is left as it was.
_shown() {{ _memcli "$@"; printf '<%s>' "${{COMPREPLY[@]}}" END; COMPREPLY=(); }}
complete -F _shown memcli
PS1='$ '
echo re''ady
"""
ZSH_SETUP = """
autoload -U compinit && compinit -u -D
source '{file}'
# Every match that a completion function adds passes here.
compadd() {{
    if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
    local -a matches
    builtin compadd -A matches "$@"
    (( $#matches )) && printf '<%s>' "${{(@)matches}}"
    builtin compadd "$@"
}}
_all() {{ _main_complete "$@"; printf '<END>'; compstate[insert]=; }}
zle -C all complete-word _all
bindkey '^T' all
PS1='$ '
echo re''ady
"""


class TypedAt:
    """A real bash or zsh on a terminal; a key press completes the line that was typed."""

    def __init__(self, command: Sequence[str], key: str, root: Path, env: dict[str, str]) -> None:
        self._command, self._key, self._root, self._env = command, key, root, env

    def __call__(self, line: str) -> list[str]:
        shell = Terminal(self._command, self._root, self._env, columns=400)
        suffix = "bash" if self._key == "\t" else "zsh"
        shell.type(f"source $SETUP.{suffix}\n")
        shell.wait_for("ready")
        shell.settle(0.2)
        shell.forget()
        shell.type(line + self._key)
        shown = shell.wait_for("<END>").replace("\r\n", "")
        shell.kill()
        return [word.strip() for word in re.findall(r"<([^<>]+)>", shown)[:-1]]


class Asked:
    """A real fish, which prints completions when it is asked for them."""

    def __init__(self, command: str, root: Path, env: dict[str, str]) -> None:
        self._command, self._root, self._env = command, root, env

    def __call__(self, line: str) -> list[str]:
        script = f"source {FOLDER}/memcli.fish; complete -C $argv[1]"
        done = subprocess.run(
            [self._command, "--no-config", "-c", script, line],
            cwd=self._root,
            env=self._env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stderr == ""
        return [each.rpartition("=")[2] for each in first_words(done.stdout)]


@pytest.fixture(scope="module", params=["bash", "zsh", "fish"])
def ask(
    request: pytest.FixtureRequest,
    built_project: tuple[Path, dict[str, str]],
    programs: dict[str, str],
) -> Ask:
    """What a shell would complete a line to, without its quotes."""
    name: str = request.param
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed here")
    root = built_project[0]
    if name == "bash":
        return TypedAt([found, "--norc", "--noprofile", "-i"], "\t", root, programs)
    if name == "zsh":
        return TypedAt([found, "-f", "-i"], "\x14", root, programs)
    return Asked(found, root, programs)


def test_a_real_shell_completes_commands_and_options(ask: Ask) -> None:
    assert {"activate", "runs", "doctor", "completion"} <= set(ask("memcli "))
    assert set(ask("memcli ru")) == {"runs"}
    assert {"list", "show", "diff"} <= set(ask("memcli runs "))
    assert "--candidate" in [each.rstrip("=") for each in ask("memcli runs show --cand")]
    assert {"text", "json", "markdown", "xml"} == set(ask("memcli activate --format "))
    assert set(ask("memcli activate --format=m")) == {"markdown"}
    assert set(ask("memcli --json activate question --gpu r")) == {"require"}
    assert "--project" in [each.rstrip("=") for each in ask("memcli --pro")]


def test_a_real_shell_completes_ids_revisions_and_paths(ask: Ask, known: dict[str, str]) -> None:
    assert known["run"] in ask(f"memcli runs show {known['run'][:6]}")
    assert "last" in ask("memcli runs diff last la")
    assert known["case"] in ask(f"memcli case show {known['case'][:6]}")
    assert known["head"] in ask("memcli head swap ")
    assert set(ask("memcli why question docs/r")) == {"docs/rollback.md"}
    assert set(ask("memcli --json memory show docs/部")) == {"docs/部署.md"}


def test_a_real_shell_asks_about_the_project_that_the_line_names(
    ask: Ask, built_project: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "memcli.toml").touch()
    assert ask(f"memcli -C {other} memory show docs/r") == []
    assert ask(f"memcli -C {built_project[0]} memory show docs/r") == ["docs/rollback.md"]


def test_a_real_powershell_completes_too(
    programs: dict[str, str], built_project: tuple[Path, dict[str, str]], known: dict[str, str]
) -> None:
    found = shutil.which("pwsh")
    if found is None:
        pytest.skip("pwsh is not installed here")

    def ask(line: str) -> list[str]:
        command = (
            f". '{FOLDER / 'memcli.ps1'}'; "
            f"(TabExpansion2 '{line}' {len(line)}).CompletionMatches.CompletionText"
        )
        done = subprocess.run(
            [found, "-NoProfile", "-Command", command],
            cwd=built_project[0],
            env=programs,
            capture_output=True,
            text=True,
        )
        return done.stdout.split()

    assert ask("memcli ru") == ["runs"]
    assert ask("memcli activate --format m") == ["markdown"]
    assert known["run"] in ask("memcli runs show ")


def test_the_powershell_file_reads_alike_in_every_code_page_and_its_brackets_match() -> None:
    text = script("powershell")
    assert text.isascii(), "Windows PowerShell reads a file without a mark in its own code page"
    code = re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"|#.*", "", text)
    for opening, closing in ("()", "{}", "[]"):
        assert code.count(opening) == code.count(closing)
