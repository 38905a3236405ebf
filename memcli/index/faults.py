"""What a fault of SQLite or of the file system means to a user of the index."""

from __future__ import annotations

import contextlib
import errno
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from memcli.errors import Conflict, Failure, MemcliError, NotReady

REBUILD = "Run `memcli index build` to rebuild it; the index is a cache and no history is lost."

_DAMAGE = (
    "malformed",
    "not a database",
    "no such table",
    "no such column",
    "vtable constructor failed",
    "could not decode",
    "user-defined function raised",  # a text that is none, given to row_digest
)
# The index of a write-ahead log grows by 32 KiB at a time, and then it is an I/O error.
_LITTLE_SPACE = 2**20
_OUT_OF_SPACE = (errno.ENOSPC, errno.EDQUOT)


def index_damaged(detail: str) -> NotReady:
    return NotReady("index_damaged", f"the search index is damaged: {detail}", REBUILD)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether ``error`` says that the file's content is wrong, not that an operation failed.

    An I/O error is no damage: a full disk gives one where the log's index cannot grow.
    """
    text = str(error).lower()
    return any(sign in text for sign in _DAMAGE)


def is_interrupt(error: sqlite3.Error) -> bool:
    return isinstance(error, sqlite3.OperationalError) and str(error) == "interrupted"


def storage_fault(error: sqlite3.Error | OSError, path: Path) -> MemcliError | None:
    """The error a user should see for ``error`` at ``path``; ``None`` for a fault of ours."""
    if isinstance(error, OSError):
        return _file_fault(error, path)
    text = str(error).lower()
    if "locked" in text or "busy" in text:
        return Conflict(
            "busy",
            f"another process holds {path} for writing",
            "Try again in a moment.",
        )
    if "disk is full" in text or ("disk i/o error" in text and _is_nearly_full(path)):
        return _full(path)
    if "readonly" in text or "unable to open" in text or "disk i/o error" in text:
        return _unwritable(path, str(error))
    if is_damage(error):
        return index_damaged(str(error))
    return None


def _is_nearly_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _LITTLE_SPACE
    except OSError:
        return False


def _file_fault(error: OSError, path: Path) -> MemcliError | None:
    if error.errno in _OUT_OF_SPACE:
        return _full(path)
    if error.filename and path.parent not in Path(error.filename).parents:
        # Somebody else's file: a callback's own trouble, not this store's.
        return None
    return _unwritable(Path(error.filename) if error.filename else path, error.strerror or "")


def _full(path: Path) -> Failure:
    return Failure(
        "storage_full",
        f"no space is left for {path}",
        "Free some space and build again: vectors computed so far are kept.",
    )


def _unwritable(path: Path, reason: str) -> Failure:
    return Failure(
        "storage_unwritable",
        f"{path} cannot be written: {reason}" if reason else f"{path} cannot be written",
        "Check the permissions of the project's .memcli directory.",
    )


@contextlib.contextmanager
def storage_faults(path: Path) -> Iterator[None]:
    """Raise faults of the store at ``path`` as errors with a code and a hint."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        translated = storage_fault(error, path)
        if translated is None:
            raise
        raise translated from error


def deadline_passed() -> Failure:
    """The interrupt check said stop in the midst of a search."""
    return Failure(
        "activation_deadline",
        "the deadline passed while the index was searched",
        "Try again when the machine is less busy.",
    )


@contextlib.contextmanager
def reading_faults(path: Path) -> Iterator[None]:
    """The same for a reader, which a deadline may interrupt and which writes nothing."""
    try:
        yield
    except sqlite3.Error as error:
        if is_interrupt(error):
            raise deadline_passed() from error
        if "unable to open" in str(error):
            raise Failure(
                "storage_unreadable",
                f"{path} cannot be opened: {error}",
                "Check the permissions of the project's .memcli directory.",
            ) from error
        translated = storage_fault(error, path)
        if translated is None:
            raise
        raise translated from error
