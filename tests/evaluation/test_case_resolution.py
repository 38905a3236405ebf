"""Resolving replaces all evidence by compare-and-swap; what is refused changes nothing."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace

import pytest
from evaluation.factory import PROJECT, corpus, make_case, trace, unit

from memcli.errors import Conflict, Failure, InvalidInput
from memcli.evaluation.cases import Case, delete_case, get_case
from memcli.evaluation.evidence import Named, parse_resolution
from memcli.evaluation.matching import EvidenceItem
from memcli.evaluation.resolve import resolve_case
from memcli.history.store import HistoryStore

MOOR = EvidenceItem("docs/moor", unit("docs/moor"))
NIGHT = EvidenceItem("docs/night")


def resolve(
    store: HistoryStore, case: Case, version: int, *evidence: Named, none_matched: bool = False
) -> Case:
    return resolve_case(
        store,
        case.case_id,
        project_id=PROJECT,
        expected_version=version,
        evidence=evidence,
        none_matched=none_matched,
    )


def held(store: HistoryStore, case: Case) -> tuple[str, int, list[EvidenceItem]]:
    detail = get_case(store, case.case_id, project_id=PROJECT)
    return detail.case.status, detail.case.version, [one.item for one in detail.evidence]


def test_evidence_makes_a_case_ready_and_resolving_again_replaces_all_of_it(
    store: HistoryStore,
) -> None:
    case = make_case(store)
    resolved = resolve(store, case, 1, MOOR, NIGHT)
    assert (resolved.status, resolved.version, resolved.evidence_count) == ("ready", 2, 2)
    assert resolved.updated_at > case.updated_at
    assert held(store, case) == ("ready", 2, [MOOR, NIGHT])
    resolve(store, case, 2, EvidenceItem("notes/fuel"))
    assert held(store, case) == ("ready", 3, [EvidenceItem("notes/fuel")])


def test_none_matched_takes_all_evidence_away_and_the_case_needs_evidence(
    store: HistoryStore,
) -> None:
    case = make_case(store)
    resolve(store, case, 1, MOOR)
    resolve(store, case, 2, none_matched=True)
    assert held(store, case) == ("needs_evidence", 3, [])


def test_a_unit_and_its_resource_are_two_items(store: HistoryStore) -> None:
    case = make_case(store)
    resolve(store, case, 1, MOOR, EvidenceItem("docs/moor"))
    assert held(store, case) == ("ready", 2, [EvidenceItem("docs/moor"), MOOR])


@pytest.mark.parametrize("version", [1, 3, 0, -1])
def test_a_stale_version_is_a_conflict_that_names_the_current_one_and_changes_nothing(
    store: HistoryStore, version: int
) -> None:
    case = make_case(store)
    resolve(store, case, 1, MOOR)
    before = held(store, case)
    with pytest.raises(Conflict, match="is at version 2") as caught:
        resolve(store, case, version, NIGHT)
    assert caught.value.code == "evaluation_case_conflict"
    assert held(store, case) == before


def test_both_forms_at_once_and_neither_are_usage_errors(store: HistoryStore) -> None:
    case = make_case(store)
    with pytest.raises(InvalidInput):
        resolve(store, case, 1, MOOR, none_matched=True)
    with pytest.raises(InvalidInput):
        resolve(store, case, 1)
    assert held(store, case) == ("draft", 1, [])


@pytest.mark.parametrize(
    ("evidence", "named"),
    [
        (["unit:nowhere#root~0.0"], "unit:nowhere#root~0.0 is no candidate of the run"),
        ([EvidenceItem("docs/moor", "other#root~0.0")], "unit:other#root~0.0 is no candidate"),
        (
            [EvidenceItem("docs/night", unit("docs/moor"))],
            "is of 'docs/moor', not of 'docs/night'",
        ),
        (["resource:docs/unknown"], "resource:docs/unknown is not in the frozen corpus"),
        (["rank:5"], "rank:5 is past the last of 4 candidates"),
        (["rank:1", MOOR], "unit:docs/moor#root~0.0 is given twice"),
        ([NIGHT, NIGHT], "resource:docs/night is given twice"),
    ],
)
def test_unknown_foreign_and_duplicate_evidence_is_refused_by_name(
    store: HistoryStore, evidence: list[Named], named: str
) -> None:
    case = make_case(store)
    resolve(store, case, 1, MOOR)
    with pytest.raises(Failure) as caught:
        resolve(store, case, 2, NIGHT, *evidence)
    assert caught.value.code == "evidence_invalid"
    assert named in caught.value.message
    assert held(store, case) == ("ready", 2, [MOOR])


def test_a_unit_of_another_run_over_the_same_memory_is_foreign(store: HistoryStore) -> None:
    searched = corpus()
    case = make_case(store, searched, candidates=trace(searched)[:2])
    other = make_case(store, searched)
    assert case.corpus_hash == other.corpus_hash
    key = unit("notes/fuel")
    assert resolve(store, other, 1, f"unit:{key}").status == "ready"
    with pytest.raises(Failure, match="is no candidate of the run"):
        resolve(store, case, 1, f"unit:{key}")
    assert resolve(store, case, 1, "resource:notes/fuel").status == "ready"


def test_every_fault_of_a_list_is_named(store: HistoryStore) -> None:
    case = make_case(store)
    with pytest.raises(Failure) as caught:
        resolve(store, case, 1, "resource:a", NIGHT, "resource:b", NIGHT)
    for name in ("resource:a", "resource:b", "resource:docs/night is given twice"):
        assert name in caught.value.message


@pytest.mark.parametrize("spelling", ["moor", "unit:", "rank:0", "rank:-1", "rank:x", "rank:²", ""])
def test_a_spelling_of_no_known_form_is_a_usage_error(store: HistoryStore, spelling: str) -> None:
    case = make_case(store)
    with pytest.raises(InvalidInput) as caught:
        resolve(store, case, 1, spelling)
    assert caught.value.code == "invalid_resolution"


def test_rank_1_is_the_first_fragment_of_the_answer_whatever_its_other_ranks(
    store: HistoryStore,
) -> None:
    searched = corpus()
    first, second, *others = trace(searched)
    candidates = (replace(first, final_rank=2), replace(second, final_rank=1), *others)
    case = make_case(store, searched, candidates=candidates)
    resolve(store, case, 1, "rank:1")
    assert held(store, case)[2] == [EvidenceItem("docs/night", unit("docs/night"))]
    resolve(store, case, 2, "rank:4")
    assert held(store, case)[2] == [EvidenceItem("notes/fuel", unit("notes/fuel"))]


def test_an_id_with_colons_and_spaces_can_be_named(store: HistoryStore) -> None:
    searched = corpus(**{"odd: id #1": "text"})
    case = make_case(store, searched)
    resolve(store, case, 1, "resource:odd: id #1", "unit:odd: id #1#root~0.0")
    assert held(store, case)[2] == [
        EvidenceItem("odd: id #1"),
        EvidenceItem("odd: id #1", "odd: id #1#root~0.0"),
    ]


def test_a_case_that_is_gone_is_not_found(store: HistoryStore) -> None:
    case = make_case(store)
    delete_case(store, case.case_id, project_id=PROJECT)
    with pytest.raises(Failure) as caught:
        resolve(store, case, 1, MOOR)
    assert caught.value.code == "case_not_found"


def test_of_two_processes_with_one_version_one_saves_and_the_other_meets_a_conflict(
    store: HistoryStore, case_worker: Callable[..., subprocess.Popen[str]]
) -> None:
    for turn in range(3):
        case = make_case(store)
        words = ["rank:1", "rank:2", "rank:3", "rank:4"]
        writers = [case_worker("resolve", store.home, case.case_id, 1, word) for word in words]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        answers = [json.loads(writer.communicate()[0]) for writer in together(writers)]
        saved = [answer for answer in answers if answer.get("version") == 2]
        refused = [a for a in answers if a.get("code") == "evaluation_case_conflict"]
        assert (len(saved), len(refused)) == (1, 3), (turn, answers)
        assert all("is at version 2" in answer["message"] for answer in refused)
        status, version, items = held(store, case)
        assert (status, version, len(items)) == ("ready", 2, 1)


def together(processes: list[subprocess.Popen[str]]) -> list[subprocess.Popen[str]]:
    """Let all of them begin before the first is waited for."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return processes


def test_a_resolution_can_be_given_as_json() -> None:
    parsed = parse_resolution(
        b'{"expected_version": 2, "evidence": ["rank:1", {"resource_id": "a"},'
        b' {"resource_id": "b", "unit_key": "b#root~0.0"}]}'
    )
    assert parsed.expected_version == 2
    assert parsed.evidence == ("rank:1", EvidenceItem("a"), EvidenceItem("b", "b#root~0.0"))
    assert not parsed.none_matched
    none = parse_resolution(b'{"expected_version":1,"evidence":[],"none_matched":true}')
    assert none.none_matched


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "no JSON object"),
        (b'{"evidence": []}', "expected_version"),
        (b'{"expected_version": "1"}', "expected_version"),
        (b'{"expected_version": true}', "expected_version"),
        (b'{"expected_version": 1.0}', "expected_version"),
        (b'{"expected_version": 0}', "expected_version"),
        (b'{"expected_version": 1, "none_matched": 1}', "none_matched"),
        (b'{"expected_version": 1, "evidence": {}}', "must be a list"),
        (b'{"expected_version": 1, "evidence": [1]}', r"evidence\[0\] must be"),
        (b'{"expected_version": 1, "evidence": [{}]}', r"evidence\[0\].resource_id"),
        (
            b'{"expected_version": 1, "evidence": [{"resource_id": "a", "unit_key": ""}]}',
            r"evidence\[0\].unit_key",
        ),
        (
            b'{"expected_version": 1, "evidence": [{"resource_id": "a", "excerpt": "x"}]}',
            "unknown name 'excerpt'",
        ),
        (b'{"expected_version": 1, "relevance": 3}', "unknown name 'relevance'"),
        (b'{"expected_version": 1, "expected_version": 2}', "given twice"),
    ],
)
def test_json_of_another_shape_is_a_usage_error_that_says_why(data: bytes, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as caught:
        parse_resolution(data)
    assert caught.value.code == "invalid_resolution"
