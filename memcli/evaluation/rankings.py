"""The four rankings that one recorded trace holds, places renumbered from 1 by their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

VARIANTS = ("b1_bm25", "b2_dense_vector", "b3_hybrid_rrf", "b4_reranked")
MOST_RERANKED = 24

# The stages whose recorded times a variant adds up (design, section 10).
STAGES_OF: dict[str, tuple[str, ...]] = {
    "b1_bm25": ("lexical",),
    "b2_dense_vector": ("embed", "vector"),
    "b3_hybrid_rrf": ("lexical", "embed", "vector", "fusion"),
    "b4_reranked": ("lexical", "embed", "vector", "fusion", "rerank"),
}


class Ranked(Protocol):
    """What of a candidate ranking and scoring look at."""

    @property
    def unit_key(self) -> str: ...
    @property
    def resource_id(self) -> str: ...
    @property
    def resource_hash(self) -> str: ...
    @property
    def exact_rank(self) -> int | None: ...
    @property
    def bm25_rank(self) -> int | None: ...
    @property
    def vector_rank(self) -> int | None: ...
    @property
    def rrf_rank(self) -> int | None: ...
    @property
    def rerank_rank(self) -> int | None: ...
    @property
    def final_rank(self) -> int | None: ...


class RankedUnit(NamedTuple):
    """Just that, for reports over many Cases."""

    unit_key: str
    resource_id: str
    resource_hash: str
    exact_rank: int | None
    bm25_rank: int | None
    vector_rank: int | None
    rrf_rank: int | None
    rerank_rank: int | None
    final_rank: int | None


C = TypeVar("C", bound=Ranked)


def rankings_of(candidates: Sequence[C]) -> dict[str, tuple[C, ...]]:
    """The rankings by variant; a stage that recalled nothing gives an empty one."""
    identity = _by(candidates, lambda one: one.exact_rank)
    by_bm25 = _by(candidates, lambda one: one.bm25_rank)
    return {
        "b1_bm25": (*identity, *(one for one in by_bm25 if one.exact_rank is None)),
        "b2_dense_vector": _by(candidates, lambda one: one.vector_rank),
        "b3_hybrid_rrf": _by(candidates, lambda one: one.rrf_rank),
        "b4_reranked": _by(candidates, lambda one: one.rerank_rank)[:MOST_RERANKED],
    }


def labelling_order(candidates: Sequence[C]) -> tuple[C, ...]:
    """All candidates in the order in which a person is shown them; ``rank:N`` counts in it.

    First what was returned, so that ``rank:1`` is the first fragment of the
    answer; then the best of each stage; then the rest in RRF order.
    """
    returned = _by(candidates, lambda one: one.final_rank)
    best = [ranking[0] for ranking in rankings_of(candidates).values() if ranking]
    fused = _by(candidates, lambda one: one.rrf_rank)
    ordered = {one.unit_key: one for one in (*returned, *best, *fused, *candidates)}
    return tuple(ordered.values())


def suggestions(candidates: Sequence[C]) -> tuple[C, ...]:
    """What is most likely evidence: the beginning of :func:`labelling_order`, without the rest."""
    returned = sum(one.final_rank is not None for one in candidates)
    best = {ranking[0].unit_key for ranking in rankings_of(candidates).values() if ranking}
    return tuple(
        one
        for place, one in enumerate(labelling_order(candidates))
        if place < returned or one.unit_key in best
    )


def _by(candidates: Sequence[C], rank_of: Callable[[C], int | None]) -> tuple[C, ...]:
    ranked = [(rank, one) for one in candidates if (rank := rank_of(one)) is not None]
    ranked.sort(key=lambda pair: pair[0])
    return tuple(one for _, one in ranked)
