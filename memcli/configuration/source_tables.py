"""The ``[[source]]`` and ``[trust]`` tables, and what a project's own file may not ask for."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memcli.configuration.options import Place
from memcli.configuration.toml_tables import checked_table, invalid, refuse_unknown
from memcli.errors import InvalidInput, clipped, shown

SOURCE_KEYS = ("scope", "root", "include", "exclude", "kind", "prefix")
SCOPES = ("global", "project", "local")
# Longer than any system takes; resolving a path takes the square of its length.
LONGEST_PATH = 4096
KIND = re.compile(r"[A-Za-z0-9._-]{1,64}")
CLOSED_DIRECTORIES = frozenset({".git", ".memcli"})


@dataclass(frozen=True, slots=True)
class SourceTable:
    """One ``[[source]]``: where documents are, which of them count, and what they are called.

    ``root`` is absolute, symbolic links not yet resolved. ``include`` and
    ``exclude`` are gitignore patterns relative to it. ``prefix`` replaces what
    stands before a path inside ``root``; ``None`` leaves that to the scope.
    """

    scope: str
    root: Path
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    kind: str | None
    prefix: str | None
    place: Place


def trusted_roots(path: Path, document: Mapping[str, Any]) -> tuple[str, ...]:
    """The real paths under ``[trust] roots`` of the user's own file."""
    table = checked_table(path, "trust", document.get("trust", {}))
    refuse_unknown(path, "trust.", table, ["roots"])
    roots = []
    for text in _texts(path, "trust.roots", table.get("roots", [])):
        _refuse_long(path, "trust.roots", text)
        root = os.path.expanduser(text)
        if not os.path.isabs(root):
            raise invalid(path, f"trust.roots must hold absolute paths, not {shown(text)}")
        roots.append(os.path.realpath(root))
    return tuple(roots)


def source_tables(
    path: Path, document: Mapping[str, Any], base: Path, place: Place
) -> tuple[SourceTable, ...]:
    """The ``[[source]]`` tables of one file, relative roots taken from ``base``.

    The user's own file may hold sources of scope ``global`` only: it speaks
    for every project.
    """
    tables = document.get("source", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise invalid(path, "source must be written as [[source]] tables")
    found = []
    for number, table in enumerate(tables, start=1):
        where = f"source {number}: "
        refuse_unknown(path, where, table, SOURCE_KEYS)
        found.append(_source(path, where, table, base, place))
    return tuple(found)


def _source(
    path: Path, where: str, table: Mapping[str, Any], base: Path, place: Place
) -> SourceTable:
    scope = table.get("scope", "global" if place is Place.USER else "project")
    if scope not in SCOPES:
        raise invalid(path, f"{where}scope must be one of {', '.join(SCOPES)}, not {shown(scope)}")
    if place is Place.USER and scope != "global":
        raise invalid(
            path,
            f"{where}scope {scope} belongs to one project",
            "Put this source into that project's memcli.toml.",
        )
    if place is Place.USER and "root" not in table:
        raise invalid(path, f"{where}root is missing")
    root = _text(path, f"{where}root", table.get("root", "."))
    _refuse_long(path, f"{where}root", root)
    kind = table.get("kind")
    if kind is not None and not (isinstance(kind, str) and KIND.fullmatch(kind)):
        raise invalid(path, f"{where}kind must be a word of letters, digits, '.', '_' and '-'")
    return SourceTable(
        scope=scope,
        root=Path(os.path.normpath(base / os.path.expanduser(root))),
        include=_texts(path, f"{where}include", table.get("include", [])),
        exclude=_texts(path, f"{where}exclude", table.get("exclude", [])),
        kind=kind,
        prefix=_prefix(path, where, table.get("prefix")),
        place=place,
    )


def _prefix(path: Path, where: str, value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        parts = value.rstrip("/").split("/") if value.strip("/") else []
        usable = not value.startswith("/") and "\\" not in value and value.isprintable()
        if usable and not any(part in ("", ".", "..") for part in parts):
            return "/".join(parts)
    raise invalid(path, f"{where}prefix must be a relative path without '..', not {shown(value)}")


def _refuse_long(path: Path, key: str, text: str) -> None:
    if len(text.encode("utf-8")) > LONGEST_PATH:
        raise invalid(path, f"{key} is longer than {LONGEST_PATH} bytes: {shown(text)}")


def _text(path: Path, key: str, value: object) -> str:
    if isinstance(value, str) and value and "\0" not in value:
        return value
    raise invalid(path, f"{key} must be a text, not {shown(value)}")


def _texts(path: Path, key: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise invalid(path, f"{key} must be a list of texts, not {shown(value)}")
    return tuple(_text(path, key, item) for item in value)


def refuse_link_outside(path: Path, project_root: Path, user_file: Path) -> None:
    """Raise where a project's own file is a symbolic link to one outside the project.

    A cloned repository could have another file read as settings, or changed in
    its place, such as the user's own.
    """
    real_root = os.path.realpath(project_root)
    if not os.path.realpath(path).startswith(real_root.rstrip(os.sep) + os.sep):
        raise InvalidInput(
            "source_outside_project",
            f"{path} is a symbolic link out of the project",
            f"Replace it by the file itself. If you trust this project, add its root to "
            f'{user_file}: [trust] roots = ["{real_root}"]',
        )


def refuse_outside(
    path: Path, project_root: Path, sources: Sequence[SourceTable], user_file: Path
) -> None:
    """Raise unless every source of a project's own file lies inside the project.

    A cloned repository must not read what lies beside it, so symbolic links are
    resolved first. Only the user's own file can consent to more.
    """
    real_root = os.path.realpath(project_root)
    for source in sources:
        real = os.path.realpath(source.root)
        if real != real_root and not real.startswith(real_root.rstrip(os.sep) + os.sep):
            raise InvalidInput(
                "source_outside_project",
                f"{path}: the source root {clipped(str(source.root))} lies outside the project",
                f"If you trust this project, add its root to {user_file}: "
                f'[trust] roots = ["{real_root}"]',
            )
        inside = os.path.relpath(real, real_root).split(os.sep)
        if closed := CLOSED_DIRECTORIES.intersection(inside):
            raise invalid(path, f"a source root must not lie in {sorted(closed)[0]}")
