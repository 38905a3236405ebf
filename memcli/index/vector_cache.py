"""Vectors by what was embedded, so that no passage is embedded twice, crashes included."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from memcli.index.connection import transaction
from memcli.index.embedding import EmbeddedPassage
from memcli.index.faults import index_damaged
from memcli.index.schema import CACHE_COLUMNS, insert_rows

LEAST_KEPT = 2000
KEPT_PER_UNIT = 4
_MOST_PARAMETERS = 500
_LENGTH_TOLERANCE = 1e-2

_VECTORS = """
    SELECT input_hash, vector FROM search_vector_cache
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
    distinct = list(dict.fromkeys(input_hashes))
    found: dict[str, bytes] = {}
    for start in range(0, len(distinct), _MOST_PARAMETERS):
        chunk = distinct[start : start + _MOST_PARAMETERS]
        statement = _VECTORS.format(", ".join("?" * len(chunk)))
        found.update(connection.execute(statement, (embedding_revision, *chunk)))
    return found


def usable_hashes(
    connection: sqlite3.Connection,
    input_hashes: Sequence[str],
    embedding_revision: str,
    dimension: int,
) -> set[str]:
    """Those whose cached vector has the right dimension and unit length."""
    found = cached_vectors(connection, input_hashes, embedding_revision)
    return {each for each, blob in found.items() if is_unit_vector(blob, dimension)}


def is_unit_vector(blob: bytes, dimension: int) -> bool:
    if len(blob) != 4 * dimension:
        return False
    length = float(np.linalg.norm(np.frombuffer(blob, dtype="<f4")))
    return abs(length - 1.0) < _LENGTH_TOLERANCE


CacheRow = tuple[str, str, bytes, bytes]


def cache_row(input_hash: str, embedding_revision: str, passage: EmbeddedPassage) -> CacheRow:
    """The row of ``search_vector_cache`` for an embedded passage."""
    token_ids = np.unique(passage.token_ids).astype("<i4").tobytes()
    return input_hash, embedding_revision, passage.vector.astype("<f4").tobytes(), token_ids


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
