"""The command line as data that a shell can complete it from, read from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer

from memcli.cli.app import build_app
from memcli.cli.command_table import COMMANDS, GROUPS, Command

FILE, DIRECTORY = "file", "directory"

# Kinds of words that `memcli completion words KIND` tells, fresh at every key press, by the
# name of the parameter that takes them; a command may say otherwise below.
_KIND_BY_NAME = {
    "run": "runs",
    "runs": "runs",
    "case": "cases",
    "cases": "cases",
    "revision": "revisions",
    "embedder": "embedders",
    "reranker": "rerankers",
    "project_id": "projects",
}
_KIND_BY_PLACE = {
    ("why", "path"): "resources",
    ("memory show", "path"): "resources",
    ("runs diff", "a"): "runs",
    ("runs diff", "b"): "runs",
    ("models use", "name"): "models",
    ("models verify", "name"): "models",
    ("models pull", "name"): "pullable",
}
# Words that the configuration checks, and not the command line.
_CHOICES_BY_NAME = {"gpu": ("auto", "off", "require")}


@dataclass(frozen=True, slots=True)
class Value:
    """What stands at one place: one of ``choices``, or any text where nothing else is said.

    ``kind`` names words that the program knows, ``files`` is ``file`` or
    ``directory`` where paths fit too; both may be empty.
    """

    name: str
    kind: str = ""
    files: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """An option with all its names; ``value`` is ``None`` for a switch."""

    names: tuple[str, ...]
    help: str
    value: Value | None
    repeats: bool


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command's options, the global ones among them, and its arguments in order.

    ``endless`` says that the last argument can be given any number of times.
    """

    words: tuple[str, ...]
    summary: str
    options: tuple[OptionSpec, ...]
    arguments: tuple[Value, ...]
    endless: bool

    @property
    def name(self) -> str:
        return " ".join(self.words)

    def valued(self) -> Iterator[tuple[str, Value]]:
        """Every option name that takes a value, with what it takes."""
        for option in self.options:
            if option.value is not None:
                yield from ((name, option.value) for name in option.names)


@dataclass(frozen=True, slots=True)
class ProgramSpec:
    """All commands and groups, and the options that may stand before any of them."""

    commands: tuple[CommandSpec, ...]
    groups: dict[str, str]
    options: tuple[OptionSpec, ...]

    def first_words(self) -> dict[str, str]:
        """Each first word with its line of help, in the order of the overview."""
        return {
            each.words[0]: self.groups.get(each.words[0], each.summary) for each in self.commands
        }

    def second_words(self, group: str) -> dict[str, str]:
        """The commands of one group with their lines of help."""
        return {
            each.words[1]: each.summary
            for each in self.commands
            if each.words[0] == group and len(each.words) > 1
        }


def program_spec() -> ProgramSpec:
    """The whole program; imports every command."""
    root: Any = typer.main.get_command(build_app())
    version = OptionSpec(("--version",), "Show the version.", None, False)
    return ProgramSpec(
        commands=tuple(_command(root, each) for each in COMMANDS),
        groups=dict(GROUPS),
        options=(*_options("", root), version),
    )


def _command(root: Any, command: Command) -> CommandSpec:
    found = root
    for word in command.words:
        found = found.commands[word]
    name = " ".join(command.words)
    arguments = [each for each in found.params if each.param_type_name == "argument"]
    return CommandSpec(
        words=command.words,
        summary=command.summary,
        options=tuple(_options(name, found)),
        arguments=tuple(_value(name, each) for each in arguments),
        endless=bool(arguments) and arguments[-1].nargs == -1,
    )


def _options(command: str, found: Any) -> Iterator[OptionSpec]:
    for each in found.params:
        if each.param_type_name == "argument" or each.hidden:
            continue
        switch = each.is_flag or each.count
        yield OptionSpec(
            names=tuple(each.opts),
            help=(each.help or "").partition(" [env:")[0],
            value=None if switch else _value(command, each),
            repeats=bool(each.multiple or each.count),
        )
        if each.secondary_opts:
            yield OptionSpec(tuple(each.secondary_opts), each.help or "", None, False)
    yield OptionSpec(("-h", "--help"), "Show this message and exit.", None, False)


def _value(command: str, parameter: Any) -> Value:
    name = parameter.name.rstrip("_")
    choices = tuple(map(_word, getattr(parameter.type, "choices", ())))
    kind = _KIND_BY_PLACE.get((command, name), _KIND_BY_NAME.get(name, ""))
    return Value(name, kind, _files(parameter, kind), choices or _CHOICES_BY_NAME.get(name, ()))


def _files(parameter: Any, kind: str) -> str:
    metavar = (parameter.metavar or "").upper()
    if "FILE" in metavar or "FIXTURE" in metavar or kind in ("embedders", "rerankers"):
        return FILE
    if "DIR" in metavar:
        return DIRECTORY
    return FILE if parameter.type.name in ("path", "file") else ""


def _word(choice: Any) -> str:
    """Typer keeps an enumeration's members or its values, by its version."""
    return str(getattr(choice, "value", choice))
