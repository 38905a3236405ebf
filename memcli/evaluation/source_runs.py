"""Reads the source Run of a Case: what a report and a fixture need of it."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from memcli.evaluation.frozen import SourceRun

SOURCE_RUN = """
SELECT run_id, chain, created_at, completed_at, revision_id, effective_hash, recipe, models,
    limits, timings_us, lexical, resource_count, unit_count, candidate_count, reranked_count,
    fragment_count, token_count
FROM retrieval_runs WHERE run_id = ? AND status = 'succeeded'
"""
HAS_SOURCE_RUN = "SELECT 1 FROM retrieval_runs WHERE run_id = ? AND status = 'succeeded'"
COUNTS = {
    "resources": "resource_count",
    "units": "unit_count",
    "candidates": "candidate_count",
    "reranked": "reranked_count",
    "fragments": "fragment_count",
    "tokens": "token_count",
}


def has_source_run(connection: sqlite3.Connection, run_id: str) -> bool:
    """Whether :func:`read_source_run` would find it."""
    return connection.execute(HAS_SOURCE_RUN, (run_id,)).fetchone() is not None


def read_source_run(connection: sqlite3.Connection, run_id: str) -> SourceRun | None:
    """The succeeded Run, or ``None`` where it is gone; no path, host or tool version is in it."""
    row = connection.execute(SOURCE_RUN, (run_id,)).fetchone()
    if row is None:
        return None
    lexical = _parsed(row["lexical"])
    return SourceRun(
        run_id=row["run_id"],
        chain=row["chain"],
        created_at=row["created_at"],
        completed_at=row["completed_at"],
        revision_id=row["revision_id"],
        effective_hash=row["effective_hash"],
        recipe=_parsed(row["recipe"]),
        models=_parsed(row["models"]),
        counts={name: row[column] for name, column in COUNTS.items()},
        limits=_parsed(row["limits"]),
        timings_us=_parsed(row["timings_us"]),
        lexical_terms=tuple(lexical.get("terms", ())),
        lexical_skipped=tuple(lexical.get("skipped", ())),
    )


def _parsed(text: str | None) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text) if text else {}
    return document
