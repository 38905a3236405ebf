"""Save the vectors out of a damaged index: hours of computing may be in them."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from memcli.index.connection import open_to_read
from memcli.index.tables import SCHEMA_VERSION
from memcli.index.vector_cache import CacheRow, is_intact, store_vectors
from memcli.sqlite_files import user_version

_WINDOW = 100
# How far to go on where not even the next rowid can be read.
_MOST_BLIND = 100_000
_ROWS = """
    SELECT input_hash, embedding_revision, vector, token_ids, checksum
    FROM search_vector_cache WHERE rowid BETWEEN ? AND ?
"""
_NEXT = "SELECT min(rowid) FROM search_vector_cache WHERE rowid >= ?"


def salvage_vectors(damaged: Path, fresh: sqlite3.Connection) -> None:
    """Copy every cached vector of ``damaged`` that can be read and is intact.

    Rows are read by stretches of rowids, so that one bad page costs only the
    rows that are on it. Stretches without rows are leapt over: a rowid may be
    damaged too, and as large as they get.
    """
    for rows in _stretches(damaged):
        store_vectors(fresh, rows)


def _stretches(damaged: Path) -> Iterator[list[CacheRow]]:
    # A file that is no database, or of another schema, holds nothing to save.
    with contextlib.suppress(sqlite3.Error), contextlib.closing(open_to_read(damaged)) as old:
        if user_version(old) != SCHEMA_VERSION:
            return
        start = 1
        while (following := _following(old, start)) is not None:
            yield _readable(old, following, following + _WINDOW - 1)
            start = following + _WINDOW


def _following(old: sqlite3.Connection, start: int) -> int | None:
    """The first rowid from ``start``; where the tree cannot be walked, ``start`` itself,
    for as long as there may be a row at all."""
    try:
        found: int | None = old.execute(_NEXT, (start,)).fetchone()[0]
    except sqlite3.Error:
        return start if start < _MOST_BLIND else None
    return found


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
