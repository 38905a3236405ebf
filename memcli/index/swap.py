"""Move the head, mark revisions, list them: what ``head`` commands call."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from memcli.errors import InvalidInput, NotReady
from memcli.index.connection import open_to_read, open_to_write, transaction
from memcli.index.faults import storage_faults
from memcli.index.revisions import (
    READY,
    HeadInfo,
    RevisionInfo,
    all_revisions,
    find_revision,
    move_head,
    named_revision,
    newest_ready,
    read_head,
)
from memcli.index.schema import check_version
from memcli.index.storage import IndexStorage


@dataclass(frozen=True, slots=True)
class HeadChange:
    """The head after a swap; ``moved`` is false when it was there already."""

    head: str
    previous: str | None
    moved: bool


def swap_head(
    storage: IndexStorage,
    revision: str | None,
    previous: bool,
    now: Callable[[], datetime],
) -> HeadChange:
    """Move the head to ``revision`` (an id or unique prefix), the previous, or the newest ready.

    Raises ``Failure`` ``revision_not_found``, ``NotReady`` ``index_not_ready``
    (nothing ready, no previous, or the revision is not ready), ``InvalidInput``
    ``usage`` for both a revision and ``previous``.
    """
    if revision is not None and previous:
        raise InvalidInput("usage", "name a revision or ask for the previous one, not both")
    with _open(storage, write=True) as connection, transaction(connection):
        current = read_head(connection)
        target = _target(connection, revision, previous, current)
        if target.revision_id == current.head:
            return HeadChange(target.revision_id, current.previous, moved=False)
        changed = move_head(connection, target.revision_id, now().isoformat())
        return HeadChange(target.revision_id, changed.previous, moved=True)


def _target(
    connection: sqlite3.Connection, revision: str | None, previous: bool, current: HeadInfo
) -> RevisionInfo:
    if revision is not None:
        target = named_revision(connection, revision)
    elif previous:
        found = find_revision(connection, current.previous) if current.previous else None
        if found is None:
            raise NotReady(
                "index_not_ready", "the head has no previous revision", "See `memcli index list`."
            )
        target = found
    else:
        newest = newest_ready(connection)
        if newest is None:
            raise NotReady(
                "index_not_ready", "no revision is ready", "Run `memcli index build` first."
            )
        target = newest
    if target.status != READY:
        reason = f": {target.error}" if target.error else ""
        raise NotReady(
            "index_not_ready",
            f"revision {target.revision_id} is {target.status}{reason}",
            "Only a ready revision can be the head.",
        )
    return target


def keep_revision(storage: IndexStorage, revision: str, keep: bool) -> RevisionInfo:
    """Mark a revision so that builds never prune it, or unmark it."""
    with _open(storage, write=True) as connection, transaction(connection):
        named = named_revision(connection, revision)
        connection.execute(
            "UPDATE search_revisions SET kept = ? WHERE revision_id = ?",
            (int(keep), named.revision_id),
        )
        found = find_revision(connection, named.revision_id)
        assert found is not None
        return found


def list_revisions(storage: IndexStorage) -> list[RevisionInfo]:
    """Every revision, oldest first; empty without an index."""
    if not storage.database.exists():
        return []
    with _open(storage) as connection:
        return all_revisions(connection)


def head_info(storage: IndexStorage) -> HeadInfo:
    """The head, with empty fields where there is none."""
    if not storage.database.exists():
        return HeadInfo(None, None, None)
    with _open(storage) as connection:
        return read_head(connection)


@contextlib.contextmanager
def _open(storage: IndexStorage, write: bool = False) -> Iterator[sqlite3.Connection]:
    if not storage.database.exists():
        raise NotReady("index_not_ready", "there is no index yet", "Run `memcli index build`.")
    with storage_faults(storage.database):
        opener = open_to_write if write else open_to_read
        with contextlib.closing(opener(storage.database)) as connection:
            check_version(connection)
            yield connection
