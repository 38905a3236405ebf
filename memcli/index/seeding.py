"""Begins an index with the vectors of another one, so that no model computes them again."""

from __future__ import annotations

import contextlib
import sqlite3

from memcli.index.connection import BUSY_SECONDS, open_to_read
from memcli.index.schema import create_index
from memcli.index.storage import IndexStorage
from memcli.index.vector_salvage import salvage_vectors
from memcli.locations import private_directory, private_file
from memcli.sqlite_files import connect


def seed_index(storage: IndexStorage, source: IndexStorage) -> None:
    """Make an index without revisions in ``storage`` that has the caches of ``source``.

    Cached vectors are known by input and embedding revision, so a build takes
    just those that its own model would compute. What cannot be read of
    ``source`` is left out.
    """
    private_directory(storage.directory)
    create_index(storage.database, lambda fresh: salvage_vectors(source.database, fresh))
    with contextlib.suppress(sqlite3.Error):
        _copy(source, storage)


def _copy(source: IndexStorage, storage: IndexStorage) -> None:
    if not source.token_vectors.exists():
        return
    with (
        contextlib.closing(open_to_read(source.token_vectors)) as old,
        contextlib.closing(connect(private_file(storage.token_vectors), "rw", BUSY_SECONDS)) as new,
    ):
        old.backup(new)
