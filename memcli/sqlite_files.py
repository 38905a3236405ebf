"""What both stores need of SQLite: a connection to an existing file, explicit transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal


def connect(
    path: Path, mode: Literal["ro", "rw"], busy_seconds: float, *, immutable: bool = False
) -> sqlite3.Connection:
    """Connect to a file that exists; nothing is begun unless said.

    ``immutable`` reads a file that nobody can change, without the ``-shm`` that
    SQLite would make beside it; what is still in a journal is not seen then.
    """
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}{'&immutable=1' if immutable else ''}",
        uri=True,
        isolation_level=None,
        timeout=busy_seconds,
    )


def user_version(connection: sqlite3.Connection) -> int:
    """The number of the layout; 0 for a file that nobody gave one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One write transaction, with the write lock from the start; rolled back on any exception."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk may have ended the transaction already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """One read transaction: every query in it sees the store at the same moment."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")
