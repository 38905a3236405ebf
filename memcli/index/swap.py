"""Move the head, mark revisions, list them: what ``head`` commands call."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from memcli.errors import InvalidInput, NotReady
from memcli.index import fts, fts_digests
from memcli.index.connection import open_to_read, open_to_write
from memcli.index.faults import storage_faults
from memcli.index.locking import exchange_lock
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
    set_kept,
)
from memcli.index.schema import check_version
from memcli.index.storage import IndexStorage
from memcli.sqlite_files import transaction


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
    with _open(storage, write=True) as connection:
        aimed = _target(connection, revision, previous, read_head(connection))
        anew = not fts_digests.hold(connection)
        with (
            rows_beside(connection, storage, aimed.revision_id, anew=anew),
            transaction(connection),
        ):
            # Somebody else may have moved the head or pruned a revision meanwhile.
            current = read_head(connection)
            target = _target(connection, revision, previous, current)
            if target.revision_id == current.head:
                return HeadChange(target.revision_id, current.previous, moved=False)
            changed = move_head(connection, target.revision_id, now().isoformat(), anew=anew)
            return HeadChange(target.revision_id, changed.previous, moved=True)


@contextlib.contextmanager
def rows_beside(
    connection: sqlite3.Connection,
    storage: IndexStorage,
    revision_id: str,
    told: fts.Told = lambda done, total: None,
    anew: bool = False,
) -> Iterator[None]:
    """Around ``move_head``, outside its transaction: whatever of its work would take long.

    Other writers then wait for moments, not for all the rows to be tokenised.
    ``told`` may raise, which stops it. When the transaction has ended well, the
    digests of the rows are noted.
    """
    if fts.is_much(connection, read_head(connection).head, revision_id, anew):
        with _put_beside(connection, storage, revision_id, told):
            yield
    else:
        yield
    fts_digests.note(connection)


@contextlib.contextmanager
def _put_beside(
    connection: sqlite3.Connection, storage: IndexStorage, revision_id: str, told: fts.Told
) -> Iterator[None]:
    with exchange_lock(storage, lambda: told(0, 0)):
        try:
            fts.put_beside(connection, revision_id, told)
            yield
        finally:
            # Taken by now, unless the head went elsewhere or something failed. What cannot
            # be removed any more, the next build removes.
            with contextlib.suppress(sqlite3.Error):
                fts.drop_beside(connection)


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
        set_kept(connection, named.revision_id, keep)
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
