"""Compares two Runs: what was ranked differently, and whether index, memory or models differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memcli.history.runs import RunDetail
from memcli.history.traces import RecordedCandidate

STAGES = ("exact", "bm25", "vector", "rrf", "rerank", "final")
BOTH, ADDED, VANISHED = "both", "added", "vanished"


@dataclass(frozen=True, slots=True)
class Difference:
    """One value in the first Run and in the second."""

    name: str
    a: Any
    b: Any


@dataclass(frozen=True, slots=True)
class MemoryDifference:
    """Resources by id between the two corpora; ``None`` lists where a Run stored no corpus."""

    known: bool
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CandidateDifference:
    """One unit whose place differs: ``ranks`` has the stages that differ, ``None`` for no rank.

    ``presence`` is ``both``, ``added`` (recalled by the second Run only) or
    ``vanished``. ``content_changed`` says that its text differs.
    """

    unit_key: str
    path: str
    heading_path: tuple[str, ...]
    presence: str
    content_changed: bool
    ranks: tuple[Difference, ...]
    exclusion_reason: Difference | None


@dataclass(frozen=True, slots=True)
class RunDiff:
    """Everything that differs between two Runs; empty parts are the same in both."""

    a: RunDetail
    b: RunDetail
    same_query: bool
    index: tuple[Difference, ...]
    models: tuple[Difference, ...]
    limits: tuple[Difference, ...]
    memory: MemoryDifference
    candidates: tuple[CandidateDifference, ...]


def diff_runs(a: RunDetail, b: RunDetail) -> RunDiff:
    """Compare ``a`` with ``b``; units are matched by their key.

    ``index`` holds revision, effective hash and the recipe's values, by dotted name.
    """
    index = {
        "revision_id": (a.run.revision_id, b.run.revision_id),
        "effective_hash": (a.run.effective_hash, b.run.effective_hash),
    }
    return RunDiff(
        a,
        b,
        a.run.query == b.run.query,
        tuple(Difference(name, *pair) for name, pair in index.items() if pair[0] != pair[1])
        + _differences(a.run.recipe, b.run.recipe, "recipe."),
        _differences(a.run.models, b.run.models),
        _differences(a.run.limits, b.run.limits),
        _memory(a, b),
        _candidates(a, b),
    )


def _differences(
    a: Mapping[str, Any] | None, b: Mapping[str, Any] | None, prefix: str = ""
) -> tuple[Difference, ...]:
    flat_a, flat_b = _flat(a or {}, prefix), _flat(b or {}, prefix)
    return tuple(
        Difference(name, flat_a.get(name), flat_b.get(name))
        for name in sorted(flat_a.keys() | flat_b.keys())
        if flat_a.get(name) != flat_b.get(name)
    )


def _flat(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _memory(a: RunDetail, b: RunDetail) -> MemoryDifference:
    if not (a.corpus_is_complete and b.corpus_is_complete):
        same = a.run.effective_hash is not None and a.run.effective_hash == b.run.effective_hash
        return MemoryDifference(same, (), (), ())
    before = {resource.resource_id: resource.resource_hash for resource in a.resources}
    after = {resource.resource_id: resource.resource_hash for resource in b.resources}
    return MemoryDifference(
        True,
        tuple(resource_id for resource_id in after if resource_id not in before),
        tuple(resource_id for resource_id in before if resource_id not in after),
        tuple(
            resource_id
            for resource_id, resource_hash in after.items()
            if before.get(resource_id, resource_hash) != resource_hash
        ),
    )


def _candidates(a: RunDetail, b: RunDetail) -> tuple[CandidateDifference, ...]:
    before = {candidate.unit_key: candidate for candidate in a.candidates}
    after = {candidate.unit_key: candidate for candidate in b.candidates}
    found = []
    # In the order of the second Run, then what only the first one had.
    for unit_key in [*after, *(key for key in before if key not in after)]:
        difference = _candidate(before.get(unit_key), after.get(unit_key))
        if difference is not None:
            found.append(difference)
    return tuple(found)


def _candidate(
    a: RecordedCandidate | None, b: RecordedCandidate | None
) -> CandidateDifference | None:
    either = b or a
    assert either is not None
    ranks = tuple(
        Difference(stage, rank_a, rank_b)
        for stage in STAGES
        if (rank_a := _rank(a, stage)) != (rank_b := _rank(b, stage))
    )
    reasons = (a.exclusion_reason if a else None, b.exclusion_reason if b else None)
    content_changed = a is not None and b is not None and a.content_hash != b.content_hash
    if not ranks and reasons[0] == reasons[1] and not content_changed:
        return None
    return CandidateDifference(
        either.unit_key,
        either.path,
        either.heading_path,
        BOTH if a and b else ADDED if b else VANISHED,
        content_changed,
        ranks,
        Difference("exclusion_reason", *reasons) if reasons[0] != reasons[1] else None,
    )


def _rank(candidate: RecordedCandidate | None, stage: str) -> int | None:
    rank: int | None = getattr(candidate, f"{stage}_rank", None)
    return rank
