"""Says what is wrong with ``local.db`` and what can still be done; never touches the file."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memcli.errors import Conflict, Failure, MemcliError

HEADER_BYTES = 100
MAGIC = b"SQLite format 3\x00"
BACKUP_PATTERN = "local.db.backup-*"

# SQLite's own texts, for Python 3.10 has no error codes on its exceptions.
LITTLE_SPACE = 64 * 1024
BUSY = ("database is locked", "database table is locked", "locking protocol")
READ_ONLY = ("readonly database",)
FULL = ("database or disk is full",)
UNREACHABLE = ("unable to open database file", "disk I/O error", "access permission denied")
CORRUPT = (
    "file is not a database",
    "malformed",
    "no such table",
    "no such column",
    "Could not decode to UTF-8",
)


def damaged(path: Path, what: str) -> Failure:
    """``store_damaged`` for the store at ``path``, with the ways out that exist here."""
    ways = ["Nothing was overwritten, and queries are answered without history."]
    if backups := backup_copies(path.parent):
        ways.append(f"Restore the copy {backups[-1].name},")
    else:
        ways.append("Restore a copy of your own,")
    ways.append(f"save what is readable with `sqlite3 {path.name} .recover`,")
    ways.append(f"or move {path.parent} aside to begin a new history.")
    return Failure("store_damaged", f"the history in {path} {what}", " ".join(ways))


def too_new(path: Path, version: int, ours: int) -> Failure:
    return Failure(
        "store_too_new",
        f"the history in {path} has layout {version}; this memcli knows up to {ours}",
        "Update memcli. Nothing was changed; queries are answered without history.",
    )


def backup_copies(home: Path) -> list[Path]:
    """The copies made before migrations, oldest first."""
    return sorted(home.glob(BACKUP_PATTERN))


def require_sound_file(path: Path) -> bool:
    """Look at the file before SQLite does; ``False`` when there is no store yet.

    A missing or empty file is a new store only where nothing shows that it ever
    held data: no bodies beside it, no backup copy, no journal.

    Raises:
        Failure: ``store_damaged``.
    """
    header, size = _beginning(path)
    if size <= 0:
        trace = _trace_of_data(path)
        if trace is None:
            return False
        # Another process may have made the store, and filled it, between the two looks.
        header, size = _beginning(path)
        if size <= 0:
            what = "is missing" if size < 0 else "is empty (zero bytes)"
            raise damaged(path, f"{what}, though {trace} is there")
    if not header.startswith(MAGIC):
        raise damaged(path, "is not an SQLite database")
    expected = _promised_size(header)
    if size < expected and not _has_content(_beside(path, "-wal")):
        # No journal any more: a checkpoint that was at work has grown the file by now.
        size = path.stat().st_size
        if size < expected:
            raise damaged(path, f"is cut short: {size:,} of {expected:,} bytes")
    return True


def _beginning(path: Path) -> tuple[bytes, int]:
    """Header and size in bytes; size -1 for a file that is not there."""
    try:
        with path.open("rb") as stream:
            return stream.read(HEADER_BYTES), os.fstat(stream.fileno()).st_size
    except FileNotFoundError:
        return b"", -1
    except OSError as error:
        raise damaged(path, f"cannot be read: {error.strerror}") from error


def _promised_size(header: bytes) -> int:
    """Bytes the header promises, 0 where it makes no valid promise (SQLite file format, 1.3.7)."""
    if len(header) < HEADER_BYTES:
        return HEADER_BYTES
    (page_size,) = struct.unpack(">H", header[16:18])
    change_counter, pages = struct.unpack(">II", header[24:32])
    (valid_for,) = struct.unpack(">I", header[92:96])
    if change_counter != valid_for:
        return 0
    return int(pages) * (65536 if page_size == 1 else int(page_size))


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def _trace_of_data(path: Path) -> str | None:
    for suffix in ("-wal", "-journal"):
        if _has_content(_beside(path, suffix)):
            return path.name + suffix
    if backups := backup_copies(path.parent):
        return backups[-1].name
    blobs = path.parent / "evaluation-corpora" / "blobs"
    if next(blobs.glob("*/*"), None):
        return "evaluation-corpora/blobs"
    return None


@contextmanager
def reporting_faults(path: Path) -> Iterator[None]:
    """Turn SQLite's errors: ``busy``, ``store_damaged`` or ``history_write_failed``.

    Errors that only a fault of the program can cause pass unchanged.
    """
    try:
        yield
    except sqlite3.Error as error:
        if (fault := fault_of(path, error)) is None:
            raise
        raise fault from error


def is_of_the_disk(error: sqlite3.Error) -> bool:
    """Whether the store could not be reached or written, which says nothing about its content."""
    return any(phrase in str(error) for phrase in (*BUSY, *READ_ONLY, *FULL, *UNREACHABLE))


def fault_of(path: Path, error: sqlite3.Error) -> MemcliError | None:
    text = str(error)

    def says(phrases: tuple[str, ...]) -> bool:
        return any(phrase in text for phrase in phrases)

    if says(BUSY):
        return Conflict(
            "busy",
            f"another memcli process is writing to {path}",
            "Try again when it has finished.",
        )
    if says(READ_ONLY):
        return Failure(
            "history_write_failed",
            f"the history in {path} cannot be written: it or its directory is read-only",
            "Give yourself the right to write there, or set MEMCLI_HOME to another directory.",
        )
    if says(FULL) or (says(UNREACHABLE) and _is_nearly_full(path)):
        return Failure(
            "history_write_failed",
            f"the history in {path} cannot be written: the disk is full",
            "Free some space; `memcli clear` removes runs and bodies that nothing needs.",
        )
    if says(UNREACHABLE):
        return Failure(
            "history_write_failed",
            f"the history in {path} cannot be reached: {text}",
            "Check the permissions of the file and its directory, and the free space.",
        )
    if says(CORRUPT):
        return damaged(path, f"is damaged: {text}")
    return None


def _is_nearly_full(path: Path) -> bool:
    """A full disk gives an I/O error where SQLite cannot make its shared memory."""
    try:
        return shutil.disk_usage(path.parent).free < LITTLE_SPACE
    except OSError:
        return False
