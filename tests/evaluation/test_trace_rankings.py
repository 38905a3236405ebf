"""The four rankings of one trace, the order people see, and who satisfies which evidence."""

from __future__ import annotations

from evaluation.factory import recorded
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.evaluation.matching import EvidenceItem, match
from memcli.evaluation.rankings import labelling_order, rankings_of, suggestions
from memcli.history.traces import RecordedCandidate


def keys(ranking: tuple[RecordedCandidate, ...]) -> list[str]:
    return [one.unit_key for one in ranking]


def test_one_trace_gives_all_four_variants_each_in_its_own_order() -> None:
    candidates = (
        recorded("a", "r1", bm25_rank=1, vector_rank=3, rrf_rank=1, rerank_rank=2),
        recorded("b", "r1", exact_rank=2, bm25_rank=2, rrf_rank=2, rerank_rank=3),
        recorded("c", "r2", exact_rank=1, vector_rank=1, rrf_rank=3, rerank_rank=1),
        recorded("d", "r3", vector_rank=2, rrf_rank=4),
        recorded("e", "r3", bm25_rank=3, rrf_rank=5),
    )
    rankings = rankings_of(candidates)
    assert keys(rankings["b1_bm25"]) == ["c", "b", "a", "e"]
    assert keys(rankings["b2_dense_vector"]) == ["c", "d", "a"]
    assert keys(rankings["b3_hybrid_rrf"]) == ["a", "b", "c", "d", "e"]
    assert keys(rankings["b4_reranked"]) == ["c", "a", "b"]


def test_a_stage_without_candidates_gives_an_empty_ranking() -> None:
    rankings = rankings_of([recorded("a", "r", vector_rank=1, rrf_rank=1)])
    assert rankings["b1_bm25"] == ()
    assert rankings["b4_reranked"] == ()
    nothing: list[RecordedCandidate] = []
    assert all(ranking == () for ranking in rankings_of(nothing).values())


def test_the_reranked_view_ends_at_24() -> None:
    candidates = [recorded(f"u{n}", "r", rrf_rank=n, rerank_rank=n) for n in range(1, 31)]
    assert keys(rankings_of(candidates)["b4_reranked"]) == [f"u{n}" for n in range(1, 25)]
    assert len(rankings_of(candidates)["b3_hybrid_rrf"]) == 30


def test_people_see_what_was_returned_first_then_the_best_of_each_stage_then_the_rest() -> None:
    candidates = (
        recorded("a", "r", rrf_rank=1, bm25_rank=2, rerank_rank=3),
        recorded("b", "r", rrf_rank=2, bm25_rank=1, rerank_rank=2, final_rank=2),
        recorded("c", "r", rrf_rank=3, rerank_rank=1, final_rank=1),
        recorded("d", "r", rrf_rank=4, bm25_rank=3),
        recorded("e", "r", rrf_rank=5, vector_rank=1),
    )
    assert keys(labelling_order(candidates)) == ["c", "b", "e", "a", "d"]
    assert keys(suggestions(candidates)) == ["c", "b", "e", "a"]


def test_a_unit_item_is_satisfied_before_the_item_of_its_resource() -> None:
    ranking = [recorded("r#a", "r"), recorded("r#b", "r"), recorded("r#c", "r")]
    unit, whole = EvidenceItem("r", "r#a"), EvidenceItem("r")
    assert match(ranking, [whole, unit]) == [unit, whole, None]


def test_a_resource_item_is_satisfied_once_by_the_first_candidate_of_the_resource() -> None:
    ranking = [recorded("x#a", "x"), recorded("r#a", "r"), recorded("r#b", "r")]
    assert match(ranking, [EvidenceItem("r")]) == [None, EvidenceItem("r"), None]


def test_a_unit_item_is_not_satisfied_by_another_unit_of_its_resource() -> None:
    ranking = [recorded("r#a", "r"), recorded("r#b", "r")]
    unit = EvidenceItem("r", "r#b")
    assert match(ranking, [unit]) == [None, unit]


RESOURCES = st.sampled_from(["r1", "r2", "r3"])
UNITS = st.tuples(RESOURCES, st.integers(0, 3))


@settings(deadline=None)
@given(
    ranking=st.lists(UNITS, unique=True),
    units=st.sets(UNITS),
    wholes=st.sets(RESOURCES),
)
def test_every_item_is_satisfied_at_most_once_and_a_named_unit_whenever_it_is_ranked(
    ranking: list[tuple[str, int]], units: set[tuple[str, int]], wholes: set[str]
) -> None:
    candidates = [recorded(f"{resource}#{n}", resource) for resource, n in ranking]
    evidence = [EvidenceItem(resource, f"{resource}#{n}") for resource, n in units]
    evidence += [EvidenceItem(resource) for resource in wholes]
    found = [item for item in match(candidates, evidence) if item is not None]
    assert len(found) == len(set(found))
    assert set(found) <= set(evidence)
    named = {one.unit_key for one in candidates}
    for item in evidence:
        if item.unit_key is not None:
            assert (item in found) == (item.unit_key in named)
        else:
            others = [
                one
                for one in candidates
                if one.resource_id == item.resource_id
                and EvidenceItem(one.resource_id, one.unit_key) not in evidence
            ]
            assert (item in found) == bool(others)
