"""Write a revision: its row, resources and units, and what becomes of it."""

from __future__ import annotations

import os
import socket
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import orjson

from memcli.index.embedding import Embedder
from memcli.index.recipe import Recipe
from memcli.index.revisions import BUILDING, FAILED, READY
from memcli.index.row_digests import DIGEST, computed, digest_of, seal, signed
from memcli.index.schema import insert_rows
from memcli.index.tables import RESOURCE_COLUMNS, REVISION_COLUMNS, UNIT_COLUMNS
from memcli.index.text_folding import fold
from memcli.index.unit_plan import NewUnit, PlannedResource
from memcli.index.vector_cache import cached_vectors
from memcli.memory.resource import EffectiveMemory
from memcli.memory.title import first_heading
from memcli.sqlite_files import transaction

_BATCH = 500

_COPY_PLAN = """
    CREATE TEMP TABLE copy_plan (
        resource_id TEXT, donor TEXT, first_unit INTEGER, body_shift INTEGER,
        description_shift INTEGER)
"""
# Lines enter no hash: front matter that grew moved them, and nothing else.
_COPY = f"""
    INSERT INTO search_units (revision_id, unit_rowid, ordinal, unit_key, resource_id, position,
        heading_path, content_hash, token_count, start_line, end_line, start_char, end_char,
        input_hash, text, vector, {DIGEST})
    SELECT *, {computed("search_units", "copy")} FROM (
        SELECT :revision AS revision_id, u.unit_rowid, p.first_unit + u.position AS ordinal,
            u.unit_key, u.resource_id, u.position, u.heading_path, u.content_hash, u.token_count,
            u.start_line + iif(u.start_char IS NULL, p.description_shift, p.body_shift)
                AS start_line,
            u.end_line + iif(u.start_char IS NULL, p.description_shift, p.body_shift) AS end_line,
            u.start_char, u.end_char, u.input_hash, u.text, u.vector
        FROM temp.copy_plan p
            JOIN search_resources r ON r.revision_id = p.donor AND r.resource_id = p.resource_id
            JOIN search_units u ON u.revision_id = p.donor
                AND u.ordinal BETWEEN r.first_unit AND r.first_unit + r.unit_count - 1
    ) AS copy
"""
_SEAL_REVISION = seal("search_revisions", "revision_id = ?")
_SEAL_RESOURCE = seal("search_resources", "revision_id = ? AND resource_id = ?")
_SEAL_UNITS = seal("search_units", "revision_id = ? AND ordinal BETWEEN ? AND ?")
_KNOWN_HEADINGS = """
    SELECT s.body_sha256, s.first_heading
    FROM search_resources s JOIN search_revisions r USING (revision_id)
    WHERE r.status = 'ready' AND r.recipe_hash = ?
"""


def known_headings(connection: sqlite3.Connection, recipe_hash: str) -> dict[str, str | None]:
    """First heading by body hash, for bodies that this recipe's parser has seen."""
    return dict(connection.execute(_KNOWN_HEADINGS, (recipe_hash,)))


def begin_revision(
    connection: sqlite3.Connection,
    revision_id: str,
    memory: EffectiveMemory,
    recipe: Recipe,
    embedder: Embedder,
    created_at: str,
    keep: bool,
) -> None:
    """Record that a revision is being built; earlier failures are forgotten."""
    values: dict[str, Any] = dict.fromkeys(REVISION_COLUMNS) | {
        "revision_id": revision_id,
        "status": BUILDING,
        "effective_hash": memory.effective_hash,
        "recipe_hash": recipe.recipe_hash,
        "recipe": recipe.canonical,
        "embedding_revision": embedder.embedding_revision,
        "dimension": embedder.dimension,
        "resource_count": 0,
        "unit_count": 0,
        "token_count": 0,
        "created_at": created_at,
        "kept": int(keep),
        "builder_pid": os.getpid(),
        "builder_host": socket.gethostname(),
    }
    with transaction(connection):
        connection.execute("DELETE FROM search_revisions WHERE status = ?", (FAILED,))
        row = tuple(values[name] for name in REVISION_COLUMNS)
        insert_rows(connection, "search_revisions", REVISION_COLUMNS, [row])


def write_units(
    connection: sqlite3.Connection,
    revision_id: str,
    planned: Sequence[PlannedResource],
    embedding_revision: str,
    headings: Mapping[str, str | None],
    told: Callable[[int, int], None],
) -> None:
    """Write resources and units in short transactions; every vector is in the cache."""
    total = sum(each.unit_count for each in planned)
    for batch in _batches(iter(planned)):
        rows = [_resource_row(revision_id, at, each, headings) for at, each in batch]
        with transaction(connection):
            insert_rows(connection, "search_resources", RESOURCE_COLUMNS, rows)
    _copy_units(connection, revision_id, planned)
    done = sum(each.unit_count for each in planned if each.donor)
    told(done, total)
    new = (
        (resource.first_unit + unit.unit.position, unit)
        for resource in planned
        for unit in resource.units
    )
    while chunk := list(islice(new, _BATCH)):
        vectors = cached_vectors(
            connection, [unit.input_hash for _, unit in chunk], embedding_revision
        )
        unit_rows = [
            _unit_row(revision_id, at, unit, vectors[unit.input_hash]) for at, unit in chunk
        ]
        with transaction(connection):
            insert_rows(connection, "search_units", UNIT_COLUMNS, unit_rows)
        done += len(chunk)
        told(done, total)


def _batches(
    planned: Iterator[PlannedResource],
) -> Iterator[list[tuple[int, PlannedResource]]]:
    numbered = enumerate(planned)
    while chunk := list(islice(numbered, _BATCH)):
        yield chunk


def _resource_row(
    revision_id: str, ordinal: int, planned: PlannedResource, headings: Mapping[str, str | None]
) -> tuple[Any, ...]:
    resource = planned.resource
    digest = resource.body_sha256
    heading = headings[digest] if digest in headings else first_heading(resource.body)
    values: dict[str, Any] = {
        "revision_id": revision_id,
        "ordinal": ordinal,
        "resource_id": resource.resource_id,
        "scope": resource.scope.value,
        "kind": resource.kind,
        "path": resource.path,
        "title": resource.title,
        "description": resource.description,
        "body_sha256": digest,
        "resource_hash": resource.resource_hash,
        "body_first_line": resource.body_first_line,
        "description_line": resource.description_line,
        "file_path": resource.file_path,
        "first_heading": heading,
        "first_unit": planned.first_unit,
        "unit_count": planned.unit_count,
        "folded_id": fold(resource.resource_id),
        "folded_path": fold(resource.path),
        "folded_title": fold(resource.title),
        "body": resource.body,
    }
    values[DIGEST] = digest_of("search_resources", values)
    return tuple(values[name] for name in RESOURCE_COLUMNS)


def _unit_row(revision_id: str, ordinal: int, new: NewUnit, vector: bytes) -> tuple[Any, ...]:
    unit = new.unit
    values: dict[str, Any] = {
        "revision_id": revision_id,
        "unit_rowid": new.unit_rowid,
        "ordinal": ordinal,
        "unit_key": unit.unit_key,
        "resource_id": unit.resource_id,
        "position": unit.position,
        "heading_path": orjson.dumps(unit.heading_path).decode(),
        "content_hash": unit.content_hash,
        "token_count": unit.token_count,
        "start_line": unit.locator.start_line,
        "end_line": unit.locator.end_line,
        "start_char": unit.locator.start_char,
        "end_char": unit.locator.end_char,
        "input_hash": new.input_hash,
        "text": unit.text,
        "vector": vector,
    }
    values[DIGEST] = digest_of("search_units", values)
    return tuple(values[name] for name in UNIT_COLUMNS)


def _copy_units(
    connection: sqlite3.Connection, revision_id: str, planned: Sequence[PlannedResource]
) -> None:
    rows = [
        (
            each.resource.resource_id,
            each.donor.revision_id,
            each.first_unit,
            each.resource.body_first_line - each.donor.body_first_line,
            line_shift(each.donor.description_line, each.resource.description_line),
        )
        for each in planned
        if each.donor
    ]
    connection.execute("DROP TABLE IF EXISTS temp.copy_plan")
    connection.execute(_COPY_PLAN)
    with transaction(connection):
        connection.executemany("INSERT INTO temp.copy_plan VALUES (?, ?, ?, ?, ?)", rows)
        connection.execute(_COPY, {"revision": revision_id})


def line_shift(old: int | None, new: int | None) -> int:
    """How far a line moved; 0 where either is unknown."""
    return new - old if old is not None and new is not None else 0


def mark_ready(
    connection: sqlite3.Connection, revision_id: str, ready_at: str, frequencies: bytes
) -> None:
    """Count and declare a revision ready, inside the caller's transaction."""
    connection.execute(
        "UPDATE search_revisions SET status = ?2, ready_at = ?3, document_frequencies = ?4,"
        " resource_count = (SELECT count(*) FROM search_resources WHERE revision_id = ?1),"
        " unit_count = (SELECT count(*) FROM search_units WHERE revision_id = ?1),"
        " token_count ="
        " (SELECT coalesce(sum(token_count), 0) FROM search_units WHERE revision_id = ?1)"
        " WHERE revision_id = ?1",
        (revision_id, READY, ready_at, signed(frequencies)),
    )
    connection.execute(_SEAL_REVISION, (revision_id,))


def mark_failed(connection: sqlite3.Connection, revision_id: str, code: str, reason: str) -> None:
    """Keep the reason, and nothing else, of a revision that failed.

    One that is ready stays as it is: an interrupt may arrive just behind the
    commit that made it the head.
    """
    with transaction(connection):
        building = connection.execute(
            "SELECT 1 FROM search_revisions WHERE revision_id = ? AND status = ?",
            (revision_id, BUILDING),
        ).fetchone()
        if building is None:
            return
        delete_content(connection, revision_id)
        connection.execute(
            "UPDATE search_revisions SET status = ?, error_code = ?, error = ?"
            " WHERE revision_id = ?",
            (FAILED, code, reason, revision_id),
        )


def delete_content(connection: sqlite3.Connection, revision_id: str) -> None:
    connection.execute("DELETE FROM search_units WHERE revision_id = ?", (revision_id,))
    connection.execute("DELETE FROM search_resources WHERE revision_id = ?", (revision_id,))


def refresh_lines(
    connection: sqlite3.Connection, revision_id: str, memory: EffectiveMemory
) -> None:
    """Bring lines and file places up to date, which enter no hash and may have moved."""
    stored = {
        row[0]: row[1:]
        for row in connection.execute(
            "SELECT resource_id, body_first_line, description_line, file_path, first_unit,"
            " first_unit + unit_count - 1 FROM search_resources WHERE revision_id = ?",
            (revision_id,),
        )
    }
    moved = [
        each
        for each in memory.resources
        if stored[each.resource_id][:3]
        != (each.body_first_line, each.description_line, each.file_path)
    ]
    if not moved:
        return
    with transaction(connection):
        for each in moved:
            first_line, description_line, _, first_unit, last_unit = stored[each.resource_id]
            connection.execute(
                "UPDATE search_resources SET body_first_line = ?, description_line = ?,"
                " file_path = ? WHERE revision_id = ? AND resource_id = ?",
                (
                    each.body_first_line,
                    each.description_line,
                    each.file_path,
                    revision_id,
                    each.resource_id,
                ),
            )
            connection.execute(
                "UPDATE search_units SET"
                " start_line = start_line + iif(start_char IS NULL, ?1, ?2),"
                " end_line = end_line + iif(start_char IS NULL, ?1, ?2)"
                " WHERE revision_id = ?3 AND ordinal BETWEEN ?4 AND ?5",
                (
                    line_shift(description_line, each.description_line),
                    each.body_first_line - first_line,
                    revision_id,
                    first_unit,
                    last_unit,
                ),
            )
            connection.execute(_SEAL_RESOURCE, (revision_id, each.resource_id))
            connection.execute(_SEAL_UNITS, (revision_id, first_unit, last_unit))
