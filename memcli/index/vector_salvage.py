"""Save the vectors out of a damaged index: hours of computing may be in them."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from memcli.index.connection import open_to_read, user_version
from memcli.index.schema import SCHEMA_VERSION
from memcli.index.vector_cache import CacheRow, is_intact, store_vectors

_WINDOW = 100
_ROWS = """
    SELECT input_hash, embedding_revision, vector, token_ids, checksum
    FROM search_vector_cache WHERE rowid BETWEEN ? AND ?
"""


def salvage_vectors(damaged: Path, fresh: sqlite3.Connection) -> None:
    """Copy every cached vector of ``damaged`` that can be read and is intact.

    Rows are read by stretches of rowids, so that one bad page costs only the
    rows that are on it.
    """
    for rows in _stretches(damaged):
        store_vectors(fresh, rows)


def _stretches(damaged: Path) -> Iterator[list[CacheRow]]:
    # A file that is no database, or of another schema, holds nothing to save.
    with contextlib.suppress(sqlite3.Error), contextlib.closing(open_to_read(damaged)) as old:
        if user_version(old) != SCHEMA_VERSION:
            return
        last = old.execute("SELECT max(rowid) FROM search_vector_cache").fetchone()[0] or 0
        for start in range(1, last + 1, _WINDOW):
            yield _readable(old, start, start + _WINDOW - 1)


def _readable(old: sqlite3.Connection, first: int, last: int) -> list[CacheRow]:
    rows: list[CacheRow] = []
    try:
        for row in old.execute(_ROWS, (first, last)):
            if is_intact(row):
                rows.append(row)
    except sqlite3.Error:
        if first < last:
            return [row for at in range(first, last + 1) for row in _readable(old, at, at)]
    return rows
