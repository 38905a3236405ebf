"""The layout of ``local.db``, number 42: its tables and indexes, and how they are created."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

SCHEMA_VERSION = 42

# One row of evidence may name a unit or a whole resource; NULLs are distinct to
# a unique index, hence the expression. sqlite-utils makes neither expression
# nor partial indexes, so these are plain SQL.
EVIDENCE_IS_UNIQUE = """
CREATE UNIQUE INDEX evaluation_evidence_identity
ON evaluation_evidence (case_id, resource_id, coalesce(unit_key, ''))
"""
RUNNING_RUNS = """
CREATE INDEX retrieval_runs_running ON retrieval_runs (created_at) WHERE status = 'running'
"""
# Retention walks this index from its newest end; see deletion.py.
PRUNABLE_RUNS = """
CREATE INDEX retrieval_runs_prunable ON retrieval_runs (project_id, created_at)
WHERE pinned = 0 AND status <> 'running'
"""
# What they are for is told in digests.py, which makes them in a store that lacks them.
DIGESTS = (
    """
    CREATE TABLE IF NOT EXISTS retrieval_run_digests (
        run_id TEXT PRIMARY KEY NOT NULL REFERENCES retrieval_runs (run_id) ON DELETE CASCADE,
        run TEXT NOT NULL, trace TEXT NOT NULL)
    """,
    """
    CREATE TABLE IF NOT EXISTS retrieval_manifest_digests (
        effective_hash TEXT PRIMARY KEY NOT NULL, digest TEXT NOT NULL)
    """,
    """
    CREATE TABLE IF NOT EXISTS evaluation_case_digests (
        case_id TEXT PRIMARY KEY NOT NULL REFERENCES evaluation_cases (case_id) ON DELETE CASCADE,
        digest TEXT NOT NULL)
    """,
)


def create_layout(connection: sqlite3.Connection) -> None:
    """Create every table of layout 42 in an empty database, inside the caller's transaction."""
    from sqlite_utils import Database

    database = Database(connection, execute_plugins=False)
    _create_records(database)
    _create_runs(database)
    _create_corpora(database)
    _create_cases(database)
    for statement in (EVIDENCE_IS_UNIQUE, RUNNING_RUNS, PRUNABLE_RUNS, *DIGESTS):
        connection.execute(statement)


def _create_records(database: Database) -> None:
    database.table("schema_migrations").create(
        {"version": int, "name": str, "applied_at": str},
        pk="version",
        not_null={"name", "applied_at"},
    )
    projects = database.table("projects").create(
        {"project_id": str, "root": str, "name": str, "created_at": str, "last_seen": str},
        pk="project_id",
        not_null={"project_id", "root", "name", "created_at", "last_seen"},
    )
    projects.create_index(["root"], "projects_by_root")


def _create_runs(database: Database) -> None:
    runs = database.table("retrieval_runs").create(
        {
            "run_id": str,
            "project_id": str,
            "query": str,
            "status": str,
            "chain": str,
            "created_at": str,
            "completed_at": str,
            "revision_id": str,
            "effective_hash": str,
            "recipe": str,
            "models": str,
            "limits": str,
            "timings_us": str,
            "resource_count": int,
            "unit_count": int,
            "candidate_count": int,
            "reranked_count": int,
            "fragment_count": int,
            "token_count": int,
            "lexical": str,
            "removed": str,
            "notices": str,
            "error_stage": str,
            "error_code": str,
            "error_summary": str,
            "state_fingerprint": str,
            "pinned": int,
            "process": str,
        },
        pk="run_id",
        not_null={"run_id", "project_id", "query", "status", "chain", "created_at", "pinned"},
        defaults={"pinned": 0},
    )
    runs.create_index(["project_id", "created_at"], "retrieval_runs_by_project")
    runs.create_index(["created_at"], "retrieval_runs_by_time")
    runs.create_index(["effective_hash"], "retrieval_runs_by_corpus")
    database.table("retrieval_run_candidates").create(
        {
            "run_id": str,
            "ordinal": int,
            "unit_key": str,
            "content_hash": str,
            "resource_id": str,
            "resource_hash": str,
            "scope": str,
            "kind": str,
            "path": str,
            "heading_path": str,
            "start_line": int,
            "end_line": int,
            "start_char": int,
            "end_char": int,
            "token_count": int,
            "exact_tier": int,
            "exact_rank": int,
            "bm25_rank": int,
            "bm25_score": float,
            "vector_rank": int,
            "vector_score": float,
            "rrf_rank": int,
            "rrf_score": float,
            "rerank_rank": int,
            "rerank_score": float,
            "rerank_truncated": int,
            "relevance": float,
            "final_rank": int,
            "final_score": float,
            "exclusion_reason": str,
            "action": str,
            "excerpt": str,
        },
        pk=("run_id", "ordinal"),
        not_null={"run_id", "ordinal", "unit_key", "content_hash", "resource_id", "excerpt"},
        foreign_keys=[("run_id", "retrieval_runs", "run_id")],
    )


MANIFEST_COLUMNS: dict[str, type] = {
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


def _create_corpora(database: Database) -> None:
    database.table("retrieval_corpus_blobs").create(
        {"sha256": str, "length": int, "created_at": str},
        pk="sha256",
        not_null={"sha256", "length", "created_at"},
    )
    # The effective hash covers the id and hash of every resource, so it identifies
    # the manifest: one is stored, however many Runs searched it.
    searched = database.table("retrieval_run_resources").create(
        {"effective_hash": str, **MANIFEST_COLUMNS},
        pk=("effective_hash", "ordinal"),
        not_null={"effective_hash", *MANIFEST_COLUMNS},
        foreign_keys=[("body_sha256", "retrieval_corpus_blobs", "sha256")],
    )
    searched.create_index(["body_sha256"], "retrieval_run_resources_by_body")


def _create_cases(database: Database) -> None:
    database.table("evaluation_corpora").create(
        {"corpus_hash": str, "effective_hash": str, "created_at": str},
        pk="corpus_hash",
        not_null={"corpus_hash", "effective_hash", "created_at"},
    )
    frozen = database.table("evaluation_corpus_resources").create(
        {"corpus_hash": str, **MANIFEST_COLUMNS},
        pk=("corpus_hash", "ordinal"),
        not_null={"corpus_hash", *MANIFEST_COLUMNS},
        foreign_keys=[
            ("corpus_hash", "evaluation_corpora", "corpus_hash"),
            ("body_sha256", "retrieval_corpus_blobs", "sha256"),
        ],
    )
    frozen.create_index(["body_sha256"], "evaluation_corpus_resources_by_body")
    cases = database.table("evaluation_cases").create(
        {
            "case_id": str,
            "run_id": str,
            "project_id": str,
            "query": str,
            "corpus_hash": str,
            "status": str,
            "version": int,
            "created_at": str,
            "updated_at": str,
        },
        pk="case_id",
        not_null={
            "case_id",
            "run_id",
            "project_id",
            "query",
            "corpus_hash",
            "status",
            "version",
            "created_at",
            "updated_at",
        },
        foreign_keys=[
            ("run_id", "retrieval_runs", "run_id"),
            ("corpus_hash", "evaluation_corpora", "corpus_hash"),
        ],
    )
    cases.create_index(["run_id"], "evaluation_cases_by_run", unique=True)
    cases.create_index(["project_id", "status"], "evaluation_cases_by_project")
    cases.create_index(["corpus_hash"], "evaluation_cases_by_corpus")
    database.table("evaluation_evidence").create(
        {"case_id": str, "resource_id": str, "unit_key": str},
        not_null={"case_id", "resource_id"},
        foreign_keys=[("case_id", "evaluation_cases", "case_id")],
    )
