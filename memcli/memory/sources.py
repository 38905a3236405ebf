"""Where a project's memory comes from: the default sources of each scope and the listed ones."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from memcli.configuration import Configuration, SourceTable
from memcli.configuration.options import Place
from memcli.errors import InvalidInput, clipped, shown
from memcli.memory.patterns import is_pattern
from memcli.memory.project import LOCAL_MEMORY
from memcli.memory.resource import Scope

MEMORY_SUFFIXES = (".md", ".markdown", ".mdx", ".mdc")
GLOBAL_MEMORY = "memory"
PATTERN_SUFFIX = re.compile(r"\.[^./*?\[\]]+$")


@dataclass(frozen=True, slots=True)
class Source:
    """One tree of documents.

    ``key_prefix`` ("" or ending in /) and a path inside ``root`` make the path
    key. ``within`` is the directory that the real root must lie in, ``None``
    where the user's own word allows any. ``suffixes`` are lower case.
    ``git_rules`` tells whether what git would ignore stays out. ``listed`` ones
    were asked for, so that a missing root is worth a warning.
    """

    scope: Scope
    root: Path
    key_prefix: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = MEMORY_SUFFIXES
    kind: str | None = None
    git_rules: bool = False
    within: Path | None = None
    listed: bool = False


def effective_sources(configuration: Configuration) -> tuple[Source, ...]:
    """The sources of a project, listed ones first.

    A listed source of scope ``project`` takes the place of the default walk
    over the whole tree; listed ``global`` and ``local`` sources come beside
    their default folders.
    """
    root = configuration.root
    listed = [_listed(configuration, table) for table in configuration.sources]
    within = None if configuration.trusted else root
    defaults = [
        Source(Scope.GLOBAL, configuration.config_directory / GLOBAL_MEMORY, ""),
        Source(Scope.LOCAL, root / LOCAL_MEMORY, f"{LOCAL_MEMORY}/", within=within),
    ]
    if not any(source.scope is Scope.PROJECT for source in listed):
        defaults.insert(1, Source(Scope.PROJECT, root, "", git_rules=True))
    return (*listed, *defaults)


def _listed(configuration: Configuration, table: SourceTable) -> Source:
    scope = Scope(table.scope)
    include = _patterns(table, table.include)
    exclude = _patterns(table, table.exclude)
    prefix = table.prefix
    if prefix is None:
        inside = os.path.relpath(table.root, configuration.root)
        prefix = "" if scope is Scope.GLOBAL or inside == "." else inside.replace(os.sep, "/")
    bounded = table.place is Place.PROJECT and not configuration.trusted
    return Source(
        scope=scope,
        root=table.root,
        key_prefix=f"{prefix}/" if prefix else "",
        include=include,
        exclude=exclude,
        suffixes=_suffixes(include),
        kind=table.kind,
        git_rules=scope is Scope.PROJECT,
        within=configuration.root if bounded else None,
        listed=True,
    )


def _patterns(table: SourceTable, patterns: Sequence[str]) -> tuple[str, ...]:
    """Gitignore patterns as written, ``./`` before them dropped since it means nothing there."""
    for pattern in patterns:
        if not is_pattern(pattern) or ".." in pattern.split("/"):
            raise InvalidInput(
                "configuration_invalid",
                f"{table.place.value}: source {clipped(str(table.root))}: {shown(pattern)} "
                "is no pattern of paths inside it",
                "Patterns are those of .gitignore, relative to the source's root.",
            )
    return tuple(pattern.removeprefix("./") for pattern in patterns)


def _suffixes(include: Sequence[str]) -> tuple[str, ...]:
    """The memory suffixes and those that include patterns spell out (``*.txt``).

    So ``include = ["docs/"]`` takes the notes of a folder, not its images.
    """
    spelled = (PATTERN_SUFFIX.search(pattern) for pattern in include)
    more = {found[0].lower() for found in spelled if found}
    return (*MEMORY_SUFFIXES, *sorted(more.difference(MEMORY_SUFFIXES)))


def _place(root: Path, directory: Path) -> str:
    """Relative where it lies in the project, so that a moved project is the same; else absolute."""
    inside = os.path.relpath(directory, root)
    return str(directory) if inside.startswith(os.pardir) else inside


def sources_fingerprint(root: Path, sources: Sequence[Source], max_file_bytes: int) -> str:
    """A digest of everything but the files that decides what Effective Memory holds."""
    rows = [
        [
            source.scope.value,
            os.fsencode(_place(root, source.root)).hex(),
            source.key_prefix,
            source.include,
            source.exclude,
            source.suffixes,
            source.kind,
            source.git_rules,
            source.within is None,
        ]
        for source in sources
    ]
    return hashlib.sha256(orjson.dumps([rows, max_file_bytes])).hexdigest()
