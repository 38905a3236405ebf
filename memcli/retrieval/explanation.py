"""The whole story of one note for one query: from the file on disk to its reason."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from memcli.index.embedding import Float32
from memcli.index.reader import RevisionReader, StoredUnit
from memcli.index.unit import Locator
from memcli.memory.resource import EffectiveMemory, LeftOut, SourceResource
from memcli.retrieval.activation import Activation, Candidate
from memcli.retrieval.assembly import NOT_RERANKED
from memcli.retrieval.query_terms import parse_query

WHY_SCHEMA = "memcli.why.v1"

OUTCOMES = {
    "returned": "returned",
    "below_relevance": "below the relevance floor",
    "overlap": "overlaps a fragment that ranks higher",
    "resource_limit": "its resource already gave as many fragments as it may",
    "token_budget": "the token budget was spent",
    "fragment_limit": "the fragment limit was reached",
    "not_reranked": "fused, but not among the first to be reranked",
    "cut_by_fusion": "recalled, but fused below the places that are kept",
    "not_recalled": "recalled by no stage",
}


@dataclass(frozen=True, slots=True)
class UnitStory:
    """One unit of the note: its true places among all units, and its outcome.

    ``bm25_place`` and ``vector_place`` count over the whole revision, recalled
    or not; ``bm25_place`` is ``None`` where no term of the query occurs.
    """

    unit_key: str
    heading_path: tuple[str, ...]
    locator: Locator
    token_count: int
    bm25_place: int | None
    bm25_score: float | None
    vector_place: int
    vector_score: float
    exact_rank: int | None
    rrf_rank: int | None
    rerank_rank: int | None
    rerank_score: float | None
    relevance: float | None
    final_rank: int | None
    outcome: str


@dataclass(frozen=True, slots=True)
class Story:
    """``memory`` is ``present``, a disposition such as ``ignored``, or ``unknown``;
    ``head`` is ``current``, ``older`` (other content), ``absent`` or ``removed``
    (searched, but no longer in memory)."""

    query: str
    asked: str
    path: str | None
    resource_id: str | None
    memory: str
    memory_reason: str | None
    memory_detail: str | None
    other_file: str | None
    head: str
    revision_id: str
    relevance_floor: float
    units: tuple[UnitStory, ...]
    near: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """The answer in one line."""
        if self.memory != "present" and self.head != "removed":
            why = self.memory_detail or self.memory_reason or ""
            if self.memory == "unknown":
                return f"{self.asked} is no file of this memory" + (f": {why}" if why else "")
            return f"not in Effective Memory: {self.memory}" + (f" ({why})" if why else "")
        if self.head == "absent":
            return "in Effective Memory, but not in the head yet: run `memcli index build`"
        best = min(self.units, key=_best_first, default=None)
        if best is None:
            return "in the head, but without a unit: there is no text to search"
        said = OUTCOMES[best.outcome]
        if best.final_rank:
            said = f"returned at place {best.final_rank}"
        if self.head == "older":
            said += "; the file has changed since the head was built"
        if self.head == "removed":
            said += "; the file is no longer in Effective Memory, the head still has it"
        return said

    def document(self) -> dict[str, Any]:
        """The story as JSON."""
        return {
            "schema": WHY_SCHEMA,
            **{name: value for name, value in asdict(self).items() if name != "units"},
            "near": list(self.near),
            "verdict": self.verdict,
            "units": [
                {**asdict(unit), "heading_path": list(unit.heading_path)} for unit in self.units
            ],
        }


def tell_story(
    asked: str,
    root: Path,
    memory: EffectiveMemory,
    activation: Activation,
    reader: RevisionReader,
    query_vector: Float32,
) -> Story:
    """Explain what became of the note that ``asked`` names, in this activation.

    ``asked`` is a path key, a resource id, or a file (relative ones to ``root``
    or to the working directory).
    """
    resource = find_resource(asked, memory.resources, root)
    left_out = None if resource else _left_out(asked, memory.left_out)
    path = resource.path if resource else left_out.path if left_out else None
    resource_id = resource.resource_id if resource else path
    # An argument may hold bytes that are no UTF-8; no resource has such an id.
    named = asked.encode("utf-8", "backslashreplace").decode()
    stored = reader.units_of_resource(resource_id or named)
    head = _head_state(resource, stored)
    return Story(
        query=activation.query,
        asked=asked,
        path=path or (stored[0].path if stored else None),
        resource_id=resource.resource_id if resource else None,
        memory="present" if resource else str(left_out.disposition) if left_out else "unknown",
        memory_reason=left_out.reason if left_out else None,
        memory_detail=left_out.detail if left_out else None,
        other_file=left_out.by if left_out else None,
        head=head,
        revision_id=activation.revision_id,
        relevance_floor=activation.relevance_floor,
        units=_unit_stories(stored, activation, reader, query_vector),
        near=() if resource or left_out or stored else near_paths(asked, memory),
    )


def _unit_stories(
    stored: Sequence[StoredUnit],
    activation: Activation,
    reader: RevisionReader,
    query_vector: Float32,
) -> tuple[UnitStory, ...]:
    if not stored:
        return ()
    terms = parse_query(activation.query)
    places: Mapping[int, tuple[int, float | None]] = {}
    if terms.terms:
        hits = reader.bm25(terms.match_expression, reader.unit_count)
        places = {hit.unit_rowid: (place, hit.score) for place, hit in enumerate(hits, 1)}
    elif terms.skipped:
        found = reader.scan_words(terms.skipped, reader.unit_count)
        places = {rowid: (place, None) for place, rowid in enumerate(found, 1)}
    similarities = reader.vectors() @ query_vector
    candidates = {each.unit_key: each for each in activation.candidates}
    return tuple(
        _unit_story(
            unit,
            candidates.get(unit.unit_key),
            places.get(unit.unit_rowid, (None, None)),
            similarities,
            activation.limits.fused,
        )
        for unit in stored
    )


def _unit_story(
    unit: StoredUnit,
    candidate: Candidate | None,
    bm25: tuple[int | None, float | None],
    similarities: Float32,
    fused: int,
) -> UnitStory:
    own = similarities[unit.ordinal]
    ahead = int((similarities > own).sum())
    ties_before = int((similarities[: unit.ordinal] == own).sum())
    return UnitStory(
        unit_key=unit.unit_key,
        heading_path=unit.heading_path,
        locator=unit.locator,
        token_count=unit.token_count,
        bm25_place=bm25[0],
        bm25_score=bm25[1],
        vector_place=ahead + ties_before + 1,
        vector_score=float(np.float32(own)),
        exact_rank=candidate.exact_rank if candidate else None,
        rrf_rank=candidate.rrf_rank if candidate else None,
        rerank_rank=candidate.rerank_rank if candidate else None,
        rerank_score=candidate.rerank_score if candidate else None,
        relevance=candidate.relevance if candidate else None,
        final_rank=candidate.final_rank if candidate else None,
        outcome=_outcome(candidate, fused),
    )


def _outcome(candidate: Candidate | None, fused: int) -> str:
    if candidate is None:
        return "not_recalled"
    if candidate.exclusion_reason is None:
        return "returned"
    if candidate.exclusion_reason == NOT_RERANKED and candidate.rrf_rank > fused:
        return "cut_by_fusion"
    return candidate.exclusion_reason


def find_resource(
    asked: str, resources: Sequence[SourceResource], root: Path
) -> SourceResource | None:
    """The resource with this path key or id, else the one read from this file."""
    plain = asked.removeprefix("./")
    for resource in resources:
        if asked in (resource.resource_id, resource.path) or plain == resource.path:
            return resource
    files = {os.path.realpath(asked), os.path.realpath(root / asked)}
    return next((each for each in resources if os.path.realpath(each.file_path) in files), None)


def _left_out(asked: str, left_out: Sequence[LeftOut]) -> LeftOut | None:
    wanted = asked.removeprefix("./")
    exact = next((each for each in left_out if each.path == wanted), None)
    return exact or next(
        (each for each in left_out if each.path.endswith("/") and wanted.startswith(each.path)),
        None,
    )


def _head_state(resource: SourceResource | None, stored: Sequence[StoredUnit]) -> str:
    if not stored:
        return "absent"
    if resource is None:
        return "removed"
    return "current" if stored[0].resource_hash == resource.resource_hash else "older"


def near_paths(asked: str, memory: EffectiveMemory) -> tuple[str, ...]:
    import difflib

    paths = [each.path for each in memory.resources]
    return tuple(difflib.get_close_matches(asked, paths, n=3, cutoff=0.4))


def _best_first(unit: UnitStory) -> tuple[float, float, float, int]:
    nowhere = float("inf")
    return (
        unit.final_rank or nowhere,
        unit.rerank_rank or nowhere,
        unit.rrf_rank or nowhere,
        unit.vector_place,
    )
