"""What somebody may have meant who typed a command or an option that there is not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from memcli.cli.command_table import COMMANDS, GROUPS, in_group
from memcli.errors import InvalidInput

# Words of other tools for what is called otherwise here.
_OTHER_NAMES = {
    "search": "activate",
    "query": "activate",
    "ask": "activate",
    "find": "activate",
    "retrieve": "activate",
    "explain": "why",
    "rebuild": "index build",
    "reindex": "index build",
    "update": "index build",
    "watch": "index build --watch",
    "embed": "index build",
    "sync": "index build",
    "switch": "head swap",
    "rollback": "head swap --previous",
    "history": "runs list",
    "log": "runs list",
    "trace": "runs show",
    "label": "case resolve",
    "judge": "case resolve",
    "eval": "report",
    "evaluate": "report",
    "check": "doctor",
    "settings": "config show",
    "setup": "init",
    "help": "--help",
    "version": "--version",
    "completions": "completion",
}
_MOST = 4


def unknown_command(words: tuple[str, ...]) -> InvalidInput:
    """The error for ``words`` that no command begins with, naming what comes near."""
    first, *rest = words
    if first in GROUPS:
        known = [each.words[1] for each in in_group(first)]
        near = [f"{first} {each}" for each in _close(rest[0], known)]
        return _error(" ".join(words[:2]), near, f"See `memcli {first} --help`.")
    near = _near_commands(first, rest[0] if rest else None)
    return _error(first, near, "See `memcli --help`.")


def group_alone(group: str) -> InvalidInput:
    """The error for a group's word with no command behind it."""
    commands = ", ".join(each.words[1] for each in in_group(group))
    return InvalidInput(
        "usage",
        f"`memcli {group}` needs a command: {commands}",
        f"See `memcli {group} --help`.",
    )


def _near_commands(word: str, following: str | None) -> list[str]:
    if word in _OTHER_NAMES:
        return [_OTHER_NAMES[word]]
    names = [" ".join(each.words) for each in COMMANDS]
    # `memcli list`: the word of a group is missing.
    if ends := [name for name in names if name.rpartition(" ")[2] == word]:
        return ends[:_MOST]
    firsts = list(dict.fromkeys(each.words[0] for each in COMMANDS))
    near = []
    for first in _close(word, firsts):
        # `memcli run list`: with a near group the whole command may be known.
        whole = f"{first} {following}"
        near.append(whole if first in GROUPS and whole in names else first)
    lasts = [name.rpartition(" ")[2] for name in names if " " in name]
    for last in _close(word, lasts, cutoff=0.75):
        near += [name for name in names if name.endswith(f" {last}")]
    return list(dict.fromkeys(near))[:_MOST]


def _close(word: str, known: Iterable[str], cutoff: float = 0.6) -> list[str]:
    return difflib.get_close_matches(word, sorted(set(known)), n=3, cutoff=cutoff)


def _error(name: str, near: list[str], otherwise: str) -> InvalidInput:
    shown = ", ".join(f"memcli {each}" for each in near)
    return InvalidInput(
        "usage",
        f"there is no command {name!r}",
        f"Did you mean: {shown}?" if near else otherwise,
    )


def unknown_option(error: BaseException) -> tuple[str, str] | None:
    """Message and hint where ``error`` is about an option that there is not, else ``None``."""
    name = getattr(error, "option_name", None)
    if not isinstance(name, str) or not hasattr(error, "possibilities"):
        return None
    context = getattr(error, "ctx", None)
    known = [
        option
        for parameter in (context.command.get_params(context) if context else ())
        for option in parameter.opts
        if option.startswith("--")
    ]
    near = _close(name, known)
    hint = f"Did you mean: {', '.join(near)}?" if near else ""
    return f"there is no option {name}", hint
