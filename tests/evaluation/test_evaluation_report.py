"""The report: what each trace scores, what is left out and why, and what the figures rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest
from evaluation.factory import (
    PROJECT,
    TIMINGS,
    SetOf,
    corpus,
    frozen_case,
    make_case,
    record_run,
    recorded,
    trace,
    unit,
)

from memcli.errors import Failure, NotReady
from memcli.evaluation.frozen import EvaluationSet, ExcludedCase
from memcli.evaluation.matching import EvidenceItem
from memcli.evaluation.report import report_bytes, report_document
from memcli.evaluation.resolve import resolve_case
from memcli.evaluation.stored_set import stored_set
from memcli.history.store import HistoryStore

WHOLE = EvidenceItem("r")


def report(store: HistoryStore, references: Sequence[str] | None = None) -> dict[str, Any]:
    with stored_set(store, project_id=PROJECT, references=references) as source:
        return report_document(source)


def variants(source: EvaluationSet) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = report_document(source)["variants"]
    return found


def test_all_four_variants_are_scored_from_one_trace() -> None:
    candidates = [
        recorded("r#a", "r", exact_rank=1, bm25_rank=2, vector_rank=2, rrf_rank=3, rerank_rank=4),
        recorded("s#a", "s", bm25_rank=1, vector_rank=1, rrf_rank=1, rerank_rank=1),
        recorded("s#b", "s", bm25_rank=3, vector_rank=3, rrf_rank=2, rerank_rank=2),
        recorded("s#c", "s", bm25_rank=4, vector_rank=4, rrf_rank=4, rerank_rank=3),
    ]
    scored = variants(SetOf([frozen_case(candidates, [EvidenceItem("r", "r#a")])]))
    assert {name: one["mrr_at_10"] for name, one in scored.items()} == {
        "b1_bm25": 1,
        "b2_dense_vector": 1 / 2,
        "b3_hybrid_rrf": 1 / 3,
        "b4_reranked": 1 / 4,
    }
    assert all(one["recall_at_20"] == 1 for one in scored.values())
    assert all(one["resource_diversity_at_20"] == 0.5 for one in scored.values())


def test_an_empty_ranking_scores_zero_and_counts_in_the_mean() -> None:
    found = frozen_case([recorded("r#a", "r", vector_rank=1, rrf_rank=1)], [WHOLE])
    empty = frozen_case([], [WHOLE], case_id="c2")
    document = report_document(SetOf([found, empty]))
    assert document["variants"]["b2_dense_vector"]["recall_at_20"] == 0.5
    assert document["variants"]["b2_dense_vector"]["resource_diversity_at_20"] == 0.5
    assert document["variants"]["b1_bm25"]["ndcg_at_10"] == 0
    assert document["counts"]["empty_rankings"] == {
        "b1_bm25": 2,
        "b2_dense_vector": 1,
        "b3_hybrid_rrf": 1,
        "b4_reranked": 2,
    }


@pytest.mark.parametrize(
    ("resources", "violation", "stale"),
    [
        ([("r", "a"), ("s", "a")], 0.0, 0.0),
        ([("r", "a"), ("outside", "a")], 0.5, 0.0),
        ([("r", "a"), ("s", "old")], 0.0, 0.5),
        ([("r", "a"), ("s", "old"), ("outside", "old"), ("outside", "a")], 0.5, 0.25),
    ],
    ids=["neither", "violation", "stale", "both"],
)
def test_scope_violation_and_stale_result_are_scored_independently_from_traces(
    resources: list[tuple[str, str]], violation: float, stale: float
) -> None:
    candidates = [
        recorded(f"{one}#{at}", one, resource_hash=of, vector_rank=at, rrf_rank=at)
        for at, (one, of) in enumerate(resources, 1)
    ]
    source = SetOf([frozen_case(candidates, [WHOLE])], hashes={"r": "a", "s": "a"})
    scored = variants(source)["b2_dense_vector"]
    assert (scored["scope_violation_at_20"], scored["stale_result_at_20"]) == (violation, stale)
    assert scored["recall_at_20"] == 1


def test_scope_violation_and_stale_result_are_found_in_recorded_runs(store: HistoryStore) -> None:
    searched = corpus()
    first, second, third, fourth = trace(searched)
    candidates = (
        first,
        replace(second, resource_id="elsewhere", unit_key="elsewhere#root~0.0"),
        replace(third, resource_hash="0" * 64),
        replace(fourth, resource_id="elsewhere", unit_key="elsewhere#root~0.1"),
    )
    case = make_case(store, searched, candidates=candidates)
    resolve_case(store, case.case_id, project_id=PROJECT, expected_version=1, evidence=["rank:2"])
    scored = report(store)["variants"]["b3_hybrid_rrf"]
    assert scored["scope_violation_at_20"] == 0.5
    assert scored["stale_result_at_20"] == 0.25
    assert scored["recall_at_20"] == 1


def test_evidence_that_no_stage_found_keeps_recall_below_one(store: HistoryStore) -> None:
    searched = corpus()
    case = make_case(store, searched, candidates=trace(searched)[:2])
    resolve_case(
        store,
        case.case_id,
        project_id=PROJECT,
        expected_version=1,
        evidence=["rank:1", "resource:notes/fuel"],
    )
    document = report(store)
    assert document["variants"]["b1_bm25"]["recall_at_20"] == 0.5
    (scored,) = document["per_case"]
    assert scored["evidence"] == [
        {"resource_id": "docs/moor", "unit_key": unit("docs/moor")},
        {"resource_id": "notes/fuel", "unit_key": None},
    ]
    assert scored["variants"]["b1_bm25"]["places"] == [1, None]


def test_warm_figures_add_up_the_stages_of_each_variant_by_nearest_rank() -> None:
    candidates = [recorded("r#a", "r", rrf_rank=1)]
    cases = [
        frozen_case(
            candidates,
            [WHOLE],
            case_id=f"c{at:02}",
            timings_us={**TIMINGS, "lexical": 100 * at},
        )
        for at in range(1, 21)
    ]
    scored = variants(SetOf(cases))
    assert (scored["b1_bm25"]["warm_p50_us"], scored["b1_bm25"]["warm_p95_us"]) == (1000, 1900)
    assert scored["b2_dense_vector"]["warm_p50_us"] == 2_030
    assert scored["b3_hybrid_rrf"]["warm_p50_us"] == 1000 + 2_000 + 30 + 4
    assert scored["b4_reranked"]["warm_p95_us"] == 1900 + 2_000 + 30 + 4 + 50_000


def test_a_run_without_the_time_of_a_stage_gives_no_warm_figure_and_is_counted() -> None:
    untimed = {name: value for name, value in TIMINGS.items() if name != "rerank"}
    cases = [
        frozen_case([], [WHOLE], timings_us=untimed),
        frozen_case([], [WHOLE], case_id="c2", timings_us={}),
    ]
    document = report_document(SetOf(cases))
    assert document["variants"]["b3_hybrid_rrf"]["warm_p50_us"] == 2_134
    assert document["variants"]["b4_reranked"]["warm_p50_us"] is None
    assert document["counts"]["timed_cases"] == {
        "b1_bm25": 1,
        "b2_dense_vector": 1,
        "b3_hybrid_rrf": 1,
        "b4_reranked": 0,
    }


def test_every_case_left_out_is_listed_with_its_status_and_the_reason(
    store: HistoryStore,
) -> None:
    ready, draft, none = (make_case(store) for _ in range(3))
    damaged = make_case(store, corpus(own="a body of its own"))
    for case in (ready, damaged):
        resolve_case(
            store, case.case_id, project_id=PROJECT, expected_version=1, evidence=["rank:1"]
        )
    resolve_case(store, none.case_id, project_id=PROJECT, expected_version=1, none_matched=True)
    make_case(store, project_id="other")
    own = next(path for path in store.blobs.blobs.glob("*/*") if b"of its own" in path.read_bytes())
    own.write_bytes(b"another body")

    document = report(store)
    assert document["cases"] == document["counts"]["scored"] == 1
    assert [one["case_id"] for one in document["per_case"]] == [ready.case_id]
    assert document["excluded"] == sorted(
        [
            {
                "case_id": draft.case_id,
                "status": "draft",
                "reason": "it has not been resolved yet",
            },
            {
                "case_id": none.case_id,
                "status": "needs_evidence",
                "reason": "no evidence was confirmed: none matched",
            },
            {
                "case_id": damaged.case_id,
                "status": "ready",
                "reason": "the frozen body of own.md is missing or damaged",
            },
        ],
        key=lambda one: one["case_id"],
    )
    counts = document["counts"]
    assert (counts["selected"], counts["excluded"]) == (4, 3)
    assert "rest on 1 case" in document["notes"][2]
    assert "3 left out" in document["notes"][2]


def test_a_case_whose_frozen_manifest_was_changed_is_left_out(store: HistoryStore) -> None:
    cases = [make_case(store), make_case(store, corpus(own="x"))]
    for case in cases:
        resolve_case(
            store, case.case_id, project_id=PROJECT, expected_version=1, evidence=["rank:1"]
        )
    with store.writing() as connection:
        connection.execute(
            "DELETE FROM evaluation_corpus_resources WHERE corpus_hash = ? AND ordinal = 1",
            (cases[1].corpus_hash,),
        )
    (left_out,) = report(store)["excluded"]
    assert left_out["reason"] == "its frozen manifest is damaged"
    assert left_out["case_id"] == cases[1].case_id


@pytest.mark.parametrize("evidence", ["rank:2", "resource:docs/night"])
def test_a_case_whose_evidence_is_in_neither_trace_nor_corpus_is_left_out(
    store: HistoryStore, evidence: str
) -> None:
    for named in ("rank:1", evidence):
        case = make_case(store)
        resolve_case(store, case.case_id, project_id=PROJECT, expected_version=1, evidence=[named])
    with store.writing() as connection:
        connection.execute(
            "UPDATE evaluation_evidence SET resource_id = 'ghost', "
            "unit_key = CASE WHEN unit_key IS NULL THEN NULL ELSE 'ghost#root~0.0' END "
            "WHERE case_id = ?",
            (case.case_id,),
        )
    (left_out,) = report(store)["excluded"]
    assert left_out["reason"] == "it is damaged: it is not what was confirmed"
    with store.writing() as connection:  # as in a store from before there were digests
        connection.execute("DELETE FROM evaluation_case_digests")
    (left_out,) = report(store)["excluded"]
    assert left_out["case_id"] == case.case_id
    assert "neither its trace nor its corpus" in left_out["reason"]


def test_a_report_says_what_its_figures_are_not() -> None:
    document = report_document(SetOf([frozen_case([], [WHOLE])]))
    text = " ".join(document["notes"])
    assert "not today's index" in text
    assert "no controlled benchmark" in text
    assert "none was left out" in text


def test_a_set_without_a_ready_case_is_not_ready_and_never_a_report_of_zeros(
    store: HistoryStore,
) -> None:
    with pytest.raises(NotReady, match="no evaluation case to score") as caught:
        report(store)
    assert caught.value.code == "case_not_ready"
    case = make_case(store)
    with pytest.raises(NotReady, match=r"\(draft\) cannot be scored: it has not been resolved"):
        report(store)
    second = make_case(store)
    resolve_case(store, second.case_id, project_id=PROJECT, expected_version=1, none_matched=True)
    with pytest.raises(NotReady, match="1 draft, 1 needs_evidence"):
        report(store)
    with pytest.raises(NotReady, match=case.case_id):
        report(store, [case.case_id])


def test_cases_can_be_chosen_by_name_and_an_unknown_one_is_an_error(store: HistoryStore) -> None:
    cases = [make_case(store) for _ in range(3)]
    for case in cases:
        resolve_case(
            store, case.case_id, project_id=PROJECT, expected_version=1, evidence=["rank:1"]
        )
    chosen = [cases[2].case_id, cases[0].case_id[:10], cases[2].case_id]
    document = report(store, chosen)
    assert [one["case_id"] for one in document["per_case"]] == sorted(
        [cases[0].case_id, cases[2].case_id]
    )
    assert document["counts"]["selected"] == 2
    with pytest.raises(Failure, match="no case is named"):
        report(store, ["nope"])


def test_the_same_set_gives_the_same_bytes_in_every_serialisation(store: HistoryStore) -> None:
    for _ in range(3):
        case = make_case(store)
        resolve_case(
            store,
            case.case_id,
            project_id=PROJECT,
            expected_version=1,
            evidence=["rank:2", "rank:1"],
        )
    first, second = report(store), report(store)
    assert report_bytes(first) == report_bytes(second)
    assert orjson.dumps(first, option=orjson.OPT_APPEND_NEWLINE) == report_bytes(first)


def test_a_report_reads_nothing_but_the_frozen_run(store: HistoryStore) -> None:
    case = make_case(store)
    resolve_case(store, case.case_id, project_id=PROJECT, expected_version=1, evidence=["rank:1"])
    before = report_bytes(report(store))
    record_run(store, corpus(new="later note"))
    assert report_bytes(report(store)) == before


def test_excluded_cases_of_any_set_reach_the_report() -> None:
    left_out = ExcludedCase("c0", "draft", "it has not been resolved yet")
    document = report_document(SetOf([frozen_case([], [WHOLE])], [left_out]))
    assert document["excluded"] == [
        {"case_id": "c0", "status": "draft", "reason": "it has not been resolved yet"}
    ]
