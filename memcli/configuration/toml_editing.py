"""Change one value in a TOML file that a person wrote, and leave every other byte as it is."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memcli.configuration.toml_parsing import TomlError, parse_toml
from memcli.configuration.toml_tables import invalid, read_toml
from memcli.errors import Failure
from memcli.locations import FILE_MODE, private_directory, replacing, shared_file

_OPENING, _CLOSING = "[{", "]}"


@dataclass(frozen=True, slots=True)
class _Statement:
    """One header or key with its value: character offsets in the text.

    ``name`` is the table's or key's dotted name, ``table`` the one it stands
    in; ``value`` is the span behind the equals sign, ``None`` for a header.
    """

    table: str
    name: str
    start: int
    end: int
    value: tuple[int, int] | None


def set_value(path: Path, table: str, key: str, value: str, *, private: bool) -> str | None:
    """Write ``key = value`` into ``[table]`` of the file, atomically; returns the old value.

    A missing file is made: 0600 where ``private``, else as any file of a
    project. Comments, order and line ends stay. Raises ``InvalidInput``
    ``configuration_invalid`` for a file that is broken or that says it in a way
    that cannot be changed safely; ``Failure`` ``file_unwritable``.
    """
    old = read_toml(path) or {}
    section = old.get(table, {})
    before = section.get(key) if isinstance(section, dict) else None
    if before == value:
        return value
    target = Path(os.path.realpath(path))
    try:
        data = target.read_bytes() if target.exists() else b""
    except OSError as error:
        raise invalid(path, f"cannot be read: {error.strerror or error}") from error
    changed = _changed(path, data.decode("utf-8"), table, key, value, old)
    try:
        private_directory(target.parent)
        if not private and not target.exists():
            os.close(shared_file(target))
        mode = FILE_MODE if private else target.stat().st_mode & 0o777
        with replacing(target, mode=mode) as stream:
            stream.write(changed.encode())
    except OSError as error:
        raise Failure(
            "file_unwritable", f"{path} cannot be written: {error.strerror or error}"
        ) from error
    return before if isinstance(before, str) else None


def toml_text(text: str) -> str:
    """``text`` as a TOML basic string: JSON's escapes are TOML's, but for the bare DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _changed(path: Path, text: str, table: str, key: str, value: str, old: Any) -> str:
    wanted = copy.deepcopy(dict(old))
    section = wanted.setdefault(table, {})
    if isinstance(section, dict):
        section[key] = value
        changed = _edited(text, table, key, value)
        if _read(changed) == wanted:
            return changed
    raise invalid(
        path,
        f"[{table}] is written in a way that cannot be changed safely here",
        f"Set it by hand: {key} = {toml_text(value)} under [{table}].",
    )


def _read(text: str) -> Any:
    try:
        return parse_toml(text.removeprefix("\ufeff"))
    except TomlError:
        return None


def _edited(text: str, table: str, key: str, value: str) -> str:
    """The text with the value replaced where it stands, else added beside its neighbours."""
    found = list(_statements(text))
    line_end = "\r\n" if "\r\n" in text else "\n"
    for each in found:
        if each.value and _full_name(each) == f"{table}.{key}":
            return text[: each.value[0]] + toml_text(value) + text[each.value[1] :]
    neighbours = [each for each in found if _is_in(each, table)]
    if neighbours:
        last = neighbours[-1]
        dotted = last.value is not None and last.table != table
        line = f"{table + '.' if dotted else ''}{key} = {toml_text(value)}"
        at = text.find("\n", last.end)
        if at < 0:
            return f"{text}{line_end}{line}{line_end}"
        return f"{text[: at + 1]}{line}{line_end}{text[at + 1 :]}"
    gap = (
        "" if not text.removeprefix("\ufeff") else line_end if text.endswith("\n") else 2 * line_end
    )
    return f"{text}{gap}[{table}]{line_end}{key} = {toml_text(value)}{line_end}"


def _full_name(statement: _Statement) -> str:
    return f"{statement.table}.{statement.name}".removeprefix(".")


def _is_in(statement: _Statement, table: str) -> bool:
    """Whether it is the table's own header, a key under it, or a dotted key into it."""
    if statement.value is None:
        return statement.name == table
    return statement.table == table or (
        not statement.table and statement.name.startswith(f"{table}.")
    )


def _statements(text: str) -> Iterator[_Statement]:
    """The headers and keys of valid TOML, in order."""
    at, table = 1 if text.startswith("\ufeff") else 0, ""
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
        elif text[at] == "#":
            at = _line_end(text, at)
        else:
            end, equals = _scan(text, at)
            if text[at] == "[":
                table = _plain(text[at:end].strip("[] \t"))
                yield _Statement(table, table, at, end, None)
            else:
                first = equals + 1
                while text[first] in " \t":
                    first += 1
                yield _Statement(table, _plain(text[at:equals]), at, end, (first, end))
            at = _line_end(text, end)


def _scan(text: str, start: int) -> tuple[int, int]:
    """Where the statement at ``start`` ends, comment and blanks left out; and its equals sign."""
    at, depth, equals, end = start, 0, -1, start
    while at < len(text):
        char = text[at]
        if char in "\"'":
            at = end = _string_end(text, at)
            continue
        if char == "#":
            if not depth:
                break
            at = _line_end(text, at)
            continue
        if char == "\n" and not depth:
            break
        depth += (char in _OPENING) - (char in _CLOSING)
        if char == "=" and equals < 0:
            equals = at
        at += 1
        if char not in " \t\r\n":
            end = at
    return end, equals


def _string_end(text: str, start: int) -> int:
    """The offset behind the string that begins at ``start``."""
    quote = text[start]
    mark = quote * 3 if text.startswith(quote * 3, start) else quote
    at = start + len(mark)
    while at < len(text) and not text.startswith(mark, at):
        at += 2 if quote == '"' and text[at] == "\\" else 1
    at += len(mark)
    # Up to two quotes may stand directly before the closing three.
    while len(mark) == 3 and at < len(text) and text[at] == quote:
        at += 1
    return at


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _plain(name: str) -> str:
    return "".join(each for each in name if each not in " \t\"'")
