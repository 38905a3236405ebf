"""Metrics over plain lists: the golden table, and the shares over the first places."""

from __future__ import annotations

import random

import pytest

from memcli.evaluation.metrics import (
    mean,
    mrr_at,
    ndcg_at,
    nearest_rank,
    recall_at,
    resource_diversity_at,
    scope_violation_at,
    stale_result_at,
)

GOLDEN = [
    ((1,), 1, 1.0, 1.0, 1.0),
    ((2, 5, 11), 4, 0.75, 0.3973220070, 0.5),
    ((1, 3), 2, 1.0, 0.9197207891, 1.0),
    ((10,), 1, 1.0, 0.2890648263, 0.1),
    ((11,), 1, 1.0, 0.0, 0.0),
    ((20,), 2, 0.5, 0.0, 0.0),
    ((21,), 1, 0.0, 0.0, 0.0),
    (tuple(range(1, 13)), 12, 1.0, 1.0, 1.0),
    ((), 3, 0.0, 0.0, 0.0),
]


def gains_at(places: tuple[int, ...]) -> list[bool]:
    return [place in places for place in range(1, 41)]


@pytest.mark.parametrize(("places", "relevant", "recall", "ndcg", "mrr"), GOLDEN)
def test_metrics_equal_the_golden_table(
    places: tuple[int, ...], relevant: int, recall: float, ndcg: float, mrr: float
) -> None:
    gains = gains_at(places)
    assert recall_at(gains, relevant) == pytest.approx(recall, abs=1e-9)
    assert ndcg_at(gains, relevant) == pytest.approx(ndcg, abs=1e-9)
    assert mrr_at(gains, relevant) == pytest.approx(mrr, abs=1e-9)


def test_an_empty_ranking_scores_zero_everywhere() -> None:
    assert recall_at([], 2) == ndcg_at([], 2) == mrr_at([], 2) == 0
    assert resource_diversity_at([]) == 0
    assert scope_violation_at([], {"a"}) == 0
    assert stale_result_at([], {"a": "1"}) == 0


def test_a_ranking_without_any_evidence_is_an_error_and_not_a_zero() -> None:
    for metric in (recall_at, ndcg_at, mrr_at):
        with pytest.raises(ValueError, match="evidence"):
            metric([True], 0)


def test_diversity_counts_distinct_resources_over_twenty_places_or_fewer() -> None:
    assert resource_diversity_at(["a", "a", "b", "c"]) == 0.75
    assert resource_diversity_at(["a"] * 20 + ["b"] * 20) == 1 / 20


@pytest.mark.parametrize(
    ("resources", "violation", "stale"),
    [
        ([("a", "1"), ("b", "2")], 0.0, 0.0),
        ([("x", "1"), ("b", "2")], 0.5, 0.0),
        ([("a", "1"), ("b", "old")], 0.0, 0.5),
        ([("x", "1"), ("b", "old"), ("a", "1"), ("y", "2")], 0.5, 0.25),
        ([("x", "old")], 1.0, 0.0),
    ],
    ids=["neither", "violation only", "stale only", "both", "outside is not stale too"],
)
def test_scope_violation_and_stale_result_are_independent(
    resources: list[tuple[str, str]], violation: float, stale: float
) -> None:
    frozen = {"a": "1", "b": "2"}
    assert scope_violation_at([one for one, _ in resources], frozen) == violation
    assert stale_result_at(resources, frozen) == stale


def test_shares_look_at_the_first_twenty_places_only() -> None:
    inside, outside = [("a", "1")] * 20, [("x", "1")] * 5 + [("a", "2")] * 5
    assert scope_violation_at([one for one, _ in inside + outside], {"a": "1"}) == 0
    assert stale_result_at(inside + outside, {"a": "1"}) == 0


def test_nearest_rank_gives_a_value_that_was_measured() -> None:
    assert nearest_rank([], 50) is None
    assert nearest_rank([7], 50) == nearest_rank([7], 95) == 7
    values = list(range(10, 210, 10))
    random.Random(1).shuffle(values)
    assert nearest_rank(values, 50) == 100
    assert nearest_rank(values, 95) == 190
    assert nearest_rank([*values, 1000], 95) == 200


def test_the_mean_does_not_depend_on_the_order() -> None:
    values = [random.Random(2).random() for _ in range(7)] + [1e-17, 1.0, 1e16, -1e16]
    assert mean(values) == mean(values[::-1]) == mean(sorted(values))
