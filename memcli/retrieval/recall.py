"""The two recalls: identity with BM25, and the vectors of all units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memcli.index.embedding import Float32
from memcli.index.reader import IdentityHit, RevisionReader
from memcli.index.text_folding import fold
from memcli.retrieval.query_terms import QueryTerms

PREFIX_PLACES = 20


@dataclass(frozen=True, slots=True)
class LexicalRecall:
    """Unit rowids in lexical order (identity first), with each stage's places and scores."""

    order: tuple[int, ...]
    exact_tier: Mapping[int, int]
    exact_rank: Mapping[int, int]
    bm25_rank: Mapping[int, int]
    bm25_score: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class VectorRecall:
    """Unit rowids by falling similarity, with their places and cosines."""

    order: tuple[int, ...]
    rank: Mapping[int, int]
    score: Mapping[int, float]


def lexical_recall(
    reader: RevisionReader, query: str, terms: QueryTerms, limit: int
) -> LexicalRecall:
    """Identity hits, then BM25 hits, without repeats, cut to ``limit``.

    Without any term of three characters the short words are looked for by a
    scan; its hits take BM25's place and have ranks but no score.
    """
    identity = reader.identity_hits(fold(query.strip()), PREFIX_PLACES)
    if terms.terms:
        hits = reader.bm25(terms.match_expression, limit)
        scores = {hit.unit_rowid: hit.score for hit in hits}
        found = [hit.unit_rowid for hit in hits]
    else:
        scores = {}
        found = list(reader.scan_words(terms.skipped, limit)) if terms.skipped else []
    return _merge(identity, found, scores, limit)


def _merge(
    identity: Sequence[IdentityHit], found: Sequence[int], scores: Mapping[int, float], limit: int
) -> LexicalRecall:
    order = list(dict.fromkeys([*(hit.unit_rowid for hit in identity), *found]))[:limit]
    kept = frozenset(order)
    bm25_rank = {rowid: place for place, rowid in enumerate(found, 1) if rowid in kept}
    return LexicalRecall(
        order=tuple(order),
        exact_tier={hit.unit_rowid: hit.tier for hit in identity if hit.unit_rowid in kept},
        exact_rank={
            hit.unit_rowid: place for place, hit in enumerate(identity, 1) if hit.unit_rowid in kept
        },
        bm25_rank=bm25_rank,
        bm25_score={rowid: scores[rowid] for rowid in bm25_rank if rowid in scores},
    )


def vector_recall(reader: RevisionReader, query: Float32, limit: int) -> VectorRecall:
    """The ``limit`` units nearest to ``query``, of all units; ties by unit order."""
    matrix = reader.vectors()
    if not len(matrix):
        return VectorRecall((), {}, {})
    similarities = matrix @ query
    ordinals = top_ordinals(similarities, limit)
    rowids = reader.rowids_of_ordinals([int(ordinal) for ordinal in ordinals])
    return VectorRecall(
        order=tuple(rowids),
        rank={rowid: place for place, rowid in enumerate(rowids, 1)},
        score={
            rowid: float(similarities[ordinal])
            for rowid, ordinal in zip(rowids, ordinals, strict=True)
        },
    )


def top_ordinals(similarities: Float32, limit: int) -> Sequence[int]:
    """Indices of the ``limit`` largest values, largest first, equal values by index."""
    if len(similarities) > limit:
        least = np.partition(similarities, len(similarities) - limit)[len(similarities) - limit]
        candidates = np.flatnonzero(similarities >= least)
    else:
        candidates = np.arange(len(similarities))
    ranked = candidates[np.lexsort((candidates, -similarities[candidates]))]
    ordinals: list[int] = ranked[:limit].tolist()
    return ordinals
