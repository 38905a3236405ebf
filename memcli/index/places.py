"""Which files a revision was read from, and the paths it holds; reads only, without numpy."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence

from memcli.index.connection import open_to_read
from memcli.index.faults import reading_faults
from memcli.index.schema import check_version
from memcli.index.storage import IndexStorage

_FILES = """
    SELECT resource_id, file_path FROM search_resources
    WHERE revision_id = coalesce(?, (SELECT head FROM search_heads WHERE slot = 1))
    AND resource_id IN ({})
"""
_HEAD_PATHS = """
    SELECT path, title FROM search_resources
    WHERE revision_id = (SELECT head FROM search_heads WHERE slot = 1)
    AND substr(path, 1, length(?1)) = ?1
    ORDER BY ordinal LIMIT ?2
"""
_MOST_PARAMETERS = 500


def files_of(
    storage: IndexStorage, revision_id: str | None, resource_ids: Sequence[str]
) -> dict[str, str]:
    """File by resource id, as the build found it; ``None`` asks the head.

    What a pruned revision held, and what there is no index for, is left out.
    """
    if not storage.database.exists():
        return {}
    found: dict[str, str] = {}
    with _reading(storage) as connection:
        for at in range(0, len(resource_ids), _MOST_PARAMETERS):
            some = resource_ids[at : at + _MOST_PARAMETERS]
            marks = ", ".join("?" * len(some))
            found.update(connection.execute(_FILES.format(marks), (revision_id, *some)))
    return found


def head_paths(storage: IndexStorage, beginning: str, limit: int) -> list[tuple[str, str]]:
    """Path and title of the head's resources whose path begins so, in their order."""
    if not storage.database.exists():
        return []
    with _reading(storage) as connection:
        return connection.execute(_HEAD_PATHS, (beginning, limit)).fetchall()


@contextlib.contextmanager
def _reading(storage: IndexStorage) -> Iterator[sqlite3.Connection]:
    path = storage.database
    with reading_faults(path), contextlib.closing(open_to_read(path)) as connection:
        check_version(connection)
        yield connection
