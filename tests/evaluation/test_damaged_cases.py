"""A Case that is not what was confirmed is named, scored by no report, and can be deleted."""

from __future__ import annotations

import pytest
from evaluation.factory import PROJECT, make_case

from memcli.errors import NotReady
from memcli.evaluation.cases import (
    delete_case,
    get_case,
    list_damaged_cases,
    next_unresolved,
)
from memcli.evaluation.creation import create_case
from memcli.evaluation.report import report_document
from memcli.evaluation.resolve import resolve_case
from memcli.evaluation.stored_set import stored_set
from memcli.history.digests import DamagedRecord
from memcli.history.store import HistoryStore

CHANGES = [
    "UPDATE evaluation_cases SET query = 'another one' WHERE case_id = ?",
    "UPDATE evaluation_cases SET status = 'draft' WHERE case_id = ?",
    "UPDATE evaluation_cases SET version = 3 WHERE case_id = ?",
    "UPDATE evaluation_cases SET project_id = 'elsewhere' WHERE case_id = ?",
    "UPDATE evaluation_evidence SET resource_id = 'docs/night' WHERE case_id = ?",
    "UPDATE evaluation_evidence SET unit_key = NULL WHERE case_id = ?",
    "DELETE FROM evaluation_evidence WHERE case_id = ?",
    "UPDATE evaluation_corpora SET effective_hash = 'x' WHERE ? <> ''",
]


def change(store: HistoryStore, statement: str, value: str) -> None:
    with store.writing() as connection:
        assert connection.execute(statement, (value,)).rowcount > 0


def ready_case(store: HistoryStore) -> str:
    case_id = make_case(store).case_id
    resolve_case(store, case_id, project_id=PROJECT, expected_version=1, evidence=["rank:1"])
    return case_id


@pytest.mark.parametrize("statement", CHANGES)
def test_a_changed_case_is_refused_by_all_that_would_use_it(
    store: HistoryStore, statement: str
) -> None:
    case_id = ready_case(store)
    change(store, statement, case_id)
    assert list_damaged_cases(store) == [case_id]
    with pytest.raises(DamagedRecord, match=case_id) as caught:
        get_case(store, case_id, project_id=PROJECT)
    assert f"memcli case delete {case_id}" in (caught.value.hint or "")
    version = 3 if "version = 3" in statement else 2
    with pytest.raises(DamagedRecord):
        resolve_case(
            store, case_id, project_id=PROJECT, expected_version=version, none_matched=True
        )
    with (
        pytest.raises(NotReady, match="not what was confirmed"),
        stored_set(store, project_id=None) as cases,
    ):
        report_document(cases)
    run_id = delete_case(store, case_id, project_id=PROJECT).run_id
    assert create_case(store, run_id, project_id=PROJECT).status == "draft"
    assert list_damaged_cases(store) == []


def test_a_report_leaves_out_a_case_whose_run_was_changed_and_says_so(
    store: HistoryStore,
) -> None:
    whole, other = ready_case(store), ready_case(store)
    run_id = get_case(store, other, project_id=PROJECT).case.run_id
    change(
        store,
        "UPDATE retrieval_run_candidates SET bm25_rank = 3 WHERE run_id = ? AND ordinal = 0",
        run_id,
    )
    with stored_set(store, project_id=PROJECT) as cases:
        report = report_document(cases)
    assert [one["case_id"] for one in report["per_case"]] == [whole]
    (left_out,) = report["excluded"]
    assert (left_out["case_id"], left_out["status"]) == (other, "ready")
    assert left_out["reason"] == "its source run is damaged: it is not what was recorded"


def test_a_damaged_draft_is_not_offered_for_labelling(store: HistoryStore) -> None:
    damaged, other = make_case(store).case_id, make_case(store).case_id
    change(store, "UPDATE evaluation_cases SET query = 'another one' WHERE case_id = ?", damaged)
    offered = next_unresolved(store, project_id=PROJECT)
    assert offered is not None
    assert offered.case_id == other
