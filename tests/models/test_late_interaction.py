"""Late interaction: the formula against a plain loop, stored and fresh token vectors alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.index.embedding import Float32, Int32, PassageInput
from memcli.index.token_vectors import decode_token_vectors, encode_token_vectors
from memcli.models.embedder import GgufEmbedder
from memcli.models.golden_pair import IRRELEVANT, QUERY, RELEVANT
from memcli.models.late_interaction import LateInteraction, interaction_scores, token_weights
from memcli.models.loaded_model import Aborted, never

TEXTS = [
    "Roll back a deploy with `harborctl rollback` and watch the error rate.",
    "The quarterly finance review is on Thursday.",
    "Certificates are rotated every ninety days by the platform team.",
]
PASSAGES = [PassageInput(f"n{at}.md", (), text) for at, text in enumerate(TEXTS)]


class PlainCorpus:
    """A corpus of 100 units in which every token is equally rare, with what was stored."""

    unit_count = 100

    def __init__(self, stored: list[Float32 | None]) -> None:
        self._stored = stored

    def document_frequencies(self, token_ids: Int32) -> Int32:
        return np.full(len(token_ids), 3, dtype=np.int32)

    def stored_token_vectors(self, passages: Sequence[PassageInput]) -> list[Float32 | None]:
        return list(self._stored)


@given(st.integers(1, 6), st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(0, 99))
@settings(max_examples=60)
def test_score_is_the_weighted_mean_of_best_cosines(
    query_tokens: int, lengths: list[int], seed: int
) -> None:
    random = np.random.default_rng(seed)

    def unit(count: int) -> Float32:
        rows = random.standard_normal((count, 8)).astype(np.float32)
        unit_rows: Float32 = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit_rows

    query, documents = unit(query_tokens), [unit(length) for length in lengths]
    weights = random.random(query_tokens).astype(np.float32) + np.float32(0.1)
    expected = [
        sum(w * max(float(q @ d) for d in document) for w, q in zip(weights, query, strict=True))
        / float(weights.sum())
        if len(document)
        else 0.0
        for document in documents
    ]
    assert interaction_scores(query, weights, documents) == pytest.approx(expected, abs=1e-5)


def test_rarer_tokens_weigh_more_and_none_weighs_less_than_nothing() -> None:
    weights = token_weights(np.array([0, 1, 50, 100, 101], dtype=np.int32), 100)
    assert (np.diff(weights) <= 0).all()
    assert (weights > 0).all()


def test_stored_and_fresh_token_vectors_give_the_same_scores(
    bundled_embedder: GgufEmbedder,
) -> None:
    reranker = LateInteraction(bundled_embedder)
    query = bundled_embedder.embed_query("how do I undo a deployment")
    kept: list[Float32 | None] = [None] * len(PASSAGES)
    for each in bundled_embedder.embed_passages(PASSAGES):
        assert each.token_vectors is not None
        kept[each.ordinal] = decode_token_vectors(*encode_token_vectors(each.token_vectors))
    fresh = reranker.score(query, PASSAGES, PlainCorpus([None] * 3), never)
    stored = reranker.score(query, PASSAGES, PlainCorpus(kept), never)
    mixed = reranker.score(query, PASSAGES, PlainCorpus([None, kept[1], None]), never)
    assert [each.score for each in fresh] == [each.score for each in stored]
    # llama.cpp's attention rounds by what shares a batch, in the third digit at most.
    assert [each.score for each in mixed] == pytest.approx([e.score for e in fresh], abs=5e-3)
    assert max(range(3), key=lambda at: fresh[at].score) == 0


def test_no_candidates_give_no_scores(bundled_embedder: GgufEmbedder) -> None:
    query = bundled_embedder.embed_query("anything")
    assert LateInteraction(bundled_embedder).score(query, [], PlainCorpus([]), never) == []


def test_stop_check_ends_a_rerank_that_has_to_compute(bundled_embedder: GgufEmbedder) -> None:
    query = bundled_embedder.embed_query("anything")
    with pytest.raises(Aborted):
        LateInteraction(bundled_embedder).score(
            query, PASSAGES, PlainCorpus([None] * 3), lambda: True
        )


def test_golden_pair_of_the_bundled_reranker_on_its_documented_scale(
    bundled_embedder: GgufEmbedder,
) -> None:
    """F13: relevant above .9, irrelevant below .1, and calibrated once, monotonically."""
    reranker = LateInteraction(bundled_embedder)
    query = bundled_embedder.embed_query(QUERY)
    relevant, irrelevant = reranker.score(
        query, [RELEVANT, IRRELEVANT], PlainCorpus([None, None]), never
    )
    length = 6
    assert reranker.relevance.of(relevant.score, length) > 0.9
    assert reranker.relevance.of(irrelevant.score, length) < 0.1
    for length in (1, 8, 9, 30, 128):
        steps = [reranker.relevance.of(0.6 + at / 100, length) for at in range(40)]
        assert steps == sorted(steps)
        assert 0 < steps[0] < steps[-1] < 1
    by_length = [reranker.relevance.of(0.8, length) for length in (1, 8, 9, 16, 30, 60, 128)]
    assert by_length == sorted(by_length)


def test_a_passage_that_lost_its_end_says_so(bundled_embedder: GgufEmbedder) -> None:
    query = bundled_embedder.embed_query("word")
    passages = [PassageInput("a.md", (), "word " * 300), PassageInput("a.md", (), "word " * 700)]
    kept, cut = LateInteraction(bundled_embedder).score(
        query, passages, PlainCorpus([None, None]), never
    )
    assert not kept.truncated
    assert cut.truncated
