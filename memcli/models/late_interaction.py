"""The built-in reranker: token vectors of the query against token vectors of each unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from memcli.index.embedding import Float32, Int32, PassageInput
from memcli.index.token_vectors import decode_token_vectors, encode_token_vectors
from memcli.models.embedder import EncodedQuery, GgufEmbedder
from memcli.models.loaded_model import Aborted, ShouldStop
from memcli.models.profile import LATE_INTERACTION, Relevance
from memcli.models.reranker import RerankScore, TokenCorpus

UNCALIBRATED = Relevance(middle=0.5, width=0.1, floor=0.0)


class LateInteraction:
    """Score = sum_i w_i max_j cos(q_i, d_j) / sum_i w_i, w_i the idf of query token i.

    The idea of ColBERT (Khattab and Zaharia 2020) without training. It uses the
    embedder that answers the query, so it costs no forward pass of its own where
    the unit's token vectors were kept.
    """

    def __init__(self, embedder: GgufEmbedder) -> None:
        self._embedder = embedder

    @property
    def relevance(self) -> Relevance:
        return self._embedder.profile.late_interaction or UNCALIBRATED

    @property
    def description(self) -> Mapping[str, Any]:
        profile = self._embedder.profile
        return {"profile": LATE_INTERACTION, "over": profile.name, "sha256": profile.sha256}

    def score(
        self,
        query: EncodedQuery,
        passages: Sequence[PassageInput],
        corpus: TokenCorpus,
        should_stop: ShouldStop,
    ) -> list[RerankScore]:
        if not passages:
            return []
        documents = self._token_vectors(passages, corpus, should_stop)
        weights = token_weights(corpus.document_frequencies(query.token_ids), corpus.unit_count)
        scores = interaction_scores(query.token_vectors, weights, documents)
        return [
            RerankScore(float(score), self._was_cut(passage, vectors))
            for score, passage, vectors in zip(scores, passages, documents, strict=True)
        ]

    def _was_cut(self, passage: PassageInput, vectors: Float32) -> bool:
        """Whether the passage lost the end of its text when it was embedded."""
        full = len(vectors) >= self._embedder.passage_budget
        return full and self._embedder.fit(passage).truncated

    def _token_vectors(
        self, passages: Sequence[PassageInput], corpus: TokenCorpus, should_stop: ShouldStop
    ) -> list[Float32]:
        found = corpus.stored_token_vectors(passages)
        missing = [at for at, vectors in enumerate(found) if vectors is None]
        for embedded in self._embedder.embed_passages([passages[at] for at in missing]):
            if should_stop():
                raise Aborted
            assert embedded.token_vectors is not None
            # Through the same quantisation as the stored ones, so that an answer
            # does not depend on what happened to be kept.
            kept = decode_token_vectors(*encode_token_vectors(embedded.token_vectors))
            found[missing[embedded.ordinal]] = kept
        return [vectors for vectors in found if vectors is not None]


def token_weights(frequencies: Int32, unit_count: int) -> Float32:
    """idf = ln(1 + (N - n + 0.5) / (n + 0.5)), the BM25 form that is never negative."""
    seen = np.minimum(frequencies, unit_count).astype(np.float32)
    weights: Float32 = np.log1p((unit_count - seen + 0.5) / (seen + 0.5)).astype(np.float32)
    return weights


def interaction_scores(query: Float32, weights: Float32, documents: Sequence[Float32]) -> Float32:
    """Weighted mean over query tokens [Tq, D] of the best cosine in each document [Td, D].

    One matrix product over all documents; a document without tokens scores 0.
    """
    filled = [document for document in documents if len(document)]
    scores = np.zeros(len(documents), dtype=np.float32)
    total = float(weights.sum())
    if not filled or total <= 0:
        return scores
    cosines = np.concatenate(filled) @ query.T
    starts = np.cumsum([0, *[len(document) for document in filled[:-1]]])
    best = np.maximum.reduceat(cosines, starts, axis=0)
    places = [at for at, document in enumerate(documents) if len(document)]
    scores[places] = (best @ weights) / total
    return scores
