"""Revisions and the head: what they are, how one is named, and how the head moves."""

from __future__ import annotations

import difflib
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from memcli.errors import Failure
from memcli.index import fts
from memcli.index.faults import index_damaged
from memcli.index.row_digests import DIGEST, is_whole, seal

BUILDING, READY, FAILED = "building", "ready", "failed"

_REVISIONS = f"""
    SELECT r.revision_id, r.status, r.effective_hash, r.recipe_hash, r.recipe,
        r.embedding_revision, r.dimension, r.resource_count, r.unit_count, r.token_count,
        r.created_at, r.ready_at, r.error_code, r.error, r.kept, r.builder_pid, r.builder_host,
        r.revision_id IS h.head, r.revision_id IS h.previous,
        iif(r.{DIGEST} IS NULL, r.status <> 'ready', {is_whole("search_revisions", "r")})
    FROM search_revisions r LEFT JOIN search_heads h ON h.slot = 1
"""

_HEAD = f"""
    SELECT head, previous, changed_at, {is_whole("search_heads", "search_heads")}
    FROM search_heads WHERE slot = 1
"""
_SEAL_REVISION = seal("search_revisions", "revision_id = ?")
_SEAL_HEAD = seal("search_heads", "slot = 1")


@dataclass(frozen=True, slots=True)
class RevisionInfo:
    """One revision; counts are zero until it is ready, ``error`` says why it failed."""

    revision_id: str
    status: str
    effective_hash: str
    recipe_hash: str
    recipe: Mapping[str, Any]
    embedding_revision: str
    dimension: int
    resource_count: int
    unit_count: int
    token_count: int
    created_at: str
    ready_at: str | None
    error_code: str | None
    error: str | None
    kept: bool
    builder_pid: int
    builder_host: str
    is_head: bool
    is_previous: bool


@dataclass(frozen=True, slots=True)
class HeadInfo:
    """The head, the one before it, and when it moved (ISO 8601)."""

    head: str | None
    previous: str | None
    changed_at: str | None


def all_revisions(connection: sqlite3.Connection) -> list[RevisionInfo]:
    """Every revision, oldest first."""
    return [_revision(row) for row in connection.execute(f"{_REVISIONS} ORDER BY r.rowid")]


def find_revision(connection: sqlite3.Connection, revision_id: str) -> RevisionInfo | None:
    rows = connection.execute(f"{_REVISIONS} WHERE r.revision_id = ?", (revision_id,)).fetchall()
    return _revision(rows[0]) if rows else None


def _revision(row: tuple[Any, ...]) -> RevisionInfo:
    (revision_id, status, effective_hash, recipe_hash, recipe) = row[:5]
    (embedding_revision, dimension, resources, units, tokens) = row[5:10]
    (created_at, ready_at, code, error, kept, pid, host, is_head, is_previous, whole) = row[10:]
    # One that is not ready has no digest yet.
    if not whole or status not in (BUILDING, READY, FAILED) or not isinstance(recipe, str):
        raise index_damaged(f"the row of revision {revision_id} is not what was written")
    try:
        described = orjson.loads(recipe)
    except ValueError as fault:
        raise index_damaged(f"the recipe of revision {revision_id} is unreadable") from fault
    return RevisionInfo(
        revision_id,
        status,
        effective_hash,
        recipe_hash,
        described,
        embedding_revision,
        dimension,
        resources,
        units,
        tokens,
        created_at,
        ready_at,
        code,
        error,
        bool(kept),
        pid,
        host,
        bool(is_head),
        bool(is_previous),
    )


def read_head(connection: sqlite3.Connection) -> HeadInfo:
    row = connection.execute(_HEAD).fetchone()
    if row is None:
        return HeadInfo(None, None, None)
    if not row[3]:
        raise index_damaged("the row of the head is not what was written")
    return HeadInfo(*row[:3])


def named_revision(connection: sqlite3.Connection, name: str) -> RevisionInfo:
    """The revision with this id or this unique prefix; else ``revision_not_found``."""
    revisions = all_revisions(connection)
    known = [each.revision_id for each in revisions]
    exact = [each for each in revisions if each.revision_id == name]
    matching = exact or [each for each in revisions if name and each.revision_id.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        message = f"{name!r} is the beginning of {len(matching)} revisions"
        near = [each.revision_id for each in matching]
    else:
        message = f"there is no revision {name!r}"
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or known[-3:]
    hint = f"Did you mean {', '.join(near)}?" if near else "Run `memcli index build` first."
    raise Failure("revision_not_found", message, hint)


def newest_ready(connection: sqlite3.Connection) -> RevisionInfo | None:
    ready = [each for each in all_revisions(connection) if each.status == READY]
    return ready[-1] if ready else None


def move_head(
    connection: sqlite3.Connection,
    revision_id: str,
    changed_at: str,
    told: fts.Told = lambda done, total: None,
    anew: bool = False,
) -> HeadInfo:
    """Point the head at a ready revision and exchange the full-text rows.

    Runs in the caller's transaction, so that a reader sees both or neither; after
    it, ``fts_digests.note`` keeps the digests of the rows.
    ``anew`` makes the full-text table from nothing.
    """
    current = read_head(connection)
    fts.exchange_rows(connection, current.head, revision_id, told, anew)
    previous = current.previous if current.head == revision_id else current.head
    connection.execute(
        "INSERT OR REPLACE INTO search_heads (slot, head, previous, changed_at)"
        " VALUES (1, ?, ?, ?)",
        (revision_id, previous, changed_at),
    )
    connection.execute(_SEAL_HEAD)
    return HeadInfo(revision_id, previous, changed_at)


def set_kept(connection: sqlite3.Connection, revision_id: str, kept: bool) -> None:
    """Mark a revision as one that no build prunes, or unmark it, in the caller's transaction."""
    connection.execute(
        "UPDATE search_revisions SET kept = ? WHERE revision_id = ?", (int(kept), revision_id)
    )
    # One that is being built has no digest yet.
    connection.execute(f"{_SEAL_REVISION} AND {DIGEST} IS NOT NULL", (revision_id,))
