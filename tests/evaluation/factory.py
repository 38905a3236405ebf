"""Traces and Cases made by hand, for the tests of evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from history.factory import Corpus, make_activation, make_candidate

from memcli.evaluation.cases import Case
from memcli.evaluation.creation import create_case
from memcli.evaluation.frozen import (
    ExcludedCase,
    FrozenCase,
    FrozenCorpus,
    SourceRun,
)
from memcli.evaluation.matching import EvidenceItem, in_order
from memcli.history.recording import RunRecorder
from memcli.history.store import HistoryStore
from memcli.history.traces import RecordedCandidate
from memcli.index.unit import Locator
from memcli.retrieval.activation import ActivationLimits, Candidate

PROJECT = "harbor"
TIMINGS = {
    "open": 10,
    "load": 900_000,
    "lexical": 100,
    "embed": 2_000,
    "vector": 30,
    "fusion": 4,
    "rerank": 50_000,
    "assembly": 7,
    "total": 960_000,
}
UNRANKED: dict[str, Any] = {
    "exact_tier": None,
    "exact_rank": None,
    "bm25_rank": None,
    "bm25_score": None,
    "vector_rank": None,
    "vector_score": None,
    "rerank_rank": None,
    "rerank_score": None,
    "relevance": None,
    "final_rank": None,
    "final_score": None,
    "action": None,
}
BODIES = {
    "docs/moor": "# Moor\n\nTie the bow line first.\n",
    "docs/night": "# Night\n\nLights on after dusk.\n\n```\n[/b] 部署\n```\n",
    "notes/kettle": "The kettle is in the galley.\n",
    "notes/fuel": "# Fuel\n\nDiesel only.\n",
}


def unit(resource_id: str, part: int = 0) -> str:
    return f"{resource_id}#root~0.{part}"


def recorded(unit_key: str, resource_id: str, **ranks: Any) -> RecordedCandidate:
    """A candidate of a trace with only the ranks that are given."""
    values: dict[str, Any] = {
        "unit_key": unit_key,
        "content_hash": "c" * 64,
        "resource_id": resource_id,
        "resource_hash": "a" * 64,
        "scope": "project",
        "kind": "note",
        "path": f"{resource_id}.md",
        "heading_path": ("Heading",),
        "locator": Locator(1, 2, 0, 10),
        "token_count": 3,
        **UNRANKED,
        "rrf_rank": None,
        "rrf_score": None,
        "rerank_truncated": False,
        "exclusion_reason": None,
        "excerpt": f"excerpt of {unit_key}",
    }
    return RecordedCandidate(**{**values, **ranks})


def frozen_case(
    candidates: Sequence[RecordedCandidate],
    evidence: Sequence[EvidenceItem],
    *,
    case_id: str = "c1",
    timings_us: Mapping[str, int] = TIMINGS,
    **changes: Any,
) -> FrozenCase[RecordedCandidate]:
    run = SourceRun(
        run_id=f"run-{case_id}",
        chain="agent_activation.v2",
        created_at="2026-03-01T09:30:00.000000Z",
        completed_at=None,
        revision_id="rev-1",
        effective_hash="e" * 64,
        recipe={},
        models={},
        counts={},
        limits={},
        timings_us=timings_us,
        lexical_terms=(),
        lexical_skipped=(),
    )
    values: dict[str, Any] = {
        "case_id": case_id,
        "project_id": PROJECT,
        "query": "how?",
        "version": 2,
        "corpus_hash": "corpus",
        "evidence": in_order(evidence),
        "run": run,
        "candidates": tuple(candidates),
    }
    return FrozenCase(**{**values, **changes})


class SetOf:
    """An evaluation set of Cases made by hand; every candidate's resource is in its corpus."""

    def __init__(
        self,
        cases: Sequence[FrozenCase[RecordedCandidate]],
        excluded: Sequence[ExcludedCase] = (),
        hashes: Mapping[str, str] | None = None,
    ) -> None:
        self.cases = cases
        self.excluded = excluded
        self.hashes = hashes

    @property
    def case_count(self) -> int:
        return len(self.cases)

    def frozen_cases(self) -> Iterator[FrozenCase[RecordedCandidate]]:
        return iter(self.cases)

    def ranked_cases(self) -> Iterator[FrozenCase[RecordedCandidate]]:
        return iter(self.cases)

    def corpora(self) -> Iterator[FrozenCorpus]:
        return iter(())

    def resource_hashes(self, corpus_hash: str) -> Mapping[str, str]:
        if self.hashes is not None:
            return self.hashes
        return {one.resource_id: "a" * 64 for case in self.cases for one in case.candidates}

    def body_hashes(self) -> Sequence[str]:
        return ()

    def body(self, body_sha256: str) -> str:
        raise KeyError(body_sha256)


def corpus(**more: str) -> Corpus:
    return Corpus({**BODIES, **more})


def trace(searched: Corpus, **changes_of_first: Any) -> tuple[Candidate, ...]:
    """Every body as a candidate, best first; the first one with changes."""
    return tuple(
        make_candidate(
            resource,
            searched.bodies[resource.resource_id],
            rank,
            **(changes_of_first if rank == 1 else {}),
        )
        for rank, resource in enumerate(searched.resources, 1)
    )


def record_run(store: HistoryStore, searched: Corpus | None = None, **changes: Any) -> str:
    """Record one succeeded Run; its id."""
    searched = searched or corpus()
    activation = make_activation(searched, **{"timings_us": TIMINGS, **changes})
    with RunRecorder(store) as recorder:
        run_id = recorder.begin(activation.project_id, activation.query, None, ActivationLimits())
        recorder.succeed(run_id, activation, searched)
    return run_id


def make_case(store: HistoryStore, searched: Corpus | None = None, **changes: Any) -> Case:
    """A draft of a Run of its own."""
    run_id = record_run(store, searched, **changes)
    return create_case(store, run_id, project_id=changes.get("project_id", PROJECT))
