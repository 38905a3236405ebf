"""Deletes Runs with all their rows, and what no Run or Case names afterwards."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from memcli.history.digests import ensure_digests

RETAINED_RUNS = 500

# Newest first past the limit: ended, unpinned by hand, and the source of no Case.
OVER_THE_LIMIT = """
SELECT run_id, effective_hash FROM retrieval_runs AS run
WHERE project_id = ? AND pinned = 0 AND status <> 'running' AND run_id <> ?
AND NOT EXISTS (SELECT 1 FROM evaluation_cases WHERE evaluation_cases.run_id = run.run_id)
ORDER BY created_at DESC, rowid DESC LIMIT -1 OFFSET ?
"""
FORGET_MANIFEST_OF_NO_RUN = """
DELETE FROM retrieval_run_resources
WHERE effective_hash = ?1 AND NOT EXISTS (
    SELECT 1 FROM retrieval_runs NOT INDEXED
    WHERE effective_hash = ?1 AND status = 'succeeded'
)
"""
FORGET_DIGEST = "DELETE FROM retrieval_manifest_digests WHERE effective_hash = ?"
SOURCES_OF_CASES = "SELECT run_id FROM evaluation_cases NOT INDEXED"
CLEARABLE = """
SELECT run_id FROM retrieval_runs AS run
WHERE pinned = 0 AND status <> 'running' AND (?1 IS NULL OR project_id = ?1)
AND NOT EXISTS (SELECT 1 FROM evaluation_cases WHERE evaluation_cases.run_id = run.run_id)
"""
UNNAMED_ROWS = (
    """
    DELETE FROM retrieval_run_resources WHERE effective_hash NOT IN (
        SELECT effective_hash FROM retrieval_runs NOT INDEXED
        WHERE status = 'succeeded' AND effective_hash IS NOT NULL
    )
    """,
    """
    DELETE FROM retrieval_manifest_digests WHERE effective_hash NOT IN (
        SELECT effective_hash FROM retrieval_run_resources NOT INDEXED
    )
    """,
    """
    DELETE FROM evaluation_corpus_resources WHERE corpus_hash NOT IN (
        SELECT corpus_hash FROM evaluation_cases NOT INDEXED
    )
    """,
    """
    DELETE FROM evaluation_corpora WHERE corpus_hash NOT IN (
        SELECT corpus_hash FROM evaluation_cases NOT INDEXED
    )
    """,
    """
    DELETE FROM retrieval_corpus_blobs WHERE sha256 NOT IN (
        SELECT body_sha256 FROM retrieval_run_resources NOT INDEXED
        UNION SELECT body_sha256 FROM evaluation_corpus_resources NOT INDEXED
    )
    """,
)


def delete_runs(connection: sqlite3.Connection, run_ids: Iterable[str]) -> None:
    """Delete Runs and their candidates, inside the caller's transaction.

    One that a Case names stays, also where a damaged index has told the caller
    of none: what is deleted for good is looked up in the tables themselves.
    """
    named = {row[0] for row in connection.execute(SOURCES_OF_CASES)}
    keys = [(run_id,) for run_id in run_ids if run_id not in named]
    connection.executemany("DELETE FROM retrieval_run_candidates WHERE run_id = ?", keys)
    connection.executemany("DELETE FROM retrieval_runs WHERE run_id = ?", keys)


def prune(connection: sqlite3.Connection, project_id: str, just_ended: str) -> None:
    """Keep the newest 500 ended, unpinned Runs of a project; part of recording ``just_ended``.

    ``just_ended`` is among them and stays even when the clock went back. Manifests
    go with their last Run; bodies stay for ``clear`` to collect.
    """
    over = connection.execute(
        OVER_THE_LIMIT, (project_id, just_ended, RETAINED_RUNS - 1)
    ).fetchall()
    if not over:
        return
    delete_runs(connection, [run_id for run_id, _ in over])
    for effective_hash in {effective_hash for _, effective_hash in over if effective_hash}:
        if connection.execute(FORGET_MANIFEST_OF_NO_RUN, (effective_hash,)).rowcount:
            connection.execute(FORGET_DIGEST, (effective_hash,))


def clearable_runs(connection: sqlite3.Connection, project_id: str | None) -> list[str]:
    """Ended Runs without pin and Case, of one project or of all."""
    return [row[0] for row in connection.execute(CLEARABLE, (project_id,))]


def delete_unnamed_rows(connection: sqlite3.Connection) -> None:
    """Delete manifests, corpora and blob rows that nothing names any more."""
    ensure_digests(connection)
    for statement in UNNAMED_ROWS:
        connection.execute(statement)
