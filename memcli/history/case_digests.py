"""Digests of Cases: what a report scores is what was confirmed, or it is left out."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from memcli.history.digests import DamagedRecord, digest_of, ensure_digests, has_digests

ROW = """
SELECT case_id, run_id, project_id, query, corpus_hash, status, version, created_at, updated_at,
    (SELECT effective_hash FROM evaluation_corpora AS one WHERE one.corpus_hash = it.corpus_hash)
FROM evaluation_cases AS it WHERE case_id = ?
"""
EVIDENCE = """
SELECT case_id, resource_id, unit_key FROM evaluation_evidence WHERE case_id = ?
ORDER BY resource_id, unit_key
"""
KEEP = "INSERT OR REPLACE INTO evaluation_case_digests VALUES (?, ?)"
KEPT = "SELECT digest FROM evaluation_case_digests WHERE case_id = ?"
SEALED = "SELECT case_id FROM evaluation_case_digests"


def seal_case(connection: sqlite3.Connection, case_id: str) -> None:
    """Keep the digest of a Case as it is now, inside the caller's transaction."""
    ensure_digests(connection)
    connection.execute(KEEP, (case_id, _digest(connection, case_id)))


def is_whole_case(connection: sqlite3.Connection, case_id: str) -> bool:
    """Whether row and evidence are what was last confirmed, as far as there is a digest."""
    if not has_digests(connection):
        return True
    kept = connection.execute(KEPT, (case_id,)).fetchone()
    return kept is None or kept[0] == _digest(connection, case_id)


def require_whole_case(connection: sqlite3.Connection, case_id: str) -> None:
    """Raise ``store_damaged`` for a Case that is not whole."""
    if not is_whole_case(connection, case_id):
        raise damaged_case(case_id, "it is not what was confirmed")


def damaged_cases(connection: sqlite3.Connection) -> list[str]:
    """Every Case that is not whole, or is gone."""
    if not has_digests(connection):
        return []
    sealed = [row[0] for row in connection.execute(SEALED)]
    return [case_id for case_id in sealed if not is_whole_case(connection, case_id)]


def damaged_case(case_id: str, what: str) -> DamagedRecord:
    return DamagedRecord(
        "store_damaged",
        f"case {case_id} is damaged: {what}",
        "Everything else can be used. Restore a copy of the store, or remove the case "
        f"(`memcli case delete {case_id}`) and make it again of its run.",
    )


def _digest(connection: sqlite3.Connection, case_id: str) -> str:
    cursor = connection.cursor()
    cursor.row_factory = None  # tuples, whatever the connection makes
    rows: list[Sequence[Any]] = cursor.execute(ROW, (case_id,)).fetchall()
    return digest_of([*rows, *cursor.execute(EVIDENCE, (case_id,))])
