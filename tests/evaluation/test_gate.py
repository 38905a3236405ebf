"""Rules of a gate: what they may name, when a figure holds, what counts as failed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import InvalidInput
from memcli.evaluation.gate import Rule, gate_document, judge, read_rule
from memcli.evaluation.rankings import VARIANTS
from memcli.evaluation.scoring import METRICS


def means(value: float) -> dict[str, Any]:
    return {**dict.fromkeys(METRICS, value), "warm_p50_us": 900, "warm_p95_us": None}


def report(value: float, cases: int = 7) -> dict[str, Any]:
    return {
        "schema": "memcli.report.v1",
        "cases": cases,
        "excluded": [{"case_id": "c", "status": "draft", "reason": "r"}],
        "variants": {name: means(value) for name in VARIANTS},
    }


def rerun(value: float, recorded: float) -> dict[str, Any]:
    before = {name: means(recorded) for name in VARIANTS}
    return {**report(value), "schema": "memcli.rerun.v1", "recorded": before}


def held(document: dict[str, Any], rule: str) -> bool:
    (verdict,) = judge(document, [read_rule(rule)])
    return verdict.held


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("b4_reranked.ndcg_at_10>=0.75", True),  # F30: exactly at the limit holds
        ("b4_reranked.ndcg_at_10<=0.75", True),
        ("b4_reranked.ndcg_at_10>=0.7500001", False),
        (" b1_bm25.recall_at_20 >= 0.7 ", True),
        ("cases>=7", True),
        ("cases>=8", False),  # F30: one of the cases has vanished
        ("excluded<=0", False),
        ("excluded<=1", True),
        ("b1_bm25.warm_p50_us<=900", True),
        ("b1_bm25.warm_p95_us<=900", False),  # nothing was measured
    ],
)
def test_a_rule_holds_at_its_limit_and_fails_where_there_is_no_figure(
    rule: str, expected: bool
) -> None:
    assert held(report(0.75), rule) is expected


def test_a_mean_that_is_a_rounding_error_below_its_limit_is_at_it() -> None:
    assert held(report(0.1 + 0.2), "b2_dense_vector.mrr_at_10<=0.3")
    assert held(report(1 - 0.9), "b2_dense_vector.mrr_at_10>=0.1")


def test_a_drop_is_what_the_recorded_runs_scored_more() -> None:
    assert held(rerun(0.70, recorded=0.72), "b4_reranked.ndcg_at_10.drop<=0.02")
    assert not held(rerun(0.69, recorded=0.72), "b4_reranked.ndcg_at_10.drop<=0.02")
    assert held(rerun(0.9, recorded=0.72), "b4_reranked.ndcg_at_10.drop<=0")


def test_a_drop_needs_a_rerun() -> None:
    with pytest.raises(InvalidInput) as caught:
        held(report(0.7), "b4_reranked.ndcg_at_10.drop<=0.02")
    assert caught.value.code == "invalid_rule"


@pytest.mark.parametrize(
    "text",
    ["", ">=1", "cases", "cases>7", "cases=7", "cases>=", "cases>=x", "cases>=nan", "cases>=-1",
     "b5>=1", "b4_reranked>=1", "b4_reranked.ndcg>=1", "b4_reranked.warm_p50_us.drop<=1",
     "b4_reranked.ndcg_at_10.drop.drop<=1", "cases>=1\x00", "cases>=1e3", "cases.drop<=1"],
)  # fmt: skip
def test_what_is_no_rule_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_rule(text)
    assert caught.value.code == "invalid_rule"
    assert caught.value.hint


@given(st.text())
def test_any_text_is_a_rule_or_refused(text: str) -> None:
    try:
        rule = read_rule(text)
    except InvalidInput:
        return
    assert read_rule(str(rule)).figure == rule.figure


@given(
    st.sampled_from(VARIANTS),
    st.sampled_from(METRICS),
    st.sampled_from([">=", "<="]),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_one_of_two_opposite_rules_holds(
    variant: str, metric: str, relation: str, limit: float, value: float
) -> None:
    other = {">=": "<=", "<=": ">="}[relation]
    verdicts = judge(
        report(value),
        [Rule(f"{variant}.{metric}", relation, limit), Rule(f"{variant}.{metric}", other, limit)],
    )
    assert any(each.held for each in verdicts)


def test_a_lost_case_fails_the_gate_though_every_rule_holds() -> None:
    document = report(1.0)
    verdicts = judge(document, [read_rule("cases>=1")])
    assert gate_document(document, verdicts, lost=())["passed"]
    failed = gate_document(document, verdicts, lost=["c"])
    assert not failed["passed"]
    assert failed["lost"] == ["c"]
