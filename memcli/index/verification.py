"""Whether the database of the index is what builds wrote: every page, row, count and body."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from memcli.index.faults import index_damaged
from memcli.index.revisions import READY, RevisionInfo, all_revisions
from memcli.index.row_digests import damaged_rows

_UNITS = "SELECT count(*), count(vector) FROM search_units NOT INDEXED WHERE revision_id = ?"
_RESOURCES = "SELECT count(*) FROM search_resources NOT INDEXED WHERE revision_id = ?"


def require_whole(connection: sqlite3.Connection) -> None:
    """Raise ``index_damaged`` with the first thing that is wrong; reads the whole database.

    The full-text table is left to ``fts_digests``: it alone can be made anew.
    """
    for fault in page_faults(connection, 1):
        raise index_damaged(fault)
    for fault in damaged_rows(connection):
        raise index_damaged(fault)
    for revision in all_revisions(connection):
        for fault in missing_rows(connection, revision):
            raise index_damaged(fault)


def page_faults(connection: sqlite3.Connection, most: int) -> Iterator[str]:
    """What SQLite finds: pages, and entries of its indexes that are no longer those of the rows."""
    for (verdict,) in connection.execute(f"PRAGMA integrity_check({most})"):
        if verdict != "ok":
            yield str(verdict)


def missing_rows(connection: sqlite3.Connection, revision: RevisionInfo) -> Iterator[str]:
    """What a ready revision lacks of what its own row promises, in phrases."""
    if revision.status != READY:
        return
    name = revision.revision_id
    units, vectors = connection.execute(_UNITS, (name,)).fetchone()
    if units != revision.unit_count:
        yield f"revision {name} has {units} of its {revision.unit_count} units"
    if vectors != units:
        yield f"revision {name} has {units - vectors} units without a vector"
    (resources,) = connection.execute(_RESOURCES, (name,)).fetchone()
    if resources != revision.resource_count:
        yield f"revision {name} has {resources} of its {revision.resource_count} resources"
