"""What stays and what goes: leftovers of dead builds, revisions no longer kept, orphaned files."""

from __future__ import annotations

import sqlite3

from memcli.index import fts
from memcli.index.locking import unless_exchanging
from memcli.index.revision_writing import delete_content
from memcli.index.revisions import BUILDING, READY, RevisionInfo, all_revisions, newest_ready
from memcli.index.storage import LEXICON, VECTORS, IndexStorage
from memcli.index.vector_cache import prune_cache
from memcli.sqlite_files import transaction

_DERIVED = (VECTORS, LEXICON)
# Temporary files are `.<name>.<random>.tmp`, and a database among them has sidecars.
_TEMPORARY = tuple(
    f".{name}.*.tmp*"
    for name in (
        "search-index.sqlite",
        "build-holder.json",
        "seen-files.json",
        *(each.format("*") for each in _DERIVED),
    )
)


def discard_leftovers(connection: sqlite3.Connection, storage: IndexStorage) -> None:
    """Remove what an earlier build or swap left when it died; the caller holds the build lock."""
    left = [each for each in all_revisions(connection) if each.status == BUILDING]
    if left:
        with transaction(connection):
            for revision in left:
                _delete(connection, revision)
    with unless_exchanging(storage) as nobody_is:
        if nobody_is:
            fts.drop_beside(connection)
    remove_orphans(connection, storage)


def prune(connection: sqlite3.Connection, storage: IndexStorage) -> list[str]:
    """Delete ready revisions but the head, the previous, the newest and the kept ones.

    Returns their ids.
    """
    # Decided inside the transaction: another process may be swapping the head.
    with transaction(connection):
        newest = newest_ready(connection)
        pruned = [
            each
            for each in all_revisions(connection)
            if each.status == READY
            and not (each.is_head or each.is_previous or each.kept)
            and each != newest
        ]
        for revision in pruned:
            _delete(connection, revision)
        prune_cache(connection, newest.unit_count if newest else 0)
    remove_orphans(connection, storage)
    return [each.revision_id for each in pruned]


def _delete(connection: sqlite3.Connection, revision: RevisionInfo) -> None:
    delete_content(connection, revision.revision_id)
    connection.execute(
        "DELETE FROM search_revisions WHERE revision_id = ?", (revision.revision_id,)
    )


def remove_orphans(connection: sqlite3.Connection, storage: IndexStorage) -> None:
    """Delete derived files whose revision is gone, and temporary files of dead builds."""
    wanted = {
        name.format(each.revision_id) for each in all_revisions(connection) for name in _DERIVED
    }
    for pattern in (each.format("*") for each in _DERIVED):
        for path in storage.directory.glob(pattern):
            if path.name not in wanted:
                path.unlink(missing_ok=True)
    for pattern in _TEMPORARY:
        for path in storage.directory.glob(pattern):
            path.unlink(missing_ok=True)
