"""Whether files have changed since a walk, found out without walking again."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from memcli.memory.resource import SeenFile
from memcli.memory.sources import Source, sources_fingerprint

FORMAT = 2
UNREADABLE_SIZE = -1
"""The size recorded for what could not be opened, or was looked for and not there."""

MOST_READ_FILES = 200
MOST_READ_BYTES = 4 * 2**20
"""What a check reads at most of files whose time alone has changed: milliseconds."""

_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)

Row = tuple[str, int, int]
FileRow = tuple[str, int, int, str]


@dataclass(frozen=True, slots=True)
class SeenRecord:
    """What a walk saw, in a form that is quick to store and to check.

    Rows are (path, size in bytes, mtime in nanoseconds), and of a file the digest
    of its bytes ("" where they were not read). Paths below the project root are
    relative to it, so that a moved project stays fresh. ``fingerprint`` is that
    of the sources (``sources_fingerprint``).
    """

    fingerprint: str
    files: list[FileRow]
    directories: list[Row]

    def to_bytes(self) -> bytes:
        """JSON for a derived file."""
        return orjson.dumps(
            {
                "format": FORMAT,
                "fingerprint": self.fingerprint,
                "files": [(_packed(path), *rest) for path, *rest in self.files],
                "directories": [(_packed(path), *rest) for path, *rest in self.directories],
            }
        )

    @staticmethod
    def from_bytes(data: bytes) -> SeenRecord | None:
        """The record, or ``None`` where the bytes are no record of this format."""
        try:
            document = orjson.loads(data)
            if document["format"] != FORMAT:
                return None
            return SeenRecord(
                str(document["fingerprint"]),
                [(*_unpacked(row), _digest(more)) for *row, more in document["files"]],
                [_unpacked(row) for row in document["directories"]],
            )
        except (ValueError, TypeError, KeyError):
            return None


def _packed(path: str) -> str:
    # JSON has no place for a path that is not UTF-8; Latin-1 carries its bytes one to one.
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def _unpacked(row: Sequence[object]) -> Row:
    path, size, mtime = row
    if not (isinstance(path, str) and isinstance(size, int) and isinstance(mtime, int)):
        raise TypeError("not a row of a SeenRecord")
    return path if path.isascii() else os.fsdecode(path.encode("latin-1")), size, mtime


def _digest(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a row of a SeenRecord")
    return value


def content_digest(data: bytes) -> str:
    """What tells whether a file of the same size still holds the same; no proof against forgery."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def digest_of_file(path: str, size: int) -> str:
    """The digest of a regular file of ``size`` bytes; "" of anything else, or what cannot be read.

    Neither a pipe nor a file that grows meanwhile can hold it up.
    """
    try:
        descriptor = os.open(path, _OPEN_FLAGS)
    except OSError:
        return ""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size != size:
            return ""
        data = os.read(descriptor, size)
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return content_digest(data) if len(data) == size else ""


def seen_record(seen: Iterable[SeenFile], root: Path, fingerprint: str) -> SeenRecord:
    """The record of an Effective Memory's ``seen`` for the project at ``root``."""
    base = f"{os.path.realpath(root).rstrip(os.sep)}{os.sep}"
    files: list[FileRow] = []
    directories: list[Row] = []
    for it in seen:
        path = os.fspath(it.path)
        path = "" if path == base[:-1] else path.removeprefix(base)
        if it.is_directory:
            directories.append((path, it.size, it.mtime_ns))
        else:
            files.append((path, it.size, it.mtime_ns, it.digest))
    return SeenRecord(fingerprint, files, directories)


@dataclass(frozen=True, slots=True)
class Changes:
    """What is other than recorded: the sources' definition, or paths (absolute)."""

    sources_changed: bool = False
    paths: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.sources_changed or bool(self.paths)


def changed_since(
    record: SeenRecord,
    root: Path,
    sources: Sequence[Source],
    *,
    max_file_bytes: int,
    environ: Mapping[str, str],
) -> Changes:
    """Compare the recorded files and directories with the disk; read-only, no full walk.

    A file counts as changed by its size, or by its time unless its bytes are the
    same: they are read of a bounded number of files, so that a touch or a change
    that was taken back raises no alarm. A missing file is gone. A directory whose
    time has changed is listed again, since only a file that would be memory
    matters: one that appeared there, or below a directory that did.
    """
    if sources_fingerprint(root, sources, max_file_bytes) != record.fingerprint:
        return Changes(sources_changed=True)
    base = f"{os.path.realpath(root).rstrip(os.sep)}{os.sep}"
    changed = _changed_files(base, record.files)
    suspects = _changed_directories(base, record.directories)
    if suspects:
        # Only now: the rules and their pattern matcher are not needed when nothing changed.
        from memcli.memory.relisting import appeared_in

        known = {os.path.join(base, it[0]) for it in record.files}
        walked = {os.path.normpath(os.path.join(base, it[0])) for it in record.directories}
        changed += appeared_in(suspects, known, walked, base[:-1] or os.sep, sources, environ)
    return Changes(paths=tuple(sorted(set(changed))))


def _changed_files(base: str, rows: Sequence[FileRow]) -> list[str]:
    look = os.stat
    changed = []
    files_left, bytes_left = MOST_READ_FILES, MOST_READ_BYTES
    for path, size, mtime, digest in rows:
        full = path if path.startswith(os.sep) else base + path
        try:
            status = look(full)
        except OSError:
            if size != UNREADABLE_SIZE:
                changed.append(full)
            continue
        if status.st_size == size and status.st_mtime_ns == mtime:
            continue
        if digest and status.st_size == size and files_left and size <= bytes_left:
            files_left, bytes_left = files_left - 1, bytes_left - size
            if digest_of_file(full, size) == digest:
                continue
        if _is_changed(full, size, mtime):
            changed.append(full)
    return changed


def _is_changed(path: str, size: int, mtime: int) -> bool:
    # A change of rights leaves no trace in size and time: trying tells.
    if size == UNREADABLE_SIZE:
        return os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids)
    # A link that was not followed is recorded itself, not what it leads to.
    try:
        status = os.lstat(path)
    except OSError:
        return True
    return status.st_size != size or status.st_mtime_ns != mtime


def _changed_directories(base: str, rows: Sequence[Row]) -> list[str]:
    """The directories to list again. One that is gone matters only through its files."""
    look = os.stat
    changed = []
    for path, size, mtime in rows:
        full = path if path.startswith(os.sep) else base + path
        try:
            status = look(full)
        except OSError:
            continue
        if status.st_mtime_ns != mtime or size == UNREADABLE_SIZE:
            changed.append(os.path.normpath(full))
    return changed
