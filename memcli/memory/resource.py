"""The words of Effective Memory as plain data: resources, and what became of every other file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Scope(str, Enum):
    """Where a resource comes from; a later scope replaces an earlier one."""

    GLOBAL = "global"
    PROJECT = "project"
    LOCAL = "local"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class SourceResource:
    """One memory document after synthesis.

    ``path`` is the path key: relative, ``/``-separated, exactly as on disk.
    ``body_first_line`` and ``description_line`` are 1-based lines of the file,
    so that a locator opens in an editor; ``file_path`` is where it was read,
    for opening only, and enters no hash.
    """

    resource_id: str
    scope: Scope
    kind: str
    path: str
    title: str
    description: str
    body: str
    body_sha256: str
    resource_hash: str
    body_first_line: int
    description_line: int | None
    file_path: str


class Disposition(str, Enum):
    """Why a file that was seen is not a resource of Effective Memory."""

    IGNORED = "ignored"
    EXCLUDED = "excluded"
    DISABLED = "disabled"
    SHADOWED = "shadowed"
    SKIPPED = "skipped"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is not in Effective Memory, with the rule or fault that kept it out.

    ``reason`` is a stable word (``git``, ``exclude``, ``front_matter``,
    ``higher_scope``, ``duplicate_id``, ``unreadable``, ``vanished``, ``binary``,
    ``too_large``, ``symlink_outside``, ``symlink_broken``, ``not_a_file``,
    ``path_not_utf8``, ...); ``detail`` is a sentence for a person, and ``by``
    names the other file where there is one.
    """

    path: str
    scope: Scope
    disposition: Disposition
    reason: str
    detail: str = ""
    by: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryWarning:
    """A fault that did not keep a file out: indexed as well as possible."""

    path: str
    scope: Scope
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file or directory as the walk found it, for the cheap "has anything changed" check.

    ``digest`` is of a file's bytes (``freshness.content_digest``), "" where they
    were not read.
    """

    path: Path
    size: int
    mtime_ns: int
    is_directory: bool
    digest: str = ""


@dataclass(frozen=True, slots=True)
class EffectiveMemory:
    """The ordered resources a project sees, identified by ``effective_hash``."""

    resources: tuple[SourceResource, ...]
    effective_hash: str
    left_out: tuple[LeftOut, ...]
    warnings: tuple[MemoryWarning, ...]
    seen: tuple[SeenFile, ...]
