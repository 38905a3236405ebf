"""The chain over a built revision, stage by stage, with the stand-in model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memcli.errors import Failure, InvalidInput
from memcli.retrieval.activation import Activation, ActivationLimits, Candidate
from memcli.retrieval.chain import valid_query
from memcli.retrieval.recall import top_ordinals

Make = Callable[[Mapping[str, str]], Any]

FILLER = {f"filler/{at:03}.md": f"unrelated words number{at} about gardens" for at in range(130)}


def by_path(activation: Activation) -> dict[str, Candidate]:
    return {each.path: each for each in activation.candidates}


def test_fts5_recall_alone_brings_a_unit_that_vectors_rank_low(corpus_of: Make) -> None:
    notes = {**FILLER, "target.md": "gardens " * 40 + "zebra-4711"}
    found = by_path(corpus_of(notes).ask("zebra-4711"))["target.md"]
    assert found.bm25_rank == 1
    assert found.bm25_score is not None
    assert found.exact_rank is None


def test_vector_recall_alone_brings_a_unit_without_any_query_term(corpus_of: Make) -> None:
    """Words of one or two letters are no terms; the vector still knows them."""
    notes = {**FILLER, "target.md": "xy qz"}
    activation = corpus_of(notes).ask("xy qz unfindable")
    found = by_path(activation)["target.md"]
    assert found.bm25_rank is None
    assert found.vector_rank == 1
    assert activation.lexical_terms == ("unfindable",)


def test_identity_ranks_id_then_path_and_title_then_prefixes(corpus_of: Make) -> None:
    notes = {
        "a.md": "---\nid: deploy\n---\nfirst",
        "deploy": "",
        "b.md": "---\ntitle: Deploy\n---\nsecond",
        "deploy-later.md": "third",
        "c.md": "---\ntitle: Deploying\n---\nfourth",
        **FILLER,
    }
    found = by_path(corpus_of(notes).ask("  DEPLOY "))
    tiers = {path: found[path].exact_tier for path in ("a.md", "b.md", "c.md", "deploy-later.md")}
    assert tiers == {"a.md": 1, "b.md": 2, "c.md": 3, "deploy-later.md": 3}
    assert found["a.md"].exact_rank == 1
    assert found["b.md"].exact_rank == 2
    assert {found["c.md"].exact_rank, found["deploy-later.md"].exact_rank} == {3, 4}


def test_an_identity_hit_stands_for_all_units_of_the_resource(corpus_of: Make) -> None:
    body = "".join(f"## Part {part}\n\n{'word ' * 120}\n\n" for part in range(5))
    activation = corpus_of({"long.md": f"---\ndescription: all of it\n---\n{body}"}).ask("long.md")
    # The resource id is the path key, so a whole path is tier 1.
    exact = [each for each in activation.candidates if each.exact_tier == 1]
    assert len(exact) == 6
    assert [each.exact_rank for each in sorted(exact, key=lambda e: e.exact_rank or 0)] == [
        1, 2, 3, 4, 5, 6,
    ]  # fmt: skip


def test_prefix_hits_take_at_most_twenty_places(corpus_of: Make) -> None:
    notes = {f"note-{at:03}.md": f"text {at}" for at in range(40)}
    activation = corpus_of(notes).ask("note-")
    assert sum(each.exact_tier == 3 for each in activation.candidates) == 20


def test_every_recalled_unit_is_in_the_trace_with_its_place(corpus_of: Make) -> None:
    activation = corpus_of(FILLER).ask("unrelated gardens number7")
    assert 60 <= len(activation.candidates) <= 120
    assert [each.rrf_rank for each in activation.candidates] == list(
        range(1, len(activation.candidates) + 1)
    )
    assert sum(each.rerank_rank is not None for each in activation.candidates) == 24
    for each in activation.candidates:
        assert (each.rerank_rank is not None) == (each.rrf_rank <= 24)
        assert (each.vector_rank or 0) <= 60
        assert (each.bm25_rank or 0) <= 60
        if each.rerank_rank is None:
            assert each.exclusion_reason == "not_reranked"


def test_returned_fragments_equal_the_trace(corpus_of: Make) -> None:
    activation = corpus_of(FILLER).ask("unrelated gardens number7")
    returned = sorted(
        (each for each in activation.candidates if each.final_rank),
        key=lambda each: each.final_rank or 0,
    )
    assert tuple(returned) == activation.fragments
    assert [each.final_rank for each in returned] == list(range(1, len(returned) + 1))
    assert activation.counts.fragments == len(returned)
    assert activation.counts.tokens == sum(each.token_count for each in returned)


def test_rerank_order_is_by_score_and_ties_go_to_the_better_rrf_place(corpus_of: Make) -> None:
    activation = corpus_of(FILLER).ask("unrelated gardens number7")
    judged = sorted(
        (each for each in activation.candidates if each.rerank_rank),
        key=lambda each: each.rerank_rank or 0,
    )
    keys = [(-(each.rerank_score or 0.0), each.rrf_rank) for each in judged]
    assert keys == sorted(keys)


def test_lower_limits_of_a_project_are_kept(corpus_of: Make) -> None:
    limits = ActivationLimits(lexical=5, vector=5, fused=6, reranked=3, fragments=2)
    activation = corpus_of(FILLER).ask("unrelated gardens number7", limits=limits)
    assert len(activation.candidates) <= 10
    assert activation.counts.reranked == 3
    assert activation.counts.fragments <= 2


def test_a_deadline_ends_the_activation_and_names_the_stage(corpus_of: Make) -> None:
    ticks = iter(range(0, 10_000, 25))
    with pytest.raises(Failure, match="60 seconds in the stage") as caught:
        corpus_of(FILLER).ask("gardens", clock=lambda: float(next(ticks)))
    assert caught.value.code == "activation_deadline"


def test_same_index_and_query_give_the_same_answer(corpus_of: Make) -> None:
    corpus = corpus_of(FILLER)
    first, second = corpus.ask("gardens number9"), corpus.ask("gardens number9")
    assert first.candidates == second.candidates
    assert first.fragments == second.fragments


def test_an_empty_memory_answers_with_nothing(corpus_of: Make) -> None:
    activation = corpus_of({}).ask("anything at all")
    assert activation.candidates == ()
    assert activation.fragments == ()


def test_thirty_notes_with_the_same_front_matter_do_not_rank_by_it(corpus_of: Make) -> None:
    """F15: front matter is metadata, never body text."""
    same = "---\ntags: [alpha-tag, beta-tag]\nowner: platform\n---\n"
    notes = {f"n{at}.md": f"{same}body {at}" for at in range(30)}
    activation = corpus_of(notes).ask("alpha-tag owner platform")
    assert not any(each.bm25_rank for each in activation.candidates)


def test_a_decomposed_note_is_found_by_a_composed_query(corpus_of: Make) -> None:
    notes = {**FILLER, "target.md": "cafe\u0301-menu of the day"}
    assert by_path(corpus_of(notes).ask("caf\u00e9-menu"))["target.md"].bm25_rank == 1


@given(st.lists(st.floats(-1, 1, width=32), min_size=0, max_size=300), st.integers(1, 80))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_vector_places_are_by_similarity_then_unit_order(values: list[float], limit: int) -> None:
    similarities = np.array(values, dtype=np.float32)
    expected = sorted(range(len(values)), key=lambda at: (-similarities[at], at))[:limit]
    assert list(top_ordinals(similarities, limit)) == expected


@pytest.mark.parametrize("query", ["", " ", "\n\t", "\u3000"])
def test_blank_queries_are_invalid(query: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        valid_query(query)
    assert caught.value.code == "invalid_query"


def test_a_lone_surrogate_in_a_query_is_replaced() -> None:
    assert valid_query("a\ud800b") == "a?b"
