"""Takes Runs out of history for good, with every body that nothing else needs.

``clear``, ``runs delete`` and ``forget`` exist because a note or a query may
hold a secret: deleted rows are overwritten (``secure_delete``) and the journal
is emptied. How bodies are collected safely is told in :mod:`memcli.history.blobs`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from memcli.errors import Conflict, Failure, InvalidInput
from memcli.history.damage import backup_copies, require_sound_file
from memcli.history.deletion import clearable_runs, delete_runs, delete_unnamed_rows
from memcli.history.interruption import settle_interrupted
from memcli.history.runs import find_run, run_not_found
from memcli.history.store import HistoryStore
from memcli.sqlite_files import transaction

CASE_OF_RUN = "SELECT case_id FROM evaluation_cases WHERE run_id = ?"
STATUS_OF_RUN = "SELECT status FROM retrieval_runs WHERE run_id = ?"
RUNS_OF_PROJECT = "SELECT run_id FROM retrieval_runs WHERE project_id = ?"
CASES_OF_PROJECT = "SELECT case_id FROM evaluation_cases WHERE project_id = ?"
DELETE_EVIDENCE_OF_PROJECT = f"""
DELETE FROM evaluation_evidence WHERE case_id IN ({CASES_OF_PROJECT})
"""
DELETE_CASES_OF_PROJECT = "DELETE FROM evaluation_cases WHERE project_id = ?"
DELETE_PROJECT = "DELETE FROM projects WHERE project_id = ?"
NAMED_BODIES = "SELECT sha256 FROM retrieval_corpus_blobs"
JOURNAL_WAIT_MS = 500


@dataclass(frozen=True, slots=True)
class ClearSummary:
    """What was deleted, or would be for ``dry_run``.

    ``bytes`` counts the bodies' files. ``backups`` names copies of the store
    from before a migration, which may still hold what was deleted here.
    """

    project_id: str | None
    runs: int
    cases: int
    blobs: int
    bytes: int
    dry_run: bool
    backups: tuple[str, ...]


def clear_runs(
    store: HistoryStore, *, project_id: str | None, dry_run: bool = False
) -> ClearSummary:
    """Delete ended, unpinned Runs of one project (``None``: of all) and every unneeded body.

    Bodies are collected for all projects, whichever was cleared, for they are shared.

    Raises:
        Conflict: ``busy``. Failure: ``store_damaged``, ``store_too_new``.
    """

    def delete(connection: sqlite3.Connection) -> tuple[int, int]:
        run_ids = clearable_runs(connection, project_id)
        delete_runs(connection, run_ids)
        return len(run_ids), 0

    if not require_sound_file(store.path):
        return ClearSummary(project_id, 0, 0, 0, 0, dry_run, ())
    return delete_and_collect(store, project_id, delete, dry_run=dry_run)


def delete_run(
    store: HistoryStore, reference: str, *, project_id: str, dry_run: bool = False
) -> ClearSummary:
    """Delete one Run, pinned by hand or not, and every body that nothing needs then.

    Raises:
        Failure: ``run_not_found``. Conflict: ``evaluation_case_conflict`` for
            the source of a Case, ``busy`` for a Run whose process lives.
    """

    def delete(connection: sqlite3.Connection) -> tuple[int, int]:
        run_id = find_run(connection, reference, project_id)
        refuse_source_of_case(connection, run_id, "cannot be deleted")
        if connection.execute(STATUS_OF_RUN, (run_id,)).fetchone()[0] == "running":
            raise Conflict("busy", f"run {run_id} is still running", "Delete it when it has ended.")
        delete_runs(connection, [run_id])
        return 1, 0

    if not require_sound_file(store.path):
        raise run_not_found(reference, "there are no runs yet")
    return delete_and_collect(store, project_id, delete, dry_run=dry_run)


def forget_project(store: HistoryStore, project_id: str, *, dry_run: bool = False) -> ClearSummary:
    """Delete a project with all its Runs, running ones too, its Cases and its registry entry.

    An activation at work meanwhile still answers; its Run is gone.

    Raises:
        InvalidInput: ``project_not_found``, when nothing is stored under that id.
    """

    def delete(connection: sqlite3.Connection) -> tuple[int, int]:
        key = (project_id,)
        run_ids = [row[0] for row in connection.execute(RUNS_OF_PROJECT, key)]
        connection.execute(DELETE_EVIDENCE_OF_PROJECT, key)
        cases = connection.execute(DELETE_CASES_OF_PROJECT, key).rowcount
        delete_runs(connection, run_ids)
        known = connection.execute(DELETE_PROJECT, key).rowcount
        if not (run_ids or cases or known):
            raise _unknown_project(project_id)
        return len(run_ids), cases

    if not require_sound_file(store.path):
        raise _unknown_project(project_id)
    return delete_and_collect(store, project_id, delete, dry_run=dry_run)


def refuse_source_of_case(connection: sqlite3.Connection, run_id: str, what: str) -> None:
    """Raise ``evaluation_case_conflict`` when a Case was made of this Run."""
    row = connection.execute(CASE_OF_RUN, (run_id,)).fetchone()
    if row is not None:
        raise Conflict(
            "evaluation_case_conflict",
            f"run {run_id} {what}: evaluation case {row[0]} was made of it",
            f"`memcli case delete {row[0]}` first.",
        )


def delete_and_collect(
    store: HistoryStore,
    project_id: str | None,
    delete: Callable[[sqlite3.Connection], tuple[int, int]],
    *,
    dry_run: bool = False,
) -> ClearSummary:
    """Step 2 of the protocol: rows in one transaction, then the files that no row names.

    ``delete`` deletes rows in that transaction and returns how many Runs and
    Cases; manifests, corpora and bodies that nothing names then go with them.
    """
    backups = tuple(path.name for path in backup_copies(store.home))
    try:
        runs, cases, files = _delete_rows_then_files(store, delete, dry_run)
    except OSError as error:
        raise Failure(
            "history_write_failed",
            f"the history in {store.home} cannot be cleared: {error}",
            "What was left over is removed by the next `memcli clear`.",
        ) from error
    size = sum(length for _, length in files)
    return ClearSummary(project_id, runs, cases, len(files), size, dry_run, backups)


def _delete_rows_then_files(
    store: HistoryStore, delete: Callable[[sqlite3.Connection], tuple[int, int]], dry_run: bool
) -> tuple[int, int, list[tuple[Path, int]]]:
    blobs = store.blobs
    with blobs.lock(shared=False), store.writing() as connection:
        connection.execute("PRAGMA secure_delete = ON")
        with _transaction_or_trial(connection, dry_run):
            settle_interrupted(connection, store.now())
            runs, cases = delete(connection)
            delete_unnamed_rows(connection)
            files = list(blobs.unnamed(row[0] for row in connection.execute(NAMED_BODIES)))
        if not dry_run:
            blobs.unlink(path for path, _ in files)
            _empty_journal(connection)
    return runs, cases, files


class _TrialEnds(Exception):
    """Rolls a trial back."""


@contextmanager
def _transaction_or_trial(connection: sqlite3.Connection, trial: bool) -> Iterator[None]:
    """A trial does all the same and rolls back, so that it tells exactly what would happen."""
    with suppress(_TrialEnds), transaction(connection):
        yield
        if trial:
            raise _TrialEnds


def _empty_journal(connection: sqlite3.Connection) -> None:
    """Move the journal into the store and cut it; readers at work only put that off."""
    connection.execute(f"PRAGMA busy_timeout = {JOURNAL_WAIT_MS}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _unknown_project(project_id: str) -> InvalidInput:
    return InvalidInput(
        "project_not_found",
        f"nothing is stored under the project id {project_id!r}",
        "`memcli runs list --all-projects` names the projects with history.",
    )
