"""A set of frozen Cases as everything that scores or writes one sees it, wherever it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from memcli.evaluation.matching import EvidenceItem
from memcli.evaluation.rankings import Ranked
from memcli.history.corpus import ManifestResource
from memcli.history.traces import RecordedCandidate
from memcli.memory.hashing import canonical_json

CandidateT = TypeVar("CandidateT", bound=Ranked, covariant=True)


@dataclass(frozen=True, slots=True)
class SourceRun:
    """What is kept of the Run a Case was made of, but for its candidates and corpus."""

    run_id: str
    chain: str
    created_at: str
    completed_at: str | None
    revision_id: str | None
    effective_hash: str
    recipe: Mapping[str, Any]
    models: Mapping[str, Any]
    counts: Mapping[str, int]
    limits: Mapping[str, Any]
    timings_us: Mapping[str, int]
    lexical_terms: tuple[str, ...]
    lexical_skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FrozenCase(Generic[CandidateT]):
    """A ready Case with its trace; ``evidence`` is in its one order, never empty."""

    case_id: str
    project_id: str
    query: str
    version: int
    corpus_hash: str
    evidence: tuple[EvidenceItem, ...]
    run: SourceRun
    candidates: tuple[CandidateT, ...]


@dataclass(frozen=True, slots=True)
class FrozenCorpus:
    """A manifest under the hash of its canonical form; shared by all Cases that searched it."""

    corpus_hash: str
    effective_hash: str
    resources: tuple[ManifestResource, ...]


# By status, why a Case that nobody resolved to evidence is not scored: no loss.
WHY_NOT = {
    "draft": "it has not been resolved yet",
    "needs_evidence": "no evidence was confirmed: none matched",
}


CASE_DAMAGED = "it is damaged: it is not what was confirmed"
RUN_DAMAGED = "its source run is damaged: it is not what was recorded"


def is_loss(status: str, reason: str) -> bool:
    """Whether a Case that is left out should not be.

    A ready one should not, nor one that is damaged, whatever its status says by now.
    """
    return status == "ready" or reason in (CASE_DAMAGED, RUN_DAMAGED)


@dataclass(frozen=True, slots=True)
class ExcludedCase:
    """A Case of the selection that is not scored: its status, and why, as a sentence."""

    case_id: str
    status: str
    reason: str


class EvaluationSet(Protocol):
    """Frozen Cases and their corpora; everything comes sorted, for deterministic writers."""

    @property
    def case_count(self) -> int:
        """How many Cases :meth:`frozen_cases` gives."""
        ...

    @property
    def excluded(self) -> Sequence[ExcludedCase]:
        """Every other Case of the selection, by id."""
        ...

    def frozen_cases(self) -> Iterator[FrozenCase[RecordedCandidate]]:
        """The Cases by id, one in memory at a time where they come from the store."""
        ...

    def ranked_cases(self) -> Iterator[FrozenCase[Ranked]]:
        """The same Cases, with no more of their candidates than scoring needs."""
        ...

    def corpora(self) -> Iterator[FrozenCorpus]:
        """The corpora of the Cases by hash."""
        ...

    def resource_hashes(self, corpus_hash: str) -> Mapping[str, str]:
        """Resource hash by resource id of one corpus."""
        ...

    def body_hashes(self) -> Sequence[str]:
        """SHA-256 of every body that a corpus names, sorted, once each."""
        ...

    def body(self, body_sha256: str) -> str:
        """One body, verified."""
        ...


MANIFEST_NAMES = (
    "body_sha256",
    "description",
    "kind",
    "ordinal",
    "path",
    "resource_hash",
    "resource_id",
    "scope",
    "title",
)


def canonical_manifest(resources: Sequence[ManifestResource]) -> bytes:
    """The canonical form whose SHA-256 names a frozen corpus: every column, in corpus order."""
    return canonical_json([{n: getattr(one, n) for n in MANIFEST_NAMES} for one in resources])
