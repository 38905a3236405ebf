"""Vectors by what was embedded, so that no passage is embedded twice, crashes included."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from memcli.index.embedding import EmbeddedPassage
from memcli.index.faults import index_damaged
from memcli.index.schema import insert_rows
from memcli.index.tables import CACHE_COLUMNS
from memcli.sqlite_files import transaction

LEAST_KEPT = 2000
KEPT_PER_UNIT = 4
_MOST_PARAMETERS = 500

CacheRow = tuple[str, str, bytes, bytes, int]
"""Input hash, embedding revision, vector, token ids, checksum."""

_CACHED = """
    SELECT input_hash, embedding_revision, vector, token_ids, checksum FROM search_vector_cache
    WHERE embedding_revision = ? AND input_hash IN ({})
"""
_TOKEN_IDS = """
    SELECT c.token_ids FROM search_units u
        LEFT JOIN search_vector_cache c
            ON c.input_hash = u.input_hash AND c.embedding_revision = ?
    WHERE u.revision_id = ?
"""
_PRUNE = """
    DELETE FROM search_vector_cache WHERE rowid IN (
        SELECT c.rowid FROM search_vector_cache c
        WHERE (c.input_hash, c.embedding_revision) NOT IN (
            SELECT u.input_hash, r.embedding_revision
            FROM search_units u JOIN search_revisions r USING (revision_id)
        )
        ORDER BY c.rowid LIMIT ?
    )
"""


def cached_vectors(
    connection: sqlite3.Connection, input_hashes: Sequence[str], embedding_revision: str
) -> dict[str, bytes]:
    """Vector blobs by input hash, for those that are cached."""
    return {row[0]: row[2] for row in _rows(connection, input_hashes, embedding_revision)}


def usable_hashes(
    connection: sqlite3.Connection, input_hashes: Sequence[str], embedding_revision: str
) -> set[str]:
    """Those whose vector is cached and intact."""
    return {row[0] for row in _rows(connection, input_hashes, embedding_revision) if is_intact(row)}


def _rows(
    connection: sqlite3.Connection, input_hashes: Sequence[str], embedding_revision: str
) -> Iterator[CacheRow]:
    distinct = list(dict.fromkeys(input_hashes))
    for start in range(0, len(distinct), _MOST_PARAMETERS):
        chunk = distinct[start : start + _MOST_PARAMETERS]
        statement = _CACHED.format(", ".join("?" * len(chunk)))
        yield from connection.execute(statement, (embedding_revision, *chunk))


def cache_row(input_hash: str, embedding_revision: str, passage: EmbeddedPassage) -> CacheRow:
    """The row of ``search_vector_cache`` for an embedded passage."""
    token_ids = np.unique(passage.token_ids).astype("<i4").tobytes()
    vector = passage.vector.astype("<f4").tobytes()
    checksum = _checksum(input_hash, embedding_revision, vector, token_ids)
    return input_hash, embedding_revision, vector, token_ids, checksum


def is_intact(row: CacheRow) -> bool:
    """Whether the row is as it was written, which a damaged file may have changed in type too."""
    texts, blobs = row[:2], row[2:4]
    typed = all(isinstance(it, str) for it in texts) and all(isinstance(it, bytes) for it in blobs)
    return typed and _checksum(*texts, *blobs) == row[4]


def _checksum(input_hash: str, embedding_revision: str, vector: bytes, token_ids: bytes) -> int:
    key = zlib.crc32(f"{input_hash} {embedding_revision}".encode())
    return zlib.crc32(token_ids, zlib.crc32(vector, key))


def store_vectors(connection: sqlite3.Connection, rows: Sequence[CacheRow]) -> None:
    """Cache ``rows`` in one transaction, in the place of any of the same key."""
    with transaction(connection):
        connection.executemany(
            "DELETE FROM search_vector_cache WHERE input_hash = ? AND embedding_revision = ?",
            [row[:2] for row in rows],
        )
        insert_rows(connection, "search_vector_cache", CACHE_COLUMNS, list(rows))


def document_frequencies(
    connection: sqlite3.Connection, revision_id: str, embedding_revision: str
) -> bytes:
    """In how many units each token id is: int32 ids in order, then as many int32 counts."""
    rows = connection.execute(_TOKEN_IDS, (embedding_revision, revision_id))
    joined = np.frombuffer(b"".join(_all_present(rows)), dtype="<i4")
    ids, counts = np.unique(joined, return_counts=True)
    return ids.astype("<i4").tobytes() + counts.astype("<i4").tobytes()


def _all_present(rows: Iterable[tuple[bytes | None]]) -> Iterator[bytes]:
    for (token_ids,) in rows:
        if token_ids is None:
            raise index_damaged("a unit's passage is not in the vector cache")
        yield token_ids


def prune_cache(connection: sqlite3.Connection, unit_count: int) -> None:
    """Drop the oldest vectors that no revision uses, where the cache is far larger than needed.

    The bound is generous, so that going back to another model or an older text
    costs nothing. Runs in the caller's transaction.
    """
    cached: int = connection.execute("SELECT count(*) FROM search_vector_cache").fetchone()[0]
    excess = cached - max(LEAST_KEPT, KEPT_PER_UNIT * unit_count)
    if excess > 0:
        connection.execute(_PRUNE, (excess,))
