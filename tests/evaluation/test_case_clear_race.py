"""Creating Cases while another process clears: what a Case froze is never collected."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace

import pytest
from evaluation.factory import PROJECT, corpus, record_run

from memcli.errors import Conflict
from memcli.evaluation.cases import get_case, list_cases
from memcli.evaluation.corpus_search import frozen_body
from memcli.evaluation.creation import create_case
from memcli.evaluation.fixture import write_fixture
from memcli.evaluation.fixture_reader import read_fixture
from memcli.evaluation.resolve import resolve_case
from memcli.evaluation.stored_set import stored_set
from memcli.history.inspection import inspect_store
from memcli.history.store import HistoryStore

Worker = Callable[..., "subprocess.Popen[str]"]


def run_together(*workers: subprocess.Popen[str]) -> list[dict[str, list[str]]]:
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n", worker.communicate()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    answers = []
    for worker in workers:
        out, err = worker.communicate()
        assert worker.returncode == 0, err
        answers.append(json.loads(out))
    return answers


def test_clearing_while_cases_are_created_never_takes_a_body_that_a_case_needs(
    store: HistoryStore, case_worker: Worker
) -> None:
    record_run(store)
    creators = [case_worker("record-and-create", store.home, 12) for _ in range(2)]
    answers = run_together(*creators, case_worker("clear", store.home, 40))
    made = [case_id for answer in answers for case_id in answer.get("made", [])]
    cases = list_cases(store, project_id=PROJECT)
    assert sorted(case.case_id for case in cases) == sorted(made)
    assert made
    for case in cases:
        detail = get_case(store, case.case_id, project_id=PROJECT)
        assert len(detail.resources) == 5
        for resource in detail.resources:
            assert frozen_body(store, resource)
    assert inspect_store(store, thorough=True).problems == ()


def test_a_case_waits_for_a_collector_at_work_and_gives_up_as_busy(store: HistoryStore) -> None:
    run_id = record_run(store)
    hasty = replace(store, lock_wait_seconds=0.1)
    with store.blobs.lock(shared=False), pytest.raises(Conflict) as caught:
        create_case(hasty, run_id, project_id=PROJECT)
    assert caught.value.code == "busy"
    assert list_cases(store, project_id=None) == []
    with store.blobs.lock(shared=True):
        assert create_case(hasty, run_id, project_id=PROJECT).version == 1


def test_two_processes_that_create_a_case_of_one_run_get_the_same_one(
    store: HistoryStore, case_worker: Worker
) -> None:
    for turn in range(3):
        run_id = record_run(store, corpus(turn=str(turn)))
        answers = run_together(*(case_worker("create", store.home, run_id) for _ in range(3)))
        assert len({str(answer["case_id"]) for answer in answers}) == 1
    assert len(list_cases(store, project_id=None)) == 3


def test_cases_made_during_a_clear_can_be_exported_whole(
    store: HistoryStore, case_worker: Worker
) -> None:
    run_together(
        case_worker("record-and-create", store.home, 8), case_worker("clear", store.home, 30)
    )
    cases = list_cases(store, project_id=PROJECT)
    for case in cases:
        resolve_case(
            store, case.case_id, project_id=PROJECT, expected_version=1, evidence=["rank:1"]
        )
    written = bytearray()
    with stored_set(store, project_id=PROJECT) as source:
        write_fixture(source, written.extend)
    assert read_fixture(bytes(written)).case_count == len(cases)
