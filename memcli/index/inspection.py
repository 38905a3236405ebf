"""Whether the index is whole, for ``doctor``: looks at everything, writes and creates nothing."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memcli.errors import MemcliError
from memcli.index import fts, fts_digests
from memcli.index.connection import BUSY_SECONDS
from memcli.index.faults import reading_faults
from memcli.index.lexicon import read_lexicon
from memcli.index.resource_names import read_names
from memcli.index.revisions import BUILDING, READY, RevisionInfo, all_revisions, read_head
from memcli.index.row_digests import damaged_rows, define_digests
from memcli.index.schema import check_version
from memcli.index.storage import IndexStorage, with_sidecars
from memcli.index.token_store import STORE_VERSION
from memcli.index.vectors import read_vectors
from memcli.index.verification import missing_rows, page_faults
from memcli.sqlite_files import connect, user_version

_MOST_FAULTS = 5
_TRIGRAMS = (
    "CREATE VIRTUAL TABLE probe USING fts5(text, tokenize='trigram case_sensitive 0')",
    "INSERT INTO probe VALUES ('the memory of harbours')",
)


@dataclass(frozen=True, slots=True)
class IndexCondition:
    """``schema`` is ``None`` where there is no index.

    ``faults`` are a file that is damaged, ``gaps`` rows that are missing from a
    sound one: both make answers wrong or impossible. ``remarks`` cost time or
    space. All are sentences, empty for a sound index.
    """

    schema: int | None
    head: RevisionInfo | None
    revisions: int
    ready: int = 0
    faults: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def trigram_fault() -> str | None:
    """What keeps this SQLite from searching substrings, or ``None``; tried in memory."""
    try:
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            for statement in _TRIGRAMS:
                connection.execute(statement)
            query = "SELECT count(*) FROM probe WHERE probe MATCH '\"EMOR\"'"
            if connection.execute(query).fetchone() != (1,):
                return "a substring is not found"
    except sqlite3.Error as error:
        return str(error)
    return None


def inspect_index(storage: IndexStorage, *, building: bool) -> IndexCondition:
    """Check pages, counts, the head and what is derived from it.

    ``building`` tells that a build is running: its unfinished revision is no
    fault then.
    """
    if not storage.database.exists():
        return IndexCondition(None, None, 0)
    try:
        found = _inspected(storage, building)
        if found.faults or found.gaps:
            # A process that began to write meanwhile can look like damage, but not twice.
            found = _inspected(storage, building)
    except MemcliError as error:
        return IndexCondition(_schema(storage.database), None, 0, faults=(error.message,))
    return found


def _inspected(storage: IndexStorage, building: bool) -> IndexCondition:
    gaps: list[str] = []
    remarks: list[str] = []
    with _reading(storage.database) as connection:
        check_version(connection)
        faults = [*page_faults(connection, _MOST_FAULTS), *damaged_rows(connection)]
        revisions = all_revisions(connection)
        pointer = read_head(connection).head
        head = next((each for each in revisions if each.revision_id == pointer), None)
        if head is not None:
            gaps += _head_gaps(connection, head)
        elif pointer is not None:
            gaps.append(f"the head {pointer} is no revision of this index")
        unfinished = [each.revision_id for each in revisions if each.status == BUILDING]
        if unfinished and not building:
            remarks.append(f"a build was cut short and left {', '.join(unfinished)}")
        version = user_version(connection)
    if head is not None and head.status == READY:
        remarks += _derived_remarks(storage, head)
    remarks += _token_store_remarks(storage.token_vectors)
    ready = sum(each.status == READY for each in revisions)
    return IndexCondition(
        version, head, len(revisions), ready, tuple(faults), tuple(gaps), tuple(remarks)
    )


def _head_gaps(connection: sqlite3.Connection, head: RevisionInfo) -> Iterator[str]:
    if head.status != READY:
        yield f"the head {head.revision_id} is {head.status}"
    for fault in missing_rows(connection, head):
        yield f"of the head, {fault}"
    if not fts.holds(connection, head.revision_id, head.unit_count):
        yield f"the full-text table does not hold the head {head.revision_id}"
    elif fts_digests.are_noted(connection) and not fts_digests.hold(connection):
        yield "the full-text table is not what was written"


def _derived_remarks(storage: IndexStorage, head: RevisionInfo) -> Iterator[str]:
    """Derived files are made again from the index, by a reader too: slower, never wrong."""
    vectors, lexicon = storage.vectors(head.revision_id), storage.lexicon(head.revision_id)
    matrix = read_vectors(storage, head.revision_id, head.unit_count, head.dimension)
    if matrix is None or read_names(storage, head.revision_id) is None:
        yield f"{vectors.name} is {'damaged' if vectors.exists() else 'missing'}"
    # A revision may have no lexicon, where FTS5 answers instead.
    if (
        lexicon.exists()
        and read_lexicon(storage, head.revision_id, head.unit_count, all_of_it=True) is None
    ):
        yield f"{lexicon.name} is damaged"


def _token_store_remarks(path: Path) -> Iterator[str]:
    if not path.exists():
        return
    try:
        with _reading(path) as connection:
            if (version := user_version(connection)) != STORE_VERSION:
                yield f"{path.name} has version {version} instead of {STORE_VERSION}"
            elif faults := list(page_faults(connection, _MOST_FAULTS)):
                yield f"{path.name} is damaged: {faults[0]}"
    except MemcliError as error:
        yield f"{path.name}: {error.message}"


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that leaves no ``-wal`` and ``-shm`` behind.

    To read a WAL database SQLite creates both. Without a log there is nothing
    in them, and the file can be read as one that nobody changes.
    """
    log = with_sidecars(path)[1]
    has_log = log.exists() and log.stat().st_size > 0
    with reading_faults(path):
        connection = connect(path, "ro", BUSY_SECONDS, immutable=not has_log)
        with contextlib.closing(connection):
            connection.execute("PRAGMA query_only = ON")
            define_digests(connection)
            yield connection


def _schema(path: Path) -> int | None:
    try:
        with _reading(path) as connection:
            return user_version(connection)
    except MemcliError:
        return None
