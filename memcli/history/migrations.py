"""The ladder of the central store: numbered steps, each one transaction with its own record.

It shares no number and no step with the ladder of a project's index. A step is
frozen once released: it states its tables in its own words and never calls the
current layout. Before the first step the store is copied to
``local.db.backup-<number>-<time>``, while writers are held off.
"""

from __future__ import annotations

import errno
import filecmp
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from memcli.history.clocks import stamp
from memcli.history.damage import backup_copies, damaged, is_of_the_disk
from memcli.history.schema import SCHEMA_VERSION
from memcli.locations import private_file, sync_directory, temporary_beside
from memcli.sqlite_files import connect, user_version

RECORD = "INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Step:
    """One rung: from ``reaches - 1`` to ``reaches``."""

    reaches: int
    name: str
    apply: Callable[[sqlite3.Connection], None]


def share_manifests_and_pin_runs(connection: sqlite3.Connection) -> None:
    """41 to 42: a manifest is stored once per effective hash; Runs gain pins and marks.

    41 held one manifest a Run, knew its process by number alone, let the same
    whole-resource evidence in twice, and kept no fingerprint of the given state.
    """
    from sqlite_utils import Database

    database = Database(connection, execute_plugins=False)
    runs = database.table("retrieval_runs")
    runs.add_column("state_fingerprint", str)
    runs.add_column("process", str)
    runs.add_column("pinned", int, not_null_default=0)
    for column in ("lexical", "removed", "notices"):
        runs.add_column(column, str)
    runs.create_index(["effective_hash"], "retrieval_runs_by_corpus")
    database.table("retrieval_run_candidates").add_column("rerank_truncated", int)

    columns = {
        "ordinal": int,
        "resource_id": str,
        "scope": str,
        "kind": str,
        "path": str,
        "title": str,
        "description": str,
        "resource_hash": str,
        "body_sha256": str,
    }
    connection.execute("ALTER TABLE retrieval_run_resources RENAME TO run_resources_of_41")
    connection.execute("DROP INDEX retrieval_run_resources_by_body")
    shared = database.table("retrieval_run_resources").create(
        {"effective_hash": str, **columns},
        pk=("effective_hash", "ordinal"),
        not_null={"effective_hash", *columns},
        foreign_keys=[("body_sha256", "retrieval_corpus_blobs", "sha256")],
    )
    shared.create_index(["body_sha256"], "retrieval_run_resources_by_body")
    names = ", ".join(columns)
    of_old = ", ".join(f"old.{name}" for name in columns)
    connection.execute(
        f"""
        INSERT INTO retrieval_run_resources (effective_hash, {names})
        SELECT chosen.effective_hash, {of_old}
        FROM (
            SELECT effective_hash, min(run_id) AS run_id
            FROM retrieval_runs
            WHERE status = 'succeeded' AND effective_hash IS NOT NULL
            GROUP BY effective_hash
        ) AS chosen
        JOIN run_resources_of_41 AS old ON old.run_id = chosen.run_id
        """
    )
    connection.execute("DROP TABLE run_resources_of_41")

    connection.execute(
        """
        DELETE FROM evaluation_evidence WHERE rowid NOT IN (
            SELECT min(rowid) FROM evaluation_evidence
            GROUP BY case_id, resource_id, coalesce(unit_key, '')
        )
        """
    )
    connection.execute(
        """
        CREATE UNIQUE INDEX evaluation_evidence_identity
        ON evaluation_evidence (case_id, resource_id, coalesce(unit_key, ''))
        """
    )
    connection.execute(
        "CREATE INDEX retrieval_runs_running ON retrieval_runs (created_at)"
        " WHERE status = 'running'"
    )
    connection.execute(
        "CREATE INDEX retrieval_runs_prunable ON retrieval_runs (project_id, created_at)"
        " WHERE pinned = 0 AND status <> 'running'"
    )
    connection.execute("ALTER TABLE retrieval_runs DROP COLUMN process_id")
    for table in (
        """
    CREATE TABLE retrieval_run_digests (
        run_id TEXT PRIMARY KEY NOT NULL REFERENCES retrieval_runs (run_id) ON DELETE CASCADE,
        run TEXT NOT NULL, trace TEXT NOT NULL)
    """,
        """
    CREATE TABLE retrieval_manifest_digests (
        effective_hash TEXT PRIMARY KEY NOT NULL, digest TEXT NOT NULL)
    """,
        """
    CREATE TABLE evaluation_case_digests (
        case_id TEXT PRIMARY KEY NOT NULL REFERENCES evaluation_cases (case_id) ON DELETE CASCADE,
        digest TEXT NOT NULL)
    """,
    ):
        connection.execute(table)


STEPS = (Step(42, "share manifests, pin runs", share_manifests_and_pin_runs),)


def climb(
    path: Path,
    now: Callable[[], datetime],
    busy_seconds: float,
    steps: tuple[Step, ...] = STEPS,
) -> None:
    """Bring an older store to the current number; the caller holds the store's creation lock.

    Raises:
        Failure: ``store_damaged``, when there is no step from its number or one
            fails. A failed step leaves the store as the step before it left it.
        sqlite3.Error: it cannot be written now; nothing is wrong with it.
    """
    ladder: Mapping[int, Step] = {step.reaches: step for step in steps}
    with closing(connect(path, "rw", busy_seconds)) as connection:
        # Deferred checks would meet half-moved tables; foreign_key_check ends each step.
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("PRAGMA synchronous = FULL")
        is_backed_up, new_copy = False, None
        started_at = user_version(connection)
        while (version := user_version(connection)) < SCHEMA_VERSION:
            step = ladder.get(version + 1)
            if step is None:
                raise damaged(path, f"has layout {version}, which no release can read")
            connection.execute("BEGIN IMMEDIATE")
            try:
                if not is_backed_up:
                    new_copy = _back_up(path, version, now(), busy_seconds)
                    is_backed_up = True
                _take(connection, step, now())
            except BaseException as error:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if new_copy is not None and user_version(connection) == started_at:
                    # The store is what it was: a copy for every failed attempt helps nobody.
                    new_copy.unlink(missing_ok=True)
                if isinstance(error, sqlite3.Error) and not is_of_the_disk(error):
                    what = f"could not be brought from layout {version} to {step.reaches}"
                    raise damaged(path, f"{what}: {error}") from error
                raise
        connection.execute("PRAGMA journal_mode = WAL")


def _take(connection: sqlite3.Connection, step: Step, now: datetime) -> None:
    step.apply(connection)
    if connection.execute("PRAGMA foreign_key_check").fetchone():
        raise sqlite3.IntegrityError("rows refer to rows that do not exist")
    connection.execute(RECORD, (step.reaches, step.name, stamp(now)))
    connection.execute(f"PRAGMA user_version = {step.reaches}")
    connection.execute("COMMIT")


def _back_up(path: Path, version: int, now: datetime, busy_seconds: float) -> Path | None:
    """Copy the store while its write lock is held, under its final name only when complete.

    ``None`` where an attempt that was killed has left the very same copy.
    """
    when = now.astimezone(timezone.utc).strftime("%Y%m%dT%H%M%S.%fZ")
    backup = path.with_name(f"{path.name}.backup-{version}-{when}")
    temporary = private_file(temporary_beside(path))
    try:
        with (
            closing(connect(path, "rw", busy_seconds)) as source,
            closing(connect(temporary, "rw", busy_seconds)) as copy,
        ):
            source.backup(copy)
            # One file without sidecars: a copy is moved about by people.
            (mode,) = copy.execute("PRAGMA journal_mode = DELETE").fetchone()
            if mode != "delete":
                # SQLite reports no error here, a full disk's neither.
                raise OSError(errno.EIO, "the copy made first could not be finished")
        if any(filecmp.cmp(temporary, each, shallow=False) for each in backup_copies(path.parent)):
            temporary.unlink()
            return None
        temporary.replace(backup)
        sync_directory(path.parent)
    except BaseException:
        for unfinished in (temporary, backup):
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
        raise
    return backup
