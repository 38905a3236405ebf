"""The result of one activation, complete: what is printed and what is stored both come from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memcli.configuration import Limits as ActivationLimits
from memcli.index.unit import Locator

__all__ = [
    "CHAIN",
    "Activation",
    "ActivationFault",
    "ActivationLimits",
    "Candidate",
    "Counts",
    "Notice",
]

CHAIN = "agent_activation.v2"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A recalled unit with its place and score in every stage.

    Ranks count from 1 and are ``None`` where a stage did not have the unit;
    larger is better for every score. ``exclusion_reason`` is ``None`` exactly
    when ``final_rank`` is set. ``action`` is ``add``, ``replace`` or ``reuse``
    for a returned unit. ``final_score`` is its relevance.
    """

    unit_key: str
    content_hash: str
    resource_id: str
    resource_hash: str
    scope: str
    kind: str
    path: str
    heading_path: tuple[str, ...]
    locator: Locator
    token_count: int
    text: str
    exact_tier: int | None
    exact_rank: int | None
    bm25_rank: int | None
    bm25_score: float | None
    vector_rank: int | None
    vector_score: float | None
    rrf_rank: int
    rrf_score: float
    rerank_rank: int | None
    rerank_score: float | None
    rerank_truncated: bool
    relevance: float | None
    final_rank: int | None
    final_score: float | None
    exclusion_reason: str | None
    action: str | None


@dataclass(frozen=True, slots=True)
class Counts:
    """How much was searched and what came of it."""

    resources: int
    units: int
    candidates: int
    reranked: int
    fragments: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a user should know that did not change the answer."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Activation:
    """One answered query: everything section 6 of the design computes.

    ``candidates`` is in RRF order; ``fragments`` are the candidates returned,
    in final order. ``models`` holds profile and digest of the embedder and the
    reranker, ``relevance_floor`` the floor of the reranker's profile.
    ``timings_us`` has whole microseconds by stage name.
    """

    project_id: str
    query: str
    revision_id: str
    effective_hash: str
    recipe: Mapping[str, Any]
    models: Mapping[str, Any]
    relevance_floor: float
    limits: ActivationLimits
    counts: Counts
    candidates: tuple[Candidate, ...]
    fragments: tuple[Candidate, ...]
    removed: tuple[str, ...]
    state: Mapping[str, Any]
    lexical_terms: tuple[str, ...]
    lexical_skipped: tuple[str, ...]
    timings_us: Mapping[str, int]
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True)
class ActivationFault:
    """How an activation ended without an answer: what is known of it, bounded."""

    stage: str
    code: str
    summary: str
    revision_id: str | None = None
    effective_hash: str | None = None
    recipe: Mapping[str, Any] | None = None
    models: Mapping[str, Any] | None = None
    limits: ActivationLimits | None = None
    counts: Counts | None = None
    timings_us: Mapping[str, int] | None = None
