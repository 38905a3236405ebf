"""Digests of what history holds, by which a reader knows that it is what was recorded.

SQLite has no checksums: a bit that flips on the disk is served as it is. An ended
Run has one digest over its row (but for its pin) and one over its candidates, a
manifest has one, a Case has one over its row and evidence. A store that was made
before there were digests has none, and what has none counts as whole.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from memcli.errors import Failure
from memcli.history.schema import DIGESTS
from memcli.history.store import HistoryStore

HAS_DIGESTS = "SELECT 1 FROM sqlite_master WHERE name = 'retrieval_run_digests'"
RUN_COLUMNS = (
    "run_id", "project_id", "query", "status", "chain", "created_at", "completed_at",
    "revision_id", "effective_hash", "recipe", "models", "limits", "timings_us",
    "resource_count", "unit_count", "candidate_count", "reranked_count", "fragment_count",
    "token_count", "lexical", "removed", "notices", "error_stage", "error_code",
    "error_summary", "state_fingerprint",
)  # fmt: skip
RUN = f"SELECT {', '.join(RUN_COLUMNS)} FROM retrieval_runs WHERE run_id = ?"
TRACE_COLUMNS = (
    "run_id", "ordinal", "unit_key", "content_hash", "resource_id", "resource_hash", "scope",
    "kind", "path", "heading_path", "start_line", "end_line", "start_char", "end_char",
    "token_count", "exact_tier", "exact_rank", "bm25_rank", "bm25_score", "vector_rank",
    "vector_score", "rrf_rank", "rrf_score", "rerank_rank", "rerank_score", "rerank_truncated",
    "relevance", "final_rank", "final_score", "exclusion_reason", "action", "excerpt",
)  # fmt: skip
TRACE = f"""
SELECT {", ".join(TRACE_COLUMNS)} FROM retrieval_run_candidates WHERE run_id = ? ORDER BY ordinal
"""
MANIFEST = """
SELECT effective_hash, ordinal, resource_id, scope, kind, path, title, description, resource_hash,
    body_sha256
FROM retrieval_run_resources WHERE effective_hash = ? ORDER BY ordinal
"""
MANIFEST_SIZE = "SELECT count(*) FROM retrieval_run_resources WHERE effective_hash = ?"
MOST_VERIFIED = 200
KEEP_RUN = "INSERT OR REPLACE INTO retrieval_run_digests VALUES (?, ?, ?)"
KEEP_MANIFEST = "INSERT OR REPLACE INTO retrieval_manifest_digests VALUES (?, ?)"
KEPT_RUN = "SELECT run, trace FROM retrieval_run_digests WHERE run_id = ?"
KEPT_RUNS = "SELECT run_id, run FROM retrieval_run_digests"
RUN_ROWS = f"""
SELECT digests.run_id, digests.run, {", ".join(f"one.{name}" for name in RUN_COLUMNS)}
FROM retrieval_run_digests AS digests LEFT JOIN retrieval_runs AS one USING (run_id)
"""
KEPT_MANIFEST = "SELECT digest FROM retrieval_manifest_digests WHERE effective_hash = ?"
SEALED_RUNS = "SELECT run_id FROM retrieval_run_digests"
SEALED_MANIFESTS = "SELECT effective_hash FROM retrieval_manifest_digests"


class DamagedRecord(Failure):
    """``store_damaged`` of one Run or Case: the store itself can be used."""


def digest_of(rows: Iterable[Sequence[Any]]) -> str:
    """16 bytes of SHA-256, in hex, over rows of SQLite's values; never raises for those.

    Floats go in as their exact hexadecimal text: how JSON writers print them has
    changed between versions.
    """
    exact = [[one.hex() if type(one) is float else one for one in row] for row in rows]
    return hashlib.sha256(orjson.dumps(exact, default=bytes.hex)).hexdigest()[:32]


def ensure_digests(connection: sqlite3.Connection) -> None:
    """Make the tables in a store that was made without; part of a writer's transaction.

    They come together: where one is, there is nothing to make, and no DDL runs.
    """
    if not has_digests(connection):
        for statement in DIGESTS:
            connection.execute(statement)


def has_digests(connection: sqlite3.Connection) -> bool:
    return connection.execute(HAS_DIGESTS).fetchone() is not None


def seal_run(connection: sqlite3.Connection, run_id: str) -> None:
    """Keep the digests of a Run that has ended, inside the caller's transaction."""
    ensure_digests(connection)
    digests = digest_of(_rows(connection, RUN, run_id)), digest_of(_rows(connection, TRACE, run_id))
    connection.execute(KEEP_RUN, (run_id, *digests))


def seal_manifest(connection: sqlite3.Connection, effective_hash: str) -> None:
    """Keep the digest of a manifest, inside the caller's transaction."""
    ensure_digests(connection)
    digest = digest_of(_rows(connection, MANIFEST, effective_hash))
    connection.execute(KEEP_MANIFEST, (effective_hash, digest))


def is_whole_run(connection: sqlite3.Connection, run_id: str) -> bool:
    """Whether row and candidates are what was recorded, as far as there are digests."""
    if not has_digests(connection):
        return True
    kept = connection.execute(KEPT_RUN, (run_id,)).fetchone()
    return kept is None or tuple(kept) == (
        digest_of(_rows(connection, RUN, run_id)),
        digest_of(_rows(connection, TRACE, run_id)),
    )


def is_whole_manifest(connection: sqlite3.Connection, effective_hash: str) -> bool:
    """The same of a manifest."""
    if not has_digests(connection):
        return True
    kept = connection.execute(KEPT_MANIFEST, (effective_hash,)).fetchone()
    return kept is None or kept[0] == digest_of(_rows(connection, MANIFEST, effective_hash))


def may_be_used_again(connection: sqlite3.Connection, effective_hash: str) -> bool:
    """Whether another Run may stand on a stored manifest; a damaged small one is written anew.

    Recording has 15 ms: a long list is verified by whoever reads it, not here.
    """
    (resources,) = connection.execute(MANIFEST_SIZE, (effective_hash,)).fetchone()
    return resources > MOST_VERIFIED or is_whole_manifest(connection, effective_hash)


def run_row_digests(connection: sqlite3.Connection) -> dict[str, str]:
    """The digest of the row alone by Run, for a list of many."""
    return dict(connection.execute(KEPT_RUNS)) if has_digests(connection) else {}


def list_damaged_runs(store: HistoryStore) -> list[str]:
    """Ids of Runs whose row is another than was recorded, or is gone, of whatever project."""
    with store.reading() as connection:
        if connection is None or not has_digests(connection):
            return []
        cursor = connection.cursor()
        cursor.row_factory = None
        rows = cursor.execute(RUN_ROWS)
        return [run_id for run_id, kept, *row in rows if digest_of([row]) != kept]


def require_whole_run(connection: sqlite3.Connection, run_id: str, effective_hash: Any) -> None:
    """Raise ``store_damaged`` where a Run, its candidates or its manifest are not as recorded."""
    if not is_whole_run(connection, run_id):
        raise damaged_run(run_id, "it is not what was recorded")
    if effective_hash is not None and not is_whole_manifest(connection, effective_hash):
        raise damaged_run(run_id, "the list of what it searched is not what was recorded")


def damaged_run(run_id: str, what: str) -> DamagedRecord:
    return DamagedRecord(
        "store_damaged",
        f"run {run_id} is damaged: {what}",
        "Everything else can be used. Restore a copy of the store, or remove the run: "
        f"`memcli runs delete {run_id}` (`memcli case delete` first, where it has a case).",
    )


def lost_by_index(what: str) -> DamagedRecord:
    return DamagedRecord(
        "store_damaged",
        f"{what} is there, but an index of the store does not find it",
        "Make the indexes again from what is in the tables: `sqlite3 local.db REINDEX`, with a "
        "copy of the file put aside first.",
    )


def damaged_records(connection: sqlite3.Connection) -> list[str]:
    """Runs and manifests that are not what was recorded, in phrases; reads all of them."""
    if not has_digests(connection):
        return []
    runs = [row[0] for row in connection.execute(SEALED_RUNS)]
    manifests = [row[0] for row in connection.execute(SEALED_MANIFESTS)]
    return [
        *(f"run {each} is damaged" for each in runs if not is_whole_run(connection, each)),
        *(
            f"the manifest {each[:12]} is damaged"
            for each in manifests
            if not is_whole_manifest(connection, each)
        ),
    ]


def _rows(connection: sqlite3.Connection, statement: str, key: str) -> Iterable[tuple[Any, ...]]:
    cursor = connection.cursor()
    cursor.row_factory = None  # tuples, whatever the connection makes
    return cursor.execute(statement, (key,))
