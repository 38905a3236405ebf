"""The two files derived from a revision: its packed vectors, with its names, and its lexicon."""

from __future__ import annotations

import sqlite3

import numpy as np

from memcli.index.fts import lexical_row
from memcli.index.lexicon import Int64, Lexicon, read_lexicon
from memcli.index.lexicon_build import lexicon_of, write_lexicon
from memcli.index.resource_names import name_arrays, read_names
from memcli.index.revisions import READY, find_revision, read_head
from memcli.index.storage import IndexStorage
from memcli.index.vectors import read_vectors, stored_vectors, write_vectors

_ROWIDS = "SELECT unit_rowid FROM search_units WHERE revision_id = ? ORDER BY ordinal"


def write_derived_files(
    connection: sqlite3.Connection,
    storage: IndexStorage,
    revision_id: str,
    dimension: int,
    *,
    from_head: bool,
) -> None:
    """Write both; with ``from_head`` the head's lexicon serves for the rows they share."""
    _write_vectors(connection, storage, revision_id, dimension)
    base = _head_lexicon(connection, storage) if from_head else None
    _write_lexicon(connection, storage, revision_id, base)


def ensure_derived_files(
    connection: sqlite3.Connection, storage: IndexStorage, revision_id: str
) -> None:
    """Write again whichever of a ready revision's files is absent or damaged."""
    revision = find_revision(connection, revision_id)
    assert revision is not None
    units, dimension = revision.unit_count, revision.dimension
    vectors = read_vectors(storage, revision_id, units, dimension)
    if vectors is None or read_names(storage, revision_id) is None:
        _write_vectors(connection, storage, revision_id, dimension)
    if read_lexicon(storage, revision_id, units, all_of_it=True) is None:
        _write_lexicon(connection, storage, revision_id, None)


def _write_vectors(
    connection: sqlite3.Connection, storage: IndexStorage, revision_id: str, dimension: int
) -> None:
    matrix = stored_vectors(connection, revision_id, dimension)
    write_vectors(storage, revision_id, matrix, name_arrays(connection, revision_id))


def _write_lexicon(
    connection: sqlite3.Connection, storage: IndexStorage, revision_id: str, base: Lexicon | None
) -> None:
    lexicon = lexicon_of(
        _rowids(connection, revision_id),
        lambda rowid: lexical_row(connection, revision_id, rowid),
        base,
    )
    if lexicon is not None:
        write_lexicon(storage, revision_id, lexicon)


def _rowids(connection: sqlite3.Connection, revision_id: str) -> Int64:
    rows = connection.execute(_ROWIDS, (revision_id,))
    return np.fromiter((rowid for (rowid,) in rows), np.int64)


def _head_lexicon(connection: sqlite3.Connection, storage: IndexStorage) -> Lexicon | None:
    head = read_head(connection).head
    revision = find_revision(connection, head) if head else None
    if revision is None or revision.status != READY:
        return None
    return read_lexicon(storage, revision.revision_id, revision.unit_count, all_of_it=True)
