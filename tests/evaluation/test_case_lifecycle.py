"""Cases are made once, freeze what their Run searched, keep that Run, and are found by name."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from evaluation.factory import BODIES, PROJECT, corpus, make_case, record_run, unit
from history.factory import Corpus

from memcli.errors import Conflict, Failure, NotReady
from memcli.evaluation.cases import (
    Case,
    delete_case,
    get_case,
    list_cases,
    next_unresolved,
)
from memcli.evaluation.creation import create_case, create_cases
from memcli.evaluation.frozen import canonical_manifest
from memcli.evaluation.resolve import resolve_case
from memcli.history.clearing import clear_runs, delete_run
from memcli.history.pinning import pin_run, unpin_run
from memcli.history.recording import RunRecorder
from memcli.history.runs import get_run, list_runs
from memcli.history.store import HistoryStore
from memcli.retrieval.activation import ActivationFault, ActivationLimits


def rows(store: HistoryStore, query: str) -> list[tuple[object, ...]]:
    with store.reading() as connection:
        assert connection is not None
        return [tuple(row) for row in connection.execute(query)]


def body_file(store: HistoryStore, resource_id: str) -> Path:
    return store.blobs.path_of(hashlib.sha256(BODIES[resource_id].encode()).hexdigest())


def test_a_new_case_is_a_draft_of_version_1_with_all_that_was_searched(
    store: HistoryStore,
) -> None:
    searched = corpus()
    run_id = record_run(store, searched, query="how do we moor?")
    case = create_case(store, run_id[:6], project_id=PROJECT)
    assert (case.status, case.version, case.evidence_count) == ("draft", 1, 0)
    assert (case.run_id, case.project_id, case.query) == (run_id, PROJECT, "how do we moor?")
    detail = get_case(store, case.case_id, project_id=PROJECT)
    assert detail.resources == searched.resources
    assert detail.candidates == get_run(store, run_id, project_id=PROJECT).candidates
    assert case.corpus_hash == hashlib.sha256(canonical_manifest(searched.resources)).hexdigest()


def test_creating_twice_returns_the_same_case_in_whatever_state(store: HistoryStore) -> None:
    case = make_case(store)
    resolved = resolve_case(
        store, case.case_id, project_id=PROJECT, expected_version=1, evidence=["rank:1"]
    )
    assert create_case(store, case.run_id, project_id=PROJECT) == resolved
    body_file(store, "docs/moor").unlink()
    assert create_case(store, case.run_id, project_id=PROJECT) == resolved
    assert len(list_cases(store, project_id=None)) == 1


def test_cases_over_the_same_memory_share_one_frozen_manifest(store: HistoryStore) -> None:
    cases = [
        make_case(store),
        make_case(store, project_id="other"),
        make_case(store, corpus(a="b")),
    ]
    assert len({case.corpus_hash for case in cases}) == 2
    assert rows(store, "SELECT count(*) FROM evaluation_corpora") == [(2,)]
    stored = rows(store, "SELECT count(*) FROM evaluation_corpus_resources")
    assert stored == [(len(BODIES) * 2 + 1,)]


def test_a_failed_run_is_refused_with_its_error(store: HistoryStore) -> None:
    with RunRecorder(store) as recorder:
        run_id = recorder.begin(PROJECT, "how?", None, ActivationLimits())
        recorder.fail(run_id, ActivationFault("lexical", "index_not_ready", "no ready revision"))
    with pytest.raises(NotReady, match="it failed: index_not_ready: no ready revision") as caught:
        create_case(store, run_id, project_id=PROJECT)
    assert caught.value.code == "run_not_evaluable"
    assert list_cases(store, project_id=None) == []


def test_a_running_run_is_refused(store: HistoryStore) -> None:
    with RunRecorder(store) as recorder:
        run_id = recorder.begin(PROJECT, "how?", None, ActivationLimits())
        with pytest.raises(NotReady, match="still running"):
            create_case(store, run_id, project_id=PROJECT)


@pytest.mark.parametrize("how", ["missing", "changed", "cut"])
def test_a_run_with_a_missing_or_damaged_body_is_refused_by_name(
    store: HistoryStore, how: str
) -> None:
    run_id = record_run(store)
    path = body_file(store, "docs/night")
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-3] + (b"xyz" if how == "changed" else b""))
    with pytest.raises(NotReady, match=r"body of docs/night\.md is missing or damaged") as caught:
        create_case(store, run_id, project_id=PROJECT)
    assert caught.value.code == "run_not_evaluable"
    assert rows(store, "SELECT count(*) FROM evaluation_corpora") == [(0,)]


def test_a_run_whose_manifest_is_not_whole_is_refused(store: HistoryStore) -> None:
    run_id = record_run(store)
    with store.writing() as connection:
        connection.execute("DELETE FROM retrieval_run_resources WHERE ordinal = 1")
    with pytest.raises(NotReady, match="is not what was recorded"):
        create_case(store, run_id, project_id=PROJECT)
    with store.writing() as connection:  # as in a store from before there were digests
        connection.execute("DELETE FROM retrieval_manifest_digests")
    with pytest.raises(NotReady, match="3 of 4 resources"):
        create_case(store, run_id, project_id=PROJECT)


def test_a_run_over_an_empty_memory_can_become_a_case(store: HistoryStore) -> None:
    case = make_case(store, Corpus({}), candidates=())
    detail = get_case(store, case.case_id, project_id=PROJECT)
    assert detail.resources == ()
    assert detail.candidates == ()


def test_many_runs_at_once_tell_what_became_of_each(store: HistoryStore) -> None:
    first, second = record_run(store), record_run(store, corpus(extra="x"))
    create_case(store, first, project_id=PROJECT)
    with RunRecorder(store) as recorder:
        failed = recorder.begin(PROJECT, "how?", None, ActivationLimits())
        recorder.fail(failed, ActivationFault("vector", "activation_deadline", "too slow"))
    made = create_cases(store, [first, failed, second], project_id=PROJECT)
    assert [one.is_new for one in made] == [False, False, True]
    assert [one.refusal.code if one.refusal else None for one in made] == [
        None,
        "run_not_evaluable",
        None,
    ]
    assert [one.case.run_id if one.case else one.reference for one in made] == [
        first,
        failed,
        second,
    ]


def test_pinned_runs_survive_clear_and_deletion_and_retention_while_their_case_exists(
    store: HistoryStore,
) -> None:
    case = make_case(store)
    loose = record_run(store, corpus(gone="only here"))
    assert get_run(store, case.run_id, project_id=PROJECT).run.pinned
    assert clear_runs(store, project_id=None).runs == 1
    assert [run.run_id for run in list_runs(store, project_id=None)] == [case.run_id]
    assert loose != case.run_id
    with pytest.raises(Conflict):
        delete_run(store, case.run_id, project_id=PROJECT)
    with pytest.raises(Conflict):
        unpin_run(store, case.run_id, project_id=PROJECT)
    for resource_id in BODIES:
        assert body_file(store, resource_id).exists()


def test_deleting_a_case_unpins_its_run_and_frees_its_bodies(store: HistoryStore) -> None:
    case = make_case(store)
    resolve_case(store, case.case_id, project_id=PROJECT, expected_version=1, evidence=["rank:1"])
    delete_case(store, case.case_id, project_id=PROJECT)
    for table in (
        "evaluation_cases",
        "evaluation_evidence",
        "evaluation_corpora",
        "evaluation_corpus_resources",
    ):
        assert rows(store, f"SELECT count(*) FROM {table}") == [(0,)]
    assert not get_run(store, case.run_id, project_id=PROJECT).run.pinned
    assert body_file(store, "docs/moor").exists()
    clear_runs(store, project_id=None)
    assert list_runs(store, project_id=None) == []
    assert not body_file(store, "docs/moor").exists()


def test_deleting_a_case_leaves_a_pin_by_hand_and_a_manifest_that_others_share(
    store: HistoryStore,
) -> None:
    case, other = make_case(store), make_case(store)
    pin_run(store, case.run_id, project_id=PROJECT)
    delete_case(store, case.case_id, project_id=PROJECT)
    assert get_run(store, case.run_id, project_id=PROJECT).run.pinned
    kept = get_case(store, other.case_id, project_id=PROJECT)
    assert len(kept.resources) == len(BODIES)


def test_a_run_can_become_a_case_again_after_its_case_was_deleted(store: HistoryStore) -> None:
    case = make_case(store)
    delete_case(store, case.case_id, project_id=PROJECT)
    again = create_case(store, case.run_id, project_id=PROJECT)
    assert again.case_id != case.case_id
    assert again.version == 1


def test_a_case_is_found_by_a_unique_beginning_and_near_ids_are_named(
    store: HistoryStore,
) -> None:
    ids = iter(["aaaa1111bbbb2222", "aaaa1111cccc3333", "ffff0000eeee9999"])
    for _ in range(3):
        create_case(store, record_run(store), project_id=PROJECT, new_id=lambda: next(ids))
    assert get_case(store, " FFFF ", project_id=PROJECT).case.case_id == "ffff0000eeee9999"
    with pytest.raises(Failure, match="several cases begin so") as caught:
        get_case(store, "aaaa", project_id=PROJECT)
    assert caught.value.code == "case_not_found"
    with pytest.raises(Failure, match="did you mean ffff0000eeee9999") as caught:
        get_case(store, "ffff0000eeee9998", project_id=PROJECT)
    assert caught.value.code == "case_not_found"
    for unknown in ("", "zz", "%"):
        with pytest.raises(Failure, match="no case is named"):
            get_case(store, unknown, project_id=PROJECT)


def test_naming_a_run_where_a_case_is_wanted_says_so(store: HistoryStore) -> None:
    run_id = record_run(store)
    with pytest.raises(Failure, match=f"memcli case create {run_id}"):
        get_case(store, run_id, project_id=PROJECT)


def test_a_store_that_does_not_exist_is_not_made_by_asking_for_cases(
    store: HistoryStore,
) -> None:
    assert list_cases(store, project_id=None) == []
    assert next_unresolved(store, project_id=None) is None
    for ask in (get_case, delete_case):
        with pytest.raises(Failure, match="no cases yet"):
            ask(store, "abc", project_id=PROJECT)
    with pytest.raises(Failure) as caught:
        create_case(store, "last", project_id=PROJECT)
    assert caught.value.code == "run_not_found"
    assert not store.home.exists()


def test_cases_are_listed_oldest_first_by_project_and_status(store: HistoryStore) -> None:
    first, other = make_case(store), make_case(store, project_id="other")
    second = make_case(store)
    resolve_case(store, second.case_id, project_id=PROJECT, expected_version=1, none_matched=True)

    def listed(**how: str | None) -> list[str]:
        return [case.case_id for case in list_cases(store, **{"project_id": PROJECT, **how})]

    assert listed() == [first.case_id, second.case_id]
    assert listed(status="draft") == [first.case_id]
    assert listed(status="needs_evidence") == [second.case_id]
    assert listed(project_id=None) == [first.case_id, other.case_id, second.case_id]


def test_the_next_unresolved_case_is_the_oldest_draft_that_was_not_skipped(
    store: HistoryStore,
) -> None:
    cases = [make_case(store) for _ in range(3)]

    def following(*skipping: Case) -> str | None:
        ids = {case.case_id for case in skipping}
        found = next_unresolved(store, project_id=PROJECT, skipping=ids)
        return found.case_id if found else None

    assert following() == cases[0].case_id
    assert following(cases[0]) == cases[1].case_id
    for case in cases[:2]:
        resolve_case(store, case.case_id, project_id=PROJECT, expected_version=1, none_matched=True)
    assert following() == cases[2].case_id
    assert following(cases[2]) is None


def test_excerpts_come_from_the_trace_and_the_frozen_body(store: HistoryStore) -> None:
    case = make_case(store)
    resolve_case(
        store,
        case.case_id,
        project_id=PROJECT,
        expected_version=1,
        evidence=[f"unit:{unit('docs/moor')}", "resource:docs/night"],
    )
    moor, night = get_case(store, case.case_id, project_id=PROJECT).evidence
    assert (moor.path, moor.excerpt) == ("docs/moor.md", BODIES["docs/moor"])
    assert (night.path, night.excerpt) == ("docs/night.md", BODIES["docs/night"])
    body_file(store, "docs/night").unlink()
    assert get_case(store, case.case_id, project_id=PROJECT).evidence[1].excerpt is None
