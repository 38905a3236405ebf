"""What the central store holds and whether it is whole, for ``status`` and ``doctor``."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from memcli.errors import MemcliError
from memcli.history.blobs import BlobStore
from memcli.history.case_digests import damaged_cases
from memcli.history.damage import (
    backup_copies,
    damaged,
    reporting_faults,
    require_sound_file,
    too_new,
)
from memcli.history.digests import damaged_records
from memcli.history.schema import SCHEMA_VERSION
from memcli.history.store import HistoryStore
from memcli.sqlite_files import connect, snapshot, user_version

COUNTS = """
SELECT (SELECT count(*) FROM projects) AS projects,
    (SELECT count(*) FROM retrieval_runs) AS runs,
    (SELECT count(*) FROM evaluation_cases) AS cases,
    (SELECT count(*) FROM retrieval_corpus_blobs) AS bodies,
    (SELECT coalesce(sum(length), 0) FROM retrieval_corpus_blobs) AS body_bytes
"""


@dataclass(frozen=True, slots=True)
class StoreReport:
    """The state of the store; ``layout`` is ``None`` where there is none yet.

    ``problems`` are sentences, empty for a sound store; ``lost_bodies`` are those
    of them about bodies that are missing or damaged. ``bytes`` is the database
    file, ``body_bytes`` the sum of all bodies it names.
    """

    path: Path
    layout: int | None
    bytes: int
    projects: int
    runs: int
    cases: int
    bodies: int
    body_bytes: int
    backups: tuple[str, ...]
    problems: tuple[str, ...]
    lost_bodies: tuple[str, ...] = ()


def inspect_store(
    store: HistoryStore, *, thorough: bool = False, untouched: bool = False
) -> StoreReport:
    """Count what is there; ``thorough`` checks every page, reference and body.

    A damaged store is reported in ``problems``, not raised. ``untouched``
    neither migrates an older store, of which only the layout is told then, nor
    leaves SQLite's ``-wal`` and ``-shm`` beside one that had none.
    """
    layout: int | None = None
    numbers: dict[str, int] = dict.fromkeys(
        ("projects", "runs", "cases", "bodies", "body_bytes"), 0
    )
    problems: list[str] = []
    lost_bodies: list[str] = []
    try:
        with _untouched(store) if untouched else store.reading() as connection:
            layout = None if connection is None else user_version(connection)
            if connection is not None and layout == SCHEMA_VERSION:
                numbers = dict(connection.execute(COUNTS).fetchone())
                if thorough:
                    problems += _faults(connection)
                    lost_bodies = _missing_bodies(connection, store.blobs)
                    # Of one moment: what is being written meanwhile is not damaged.
                    with snapshot(connection):
                        problems += damaged_records(connection)
                        problems += (f"case {it} is damaged" for it in damaged_cases(connection))
    except MemcliError as error:
        problems.append(error.message)
    return StoreReport(
        path=store.path,
        layout=layout,
        bytes=store.path.stat().st_size if store.path.exists() else 0,
        backups=tuple(path.name for path in backup_copies(store.home)),
        problems=(*problems, *lost_bodies),
        lost_bodies=tuple(lost_bodies),
        **numbers,
    )


@contextmanager
def _untouched(store: HistoryStore) -> Iterator[sqlite3.Connection | None]:
    with reporting_faults(store.path):
        if not require_sound_file(store.path):
            yield None
            return
        log = store.path.with_name(f"{store.path.name}-wal")
        has_log = log.exists() and log.stat().st_size > 0
        connection = connect(store.path, "ro", store.lock_wait_seconds, immutable=not has_log)
        connection.row_factory = sqlite3.Row
        with closing(connection):
            if (version := user_version(connection)) == 0:
                raise damaged(store.path, "is an SQLite database, but none that memcli made")
            if version > SCHEMA_VERSION:
                raise too_new(store.path, version, SCHEMA_VERSION)
            yield connection


def _faults(connection: sqlite3.Connection) -> list[str]:
    found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
    dangling = connection.execute("PRAGMA foreign_key_check").fetchall()
    if dangling:
        found.append(f"{len(dangling)} rows refer to rows that do not exist")
    return [fault for fault in found if fault != "ok"]


def _missing_bodies(connection: sqlite3.Connection, blobs: BlobStore) -> list[str]:
    found = []
    for (sha256,) in connection.execute("SELECT sha256 FROM retrieval_corpus_blobs"):
        try:
            blobs.read(sha256)
        except MemcliError as error:
            found.append(error.message)
    return found
