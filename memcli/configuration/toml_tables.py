"""A TOML file as checked tables: syntax errors with their line, unknown keys with the near ones."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from memcli.configuration.toml_parsing import TomlError, parse_toml
from memcli.errors import InvalidInput, clipped, shown

MAX_FILE_BYTES = 1 << 20
LINE = re.compile(r"\s*\(at line (\d+), column (\d+)\)\s*$")


def invalid(place: object, message: str, hint: str = "") -> InvalidInput:
    """The error for anything wrong in a configuration: ``place`` is a file or another origin."""
    return InvalidInput("configuration_invalid", f"{place}: {message}", hint)


def read_toml(path: Path) -> Mapping[str, Any] | None:
    """The file's top-level table, or ``None`` where there is no such file.

    Raises ``configuration_invalid`` for a file that cannot be read or is no TOML.
    """
    if not os.path.lexists(path):
        return None
    if not os.path.isfile(path):
        raise invalid(path, "is not a regular file that can be read")
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise invalid(path, f"cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_FILE_BYTES:
        raise invalid(path, "is larger than 1 MiB")
    return _parsed(path, data)


def _parsed(path: Path, data: bytes) -> Mapping[str, Any]:
    try:
        return parse_toml(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise invalid(f"{path}:{line}", "is not UTF-8 text") from error
    except TomlError as error:
        message = str(error)
        found = LINE.search(message)
        place = f"{path}:{found[1]}:{found[2]}" if found else path
        raise invalid(place, LINE.sub("", message), "Correct the TOML syntax.") from error


def checked_table(path: Path, name: str, value: object) -> Mapping[str, Any]:
    """``value`` as the table ``[name]``; anything else is an error."""
    if not isinstance(value, dict):
        raise invalid(path, f"{name} must be a table [{name}], not {shown(value)}")
    return value


def refuse_unknown(path: Path, where: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise for the first key of ``given`` that is not in ``known``, naming the nearest."""
    names = sorted(known)
    for key in given:
        if key not in names:
            raise invalid(path, f"unknown key {where}{clipped(key)}", suggestion(key, names))


def suggestion(key: str, known: Iterable[str]) -> str:
    """``Did you mean ...?``, or a list of what there is."""
    import difflib

    names = list(known)
    by_last_part = {name.rpartition(".")[2]: name for name in reversed(names)}
    last_part = key.rpartition(".")[2]
    if last_part in by_last_part:
        return f"Did you mean {by_last_part[last_part]}?"
    near = difflib.get_close_matches(key, names, n=1, cutoff=0.6)
    if not near:
        near = [by_last_part[it] for it in difflib.get_close_matches(last_part, by_last_part, n=1)]
    return f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(names)}."
