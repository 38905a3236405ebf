"""A revision's vectors as one float32 matrix in unit order, mapped from a derived file."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

import numpy as np

from memcli.index.embedding import Float32
from memcli.index.faults import index_damaged
from memcli.index.packed_arrays import Array, read_arrays, write_arrays
from memcli.index.storage import IndexStorage

_VECTORS_IN_ORDER = """
    SELECT vector FROM search_units WHERE revision_id = ? ORDER BY ordinal
"""


def write_vectors(
    storage: IndexStorage, revision_id: str, matrix: Float32, more: Mapping[str, Array]
) -> None:
    """Write the derived file of a revision; ``more`` are other arrays that it holds."""
    arrays = {**more, "vectors": matrix}
    write_arrays(storage.vectors(revision_id), revision_id, arrays)


def read_vectors(
    storage: IndexStorage, revision_id: str, count: int, dimension: int
) -> Float32 | None:
    """float32 [count, dimension], mapped; ``None`` where the file is absent or damaged.

    The checksum is verified, for a search reads all of the pages anyway.
    """
    packed = read_arrays(storage.vectors(revision_id), revision_id)
    if packed is None:
        return None
    matrix = packed.arrays.get("vectors")
    if matrix is None or matrix.shape != (count, dimension) or matrix.dtype != np.dtype("<f4"):
        return None
    # A plain array over the mapping: memmap's subclass costs on every operation.
    return np.asarray(matrix) if packed.is_intact("vectors") else None


def stored_vectors(connection: sqlite3.Connection, revision_id: str, dimension: int) -> Float32:
    """float32 [count, dimension] from ``search_units``; raises ``index_damaged``."""
    rows = connection.execute(_VECTORS_IN_ORDER, (revision_id,)).fetchall()
    if any(vector is None or len(vector) != 4 * dimension for (vector,) in rows):
        raise index_damaged(
            f"a unit of revision {revision_id} has no vector of {dimension} numbers"
        )
    joined = b"".join(vector for (vector,) in rows)
    return np.frombuffer(joined, dtype="<f4").reshape(len(rows), dimension)
