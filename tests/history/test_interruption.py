"""A ``running`` Run of a dead process is a failed one; one of a live process is never touched."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from history.conftest import Clock
from history.factory import make_activation, numbered_corpus

from memcli.history.processes import ProcessMark, is_gone, this_process
from memcli.history.recording import RunRecorder
from memcli.history.runs import get_run, list_runs
from memcli.history.store import HistoryStore
from memcli.retrieval.activation import ActivationLimits

Record = Callable[..., str]
Worker = Callable[..., "subprocess.Popen[str]"]


def begun_by(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def stored(store: HistoryStore, run_id: str) -> tuple[str, str | None]:
    with closing(sqlite3.connect(store.path)) as connection:
        row: tuple[str, str | None] = connection.execute(
            "SELECT status, error_code FROM retrieval_runs WHERE run_id = ?", (run_id,)
        ).fetchone()
        return row


def shown(store: HistoryStore, run_id: str) -> tuple[str, str | None]:
    run = get_run(store, run_id, project_id="harbor").run
    return run.status, run.error.code if run.error else None


def begin_as(store: HistoryStore, process: ProcessMark) -> str:
    with RunRecorder(store, process=process) as recorder:
        return recorder.begin("harbor", "how?", None, ActivationLimits())


def test_an_interrupted_run_is_shown_at_once_and_stored_by_the_next_writer(
    store: HistoryStore, worker: Worker, record: Record
) -> None:
    process = worker("begin-and-wait", store.home, "harbor")
    run_id = begun_by(process)
    assert shown(store, run_id) == ("running", None)
    process.kill()
    process.wait()
    assert shown(store, run_id) == ("failed", "retrieval_interrupted")
    assert stored(store, run_id) == ("running", None)
    assert [run.run_id for run in list_runs(store, project_id="harbor", status="failed")] == [
        run_id
    ]
    assert list_runs(store, project_id="harbor", status="running") == []
    before = get_run(store, run_id, project_id="harbor")
    record(numbered_corpus(2))
    assert stored(store, run_id) == ("failed", "retrieval_interrupted")
    assert get_run(store, run_id, project_id="harbor") == before


def test_a_killed_process_that_nobody_waited_for_is_gone(
    store: HistoryStore, worker: Worker
) -> None:
    process = worker("begin-and-wait", store.home, "harbor")
    run_id = begun_by(process)
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert shown(store, run_id) == ("failed", "retrieval_interrupted")


def test_a_live_run_is_never_touched_also_when_its_process_is_stopped(
    store: HistoryStore, worker: Worker, record: Record, clock: Clock
) -> None:
    process = worker("begin-and-wait", store.home, "harbor")
    run_id = begun_by(process)
    os.kill(process.pid, signal.SIGSTOP)
    clock.advance(days=3)
    record(numbered_corpus(2))
    assert shown(store, run_id) == ("running", None)
    assert stored(store, run_id) == ("running", None)
    assert [run.run_id for run in list_runs(store, project_id="harbor", status="running")] == [
        run_id
    ]


def test_a_reused_process_number_is_not_taken_for_the_process(store: HistoryStore) -> None:
    mine = this_process()
    before = begin_as(store, replace(mine, started="1"))
    now = begin_as(store, mine)
    assert shown(store, before) == ("failed", "retrieval_interrupted")
    assert shown(store, now) == ("running", None)


def test_a_run_from_before_a_reboot_is_interrupted(store: HistoryStore) -> None:
    run_id = begin_as(store, replace(this_process(), boot="another boot"))
    assert shown(store, run_id) == ("failed", "retrieval_interrupted")


def test_a_process_that_cannot_be_looked_up_is_judged_by_age(
    store: HistoryStore, clock: Clock
) -> None:
    elsewhere = replace(this_process(), pid=2**22 + 5, space="pid:[1]")
    run_id = begin_as(store, elsewhere)
    assert shown(store, run_id) == ("running", None)
    clock.advance(hours=2)
    assert shown(store, run_id) == ("failed", "retrieval_interrupted")


def test_a_mark_without_details_or_none_at_all_is_judged_by_what_is_there() -> None:
    mine = this_process()
    bare = ProcessMark(mine.pid, None, None, None)
    assert not is_gone(bare, 10)
    assert is_gone(bare, 4000)
    assert not is_gone(None, 10)
    assert is_gone(None, 4000)
    assert ProcessMark.from_json("{broken") is None
    assert ProcessMark.from_json(mine.to_json()) == mine


def test_a_process_taken_for_dead_that_answers_after_all_sets_its_run_right(
    store: HistoryStore, record: Record
) -> None:
    corpus = numbered_corpus(2)
    with RunRecorder(store, process=replace(this_process(), started="1")) as recorder:
        run_id = recorder.begin("harbor", "how?", None, ActivationLimits())
        record(corpus)
        assert stored(store, run_id) == ("failed", "retrieval_interrupted")
        recorder.succeed(run_id, make_activation(corpus), corpus)
    assert shown(store, run_id) == ("succeeded", None)
