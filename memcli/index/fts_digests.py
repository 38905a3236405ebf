"""Digests of the full-text table, which the head's row keeps: FTS5 has no checksums either.

One is of the rows, which the scan for short words verifies as it reads them; one
of the inverted index, which queries hardly ever read, since the lexicon answers.
Builds and swaps verify both and make the table anew where it is another one.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from typing import Any

import orjson

from memcli.index.faults import is_damage
from memcli.index.row_digests import DIGEST_BYTES, packed
from memcli.sqlite_files import snapshot, transaction

ROWS = "SELECT rowid, path, title, heading, body FROM search_units_fts"
"""In the order of the rowids, as FTS5 walks its table."""

_INDEX = (
    "SELECT id, block FROM search_units_fts_data ORDER BY id",
    "SELECT segid, term, pgno FROM search_units_fts_idx ORDER BY segid, term",
    "SELECT id, sz FROM search_units_fts_docsize ORDER BY id",
)
_KEPT = "SELECT fts_content, fts_index FROM search_heads WHERE slot = 1"
# How often the table is read beside other writers before they have to wait for it.
_READINGS = 3
_KEEP = "UPDATE search_heads SET fts_content = ?, fts_index = ? WHERE slot = 1"


class ContentDigest:
    """The digest of rows that are read one by one, as ``ROWS`` gives them."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, row: Sequence[Any]) -> None:
        self._hash.update(orjson.dumps(row))

    @property
    def digest(self) -> bytes:
        return self._hash.digest()[:DIGEST_BYTES]


def kept_content_digest(connection: sqlite3.Connection) -> bytes | None:
    """What the rows of the full-text table were; ``None`` where nobody noted it."""
    row = connection.execute(_KEPT).fetchone()
    return row[0] if row else None


def are_noted(connection: sqlite3.Connection) -> bool:
    """False between a swap and ``note``, for as long as it takes to read the table."""
    return connection.execute(_KEPT).fetchone() not in (None, (None, None))


def hold(connection: sqlite3.Connection) -> bool:
    """Whether the full-text table is the one that was noted; reads all of it.

    To be called outside a transaction.
    """
    try:
        with snapshot(connection):
            kept = connection.execute(_KEPT).fetchone()
            return kept is not None and kept == _digests(connection)
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        return False


def note(connection: sqlite3.Connection) -> None:
    """Keep the digests of what the table holds now, unless that was done.

    Not part of the swap: FTS5 writes the last of its rows when that commits.
    Who dies in between leaves none, and the next build makes the table anew.
    The table is read outside the write lock, for which others wait; inside it
    only where they went on writing meanwhile.
    """
    if connection.execute(_KEPT).fetchone() != (None, None):
        return
    for _ in range(_READINGS):
        with snapshot(connection):
            version, digests = _version(connection), _digests(connection)
        with transaction(connection):
            if _version(connection) == version:
                connection.execute(_KEEP, digests)
                return
    with transaction(connection):
        connection.execute(_KEEP, _digests(connection))


def _version(connection: sqlite3.Connection) -> int:
    """Another number after every commit of another connection."""
    version: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return version


def _digests(connection: sqlite3.Connection) -> tuple[bytes, bytes]:
    return _of_content(connection), _of_index(connection)


def _of_content(connection: sqlite3.Connection) -> bytes:
    digest = ContentDigest()
    for row in connection.execute(ROWS):
        digest.add(row)
    return digest.digest


def _of_index(connection: sqlite3.Connection) -> bytes:
    digest = hashlib.sha256()
    for statement in _INDEX:
        for row in connection.execute(statement):
            digest.update(packed(row))
    return digest.digest()[:DIGEST_BYTES]
