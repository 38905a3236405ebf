"""Decide for each resource of a new revision whether its units are copied or cut."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import orjson

from memcli.index.chunking import cut_resource, model_heading_path
from memcli.index.embedding import PassageInput
from memcli.index.recipe import input_hash
from memcli.index.unit import RetrievalUnit
from memcli.memory.resource import SourceResource

_MOST_PARAMETERS = 500

_DONORS = """
    SELECT s.resource_id, s.resource_hash, s.revision_id, s.unit_count, s.body_first_line,
        s.description_line
    FROM search_resources s
        JOIN search_revisions r USING (revision_id)
        LEFT JOIN search_heads h ON h.slot = 1
    WHERE r.status = 'ready' AND r.recipe_hash = ?
    ORDER BY r.revision_id IS h.head, r.rowid
"""
# A vector that left the cache was either pruned by mistake or lost: cut and embed again.
_WITHOUT_VECTOR = """
    SELECT DISTINCT u.revision_id, u.resource_id
    FROM search_units u JOIN search_revisions r USING (revision_id)
    WHERE r.status = 'ready' AND r.recipe_hash = ? AND NOT EXISTS (
        SELECT 1 FROM search_vector_cache c
        WHERE c.input_hash = u.input_hash AND c.embedding_revision = r.embedding_revision
    )
"""
_HEAD_UNITS = """
    SELECT u.unit_key, u.unit_rowid, r.path, r.title, u.heading_path, u.content_hash
    FROM search_units u JOIN search_resources r USING (revision_id, resource_id)
    WHERE u.revision_id = (SELECT head FROM search_heads WHERE slot = 1)
        AND u.resource_id IN ({})
"""


@dataclass(frozen=True, slots=True)
class Donor:
    """A resource of a ready revision of the same recipe whose units can be copied."""

    revision_id: str
    unit_count: int
    body_first_line: int
    description_line: int | None


@dataclass(frozen=True, slots=True)
class NewUnit:
    """A unit that was cut, with its rowid and the hash of its model input."""

    unit: RetrievalUnit
    unit_rowid: int
    passage: PassageInput
    input_hash: str


@dataclass(frozen=True, slots=True)
class PlannedResource:
    """A resource with its place among the units, and where these come from."""

    resource: SourceResource
    first_unit: int
    donor: Donor | None
    units: tuple[NewUnit, ...]

    @property
    def unit_count(self) -> int:
        return self.donor.unit_count if self.donor else len(self.units)


def plan_units(
    connection: sqlite3.Connection,
    resources: Sequence[SourceResource],
    recipe_hash: str,
    count_tokens: Callable[[str], int],
    told: Callable[[int, int], None],
    *,
    copy: bool = True,
) -> list[PlannedResource]:
    """Plan all resources in order; without ``copy`` every one is cut.

    An unchanged unit keeps its rowid: equal rowids mean equal full-text rows.
    """
    donors = _donors(connection, recipe_hash) if copy else {}
    to_cut = [each for each in resources if _key(each) not in donors]
    cut: dict[str, tuple[RetrievalUnit, ...]] = {}
    for done, resource in enumerate(to_cut):
        told(done, len(to_cut))
        cut[resource.resource_id] = cut_resource(resource, count_tokens)
    told(len(to_cut), len(to_cut))
    rowids = _Rowids(connection, [each.resource_id for each in to_cut])
    planned: list[PlannedResource] = []
    ordinal = 0
    for resource in resources:
        units = tuple(
            _new_unit(resource, unit, rowids) for unit in cut.get(resource.resource_id, ())
        )
        planned.append(PlannedResource(resource, ordinal, donors.get(_key(resource)), units))
        ordinal += planned[-1].unit_count
    return planned


def _key(resource: SourceResource) -> tuple[str, str]:
    return resource.resource_id, resource.resource_hash


def _donors(connection: sqlite3.Connection, recipe_hash: str) -> dict[tuple[str, str], Donor]:
    incomplete = set(connection.execute(_WITHOUT_VECTOR, (recipe_hash,)))
    # Ordered so that the head's rows come last and win.
    return {
        (resource_id, resource_hash): Donor(revision_id, *rest)
        for resource_id, resource_hash, revision_id, *rest in connection.execute(
            _DONORS, (recipe_hash,)
        )
        if (revision_id, resource_id) not in incomplete
    }


def _new_unit(resource: SourceResource, unit: RetrievalUnit, rowids: _Rowids) -> NewUnit:
    heading_path = model_heading_path(resource.title, unit.heading_path)
    passage = PassageInput(resource.path, heading_path, unit.text)
    return NewUnit(unit, rowids.of(resource, unit), passage, input_hash(passage))


class _Rowids:
    """Gives a unit the rowid it has in the head if its full-text row is the same, else a new one.

    New ones are above all of the ready revisions', so that none stands for two rows.
    """

    def __init__(self, connection: sqlite3.Connection, resource_ids: Sequence[str]) -> None:
        self._next = 1 + _largest_rowid(connection)
        self._known = dict(_head_units(connection, resource_ids))

    def of(self, resource: SourceResource, unit: RetrievalUnit) -> int:
        row = (resource.path, resource.title, list(unit.heading_path), unit.content_hash)
        known = self._known.get(unit.unit_key)
        if known is not None and known[1] == row:
            return known[0]
        self._next += 1
        return self._next - 1


def _head_units(
    connection: sqlite3.Connection, resource_ids: Sequence[str]
) -> Iterable[tuple[str, tuple[int, tuple[str, str, list[str], str]]]]:
    for start in range(0, len(resource_ids), _MOST_PARAMETERS):
        chunk = resource_ids[start : start + _MOST_PARAMETERS]
        rows = connection.execute(_HEAD_UNITS.format(", ".join("?" * len(chunk))), chunk)
        for key, rowid, path, title, heading_path, content_hash in rows:
            yield key, (rowid, (path, title, orjson.loads(heading_path), content_hash))


def _largest_rowid(connection: sqlite3.Connection) -> int:
    largest = [
        connection.execute(
            "SELECT max(unit_rowid) FROM search_units WHERE revision_id = ?", row
        ).fetchone()[0]
        for row in connection.execute("SELECT revision_id FROM search_revisions").fetchall()
    ]
    return max((each for each in largest if each is not None), default=0)
