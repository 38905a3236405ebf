"""The one place where a history that cannot be written becomes a warning instead of an error."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from memcli.errors import MemcliError
from memcli.history.clocks import stamp
from memcli.history.excerpts import SUMMARY_CHARACTERS, excerpt_of, storable
from memcli.history.recording import WRITE_FAILED_CODE
from memcli.history.store import HistoryStore
from memcli.locations import FILE_MODE, private_directory

T = TypeVar("T")

LOG_FILE = "memcli.log"
LOG_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class HistoryWarning:
    """History could not be written; the answer is not touched by it."""

    message: str
    hint: str = ""
    code: str = WRITE_FAILED_CODE


def record_or_warn(store: HistoryStore, write: Callable[[], T]) -> T | HistoryWarning:
    """Run ``write``; a damaged, locked, full, read-only or missing history gives a warning.

    The warning is for the caller to print; it is in ``<home>/memcli.log`` too,
    where that can be written. Errors that are none of the storage's pass.
    """
    try:
        return write()
    except MemcliError as error:
        warning = HistoryWarning(error.message, error.hint)
    except (sqlite3.Error, OSError, UnicodeError) as error:
        warning = HistoryWarning(f"the history in {store.path} cannot be written: {error}")
    _log(store, warning)
    return warning


def _log(store: HistoryStore, warning: HistoryWarning) -> None:
    """Append one line; two files of bounded size. The home may be the very thing that is broken."""
    message = excerpt_of(" ".join(storable(warning.message).split()), SUMMARY_CHARACTERS)
    line = f"{stamp(store.now())} {warning.code}: {message}\n".encode()
    log = store.home / LOG_FILE
    with suppress(OSError):
        private_directory(store.home)
        _rotate(log, len(line))
        descriptor = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY, FILE_MODE)
        try:
            os.chmod(log, FILE_MODE)
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


def _rotate(log: Path, more: int) -> None:
    with suppress(FileNotFoundError):
        if log.stat().st_size + more > LOG_BYTES:
            log.replace(log.with_name(f"{LOG_FILE}.1"))
