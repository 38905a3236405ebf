"""The chain ``agent_activation.v2``, top to bottom like the diagram in the design.

identity exact/prefix + FTS5 BM25                     at most 60
  -> query embedding + all-units vector similarity    at most 60
  -> RRF (k = 60), keep 40
  -> rerank the first 24
  -> relevance / overlap / per-resource / token / fragment budgets
  -> activation delta
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memcli.errors import InvalidInput, NotReady
from memcli.index.embedding import PassageInput
from memcli.index.heading_paths import model_heading_path
from memcli.index.reader import RevisionReader, StoredUnit
from memcli.models.embedder import EncodedQuery, QueryEmbedder
from memcli.models.reranker import Reranker, RerankScore, TokenCorpus
from memcli.retrieval.activation import (
    Activation,
    ActivationLimits,
    Candidate,
    Counts,
    Notice,
)
from memcli.retrieval.assembly import NOT_RERANKED, Budgets, Ranked, assemble
from memcli.retrieval.delta import HeldUnit, activation_delta, state_document
from memcli.retrieval.fusion import Fused, fuse
from memcli.retrieval.query_terms import parse_query, split_words
from memcli.retrieval.recall import LexicalRecall, VectorRecall, lexical_recall, vector_recall
from memcli.retrieval.stages import Stages


@dataclass(frozen=True, slots=True)
class Models:
    """The loaded embedder and reranker that one activation uses."""

    embedder: QueryEmbedder
    reranker: Reranker

    def description(self) -> dict[str, Any]:
        return {
            "embedder": dict(self.embedder.description),
            "reranker": dict(self.reranker.description),
        }


@dataclass(frozen=True, slots=True)
class Reranked:
    """A candidate's place (from 1), raw score, calibrated relevance, and whether it was cut."""

    rank: int
    score: float
    relevance: float
    truncated: bool


def valid_query(query: str) -> str:
    """The query as text that can be stored and encoded; raises ``invalid_query`` if blank."""
    if not query.strip():
        raise InvalidInput("invalid_query", "the query is blank", "Ask something, or pipe it to -.")
    return query.encode("utf-8", "replace").decode("utf-8")


def run_chain(
    project_id: str,
    query: str,
    held: Sequence[HeldUnit],
    reader: RevisionReader,
    models: Models,
    corpus: TokenCorpus,
    limits: ActivationLimits,
    stages: Stages,
    notices: Sequence[Notice] = (),
) -> Activation:
    """Answer ``query`` from the revision that ``reader`` holds open.

    Raises ``Failure`` ``activation_deadline``, ``NotReady`` ``index_damaged``.
    """
    with stages.stage("lexical"):
        terms = parse_query(query)
        lexical = lexical_recall(reader, query, terms, limits.lexical)
    with stages.stage("embed"):
        encoded = models.embedder.embed_query(query, stages.expired)
    with stages.stage("vector"):
        dense = vector_recall(reader, encoded.vector, limits.vector)
    with stages.stage("fusion"):
        units = reader.units(list(dict.fromkeys([*lexical.order, *dense.order])))
        order = {rowid: unit.ordinal for rowid, unit in units.items()}
        fused = fuse([lexical.order, dense.order], order)
    with stages.stage("rerank"):
        first = [units[each.unit_rowid] for each in fused[: min(limits.fused, limits.reranked)]]
        reranked = rerank(encoded, first, fused, models.reranker, corpus, stages)
    with stages.stage("assembly"):
        candidates = [
            _candidate(units[each.unit_rowid], each, lexical, dense, reranked) for each in fused
        ]
        candidates = _assembled(candidates, models.reranker.relevance.floor, limits)
        fragments = sorted(
            (each for each in candidates if each.final_rank is not None),
            key=lambda each: each.final_rank or 0,
        )
        for fragment in fragments:
            _verify(fragment)
        delta = activation_delta(
            held,
            [HeldUnit(each.unit_key, each.content_hash) for each in fragments],
            reader.keys_present([unit.unit_key for unit in held]),
        )
        actions = delta.actions
        candidates = [_with_action(each, actions) for each in candidates]
        fragments = [_with_action(each, actions) for each in fragments]
    return Activation(
        project_id=project_id,
        query=query,
        revision_id=reader.revision.revision_id,
        effective_hash=reader.revision.effective_hash,
        recipe=reader.revision.recipe,
        models=models.description(),
        relevance_floor=models.reranker.relevance.floor,
        limits=limits,
        counts=Counts(
            resources=reader.resource_count,
            units=reader.unit_count,
            candidates=len(candidates),
            reranked=len(reranked),
            fragments=len(fragments),
            tokens=sum(each.token_count for each in fragments),
        ),
        candidates=tuple(candidates),
        fragments=tuple(fragments),
        removed=delta.removed,
        state=state_document(project_id, delta.held),
        lexical_terms=terms.terms,
        lexical_skipped=terms.skipped,
        timings_us=stages.timings_us,
        notices=(*notices, *_query_notices(encoded)),
    )


def rerank(
    query: EncodedQuery,
    units: Sequence[StoredUnit],
    fused: Sequence[Fused],
    reranker: Reranker,
    corpus: TokenCorpus,
    stages: Stages,
) -> dict[int, Reranked]:
    """Scores and places of the first units, by rowid; ties go to the better RRF rank."""
    passages = [passage_of(unit) for unit in units]
    scores = reranker.score(query, passages, corpus, stages.expired)
    scored: list[tuple[StoredUnit, RerankScore]] = list(zip(units, scores, strict=True))
    rrf_rank = {each.unit_rowid: each.rank for each in fused}
    scored.sort(key=lambda pair: (-pair[1].score, rrf_rank[pair[0].unit_rowid]))
    relevance, words = reranker.relevance, len(split_words(query.text))
    return {
        unit.unit_rowid: Reranked(
            rank, score.score, relevance.of(score.score, words), score.truncated
        )
        for rank, (unit, score) in enumerate(scored, 1)
    }


def passage_of(unit: StoredUnit) -> PassageInput:
    """What every model is given of a unit: the same input that was embedded."""
    return PassageInput(unit.path, model_heading_path(unit.title, unit.heading_path), unit.text)


def _candidate(
    unit: StoredUnit,
    fused: Fused,
    lexical: LexicalRecall,
    dense: VectorRecall,
    reranked: Mapping[int, Reranked],
) -> Candidate:
    rowid = unit.unit_rowid
    judged = reranked.get(rowid)
    return Candidate(
        unit_key=unit.unit_key,
        content_hash=unit.content_hash,
        resource_id=unit.resource_id,
        resource_hash=unit.resource_hash,
        scope=unit.scope,
        kind=unit.kind,
        path=unit.path,
        heading_path=unit.heading_path,
        locator=unit.locator,
        token_count=unit.token_count,
        text=unit.text,
        exact_tier=lexical.exact_tier.get(rowid),
        exact_rank=lexical.exact_rank.get(rowid),
        bm25_rank=lexical.bm25_rank.get(rowid),
        bm25_score=lexical.bm25_score.get(rowid),
        vector_rank=dense.rank.get(rowid),
        vector_score=dense.score.get(rowid),
        rrf_rank=fused.rank,
        rrf_score=fused.score,
        rerank_rank=judged.rank if judged else None,
        rerank_score=judged.score if judged else None,
        rerank_truncated=judged.truncated if judged else False,
        relevance=judged.relevance if judged else None,
        final_rank=None,
        final_score=None,
        exclusion_reason=NOT_RERANKED,
        action=None,
    )


def _assembled(
    candidates: Sequence[Candidate], floor: float, limits: ActivationLimits
) -> list[Candidate]:
    in_rerank_order = sorted(
        (each for each in candidates if each.rerank_rank is not None),
        key=lambda each: each.rerank_rank or 0,
    )
    reasons = assemble(
        [
            Ranked(
                each.resource_id,
                each.content_hash,
                each.locator,
                each.token_count,
                each.relevance or 0.0,
                each.exact_tier,
            )
            for each in in_rerank_order
        ],
        Budgets(floor, limits.per_resource, limits.tokens, limits.fragments),
    )
    decided: dict[str, Candidate] = {}
    place = 0
    for candidate, reason in zip(in_rerank_order, reasons, strict=True):
        if reason is None:
            place += 1
            decided[candidate.unit_key] = replace(
                candidate,
                final_rank=place,
                final_score=candidate.relevance,
                exclusion_reason=None,
            )
        else:
            decided[candidate.unit_key] = replace(candidate, exclusion_reason=reason)
    return [decided.get(each.unit_key, each) for each in candidates]


def _with_action(candidate: Candidate, actions: Mapping[str, str]) -> Candidate:
    action = actions.get(candidate.unit_key)
    return replace(candidate, action=action) if action else candidate


def _verify(fragment: Candidate) -> None:
    if hashlib.sha256(fragment.text.encode()).hexdigest() != fragment.content_hash:
        raise NotReady(
            "index_damaged",
            f"the index holds another text for {fragment.unit_key} than was indexed",
            "Run `memcli index build` to rebuild it; no history is lost.",
        )


def _query_notices(encoded: EncodedQuery) -> list[Notice]:
    if not encoded.shortened:
        return []
    return [
        Notice(
            "query_shortened",
            f"the models read only the first {len(encoded.token_ids)} tokens of the query",
        ),
    ]
