"""Many processes on one store: none is refused, none breaks another (F1, F2, F3)."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from history.factory import numbered_corpus

from memcli.errors import Conflict
from memcli.history.inspection import inspect_store
from memcli.history.locks import file_lock
from memcli.history.runs import get_run, list_runs
from memcli.history.store import HistoryStore

Record = Callable[..., str]
Worker = Callable[..., "subprocess.Popen[str]"]


def test_eight_processes_record_into_a_brand_new_store_at_once(
    store: HistoryStore, worker: Worker
) -> None:
    processes = [worker("record", store.home, f"project-{n % 2}", 6) for n in range(8)]
    recorded = []
    for process in processes:
        output, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, "")
        recorded += output.split()
    runs = list_runs(store, project_id=None)
    assert sorted(run.run_id for run in runs) == sorted(recorded)
    assert len(runs) == 48
    assert {run.status for run in runs} == {"succeeded"}
    report = inspect_store(store, thorough=True)
    assert report.problems == ()
    assert report.bodies == 5
    assert not list(store.home.glob(".local.db*"))


def test_readers_and_writers_do_not_disturb_each_other(
    store: HistoryStore, worker: Worker, record: Record
) -> None:
    record(numbered_corpus(5))
    processes = [worker("record", store.home, "harbor", 8, 6, f"seed-{n}") for n in range(3)]
    processes += [worker("list", store.home) for _ in range(12)]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, "")
    assert len(list_runs(store, project_id=None)) == 25


def test_forty_readers_of_an_idle_store_all_succeed(
    store: HistoryStore, worker: Worker, record: Record
) -> None:
    run_id = record(numbered_corpus(5))
    processes = [worker("list", store.home) for _ in range(40)]
    for process in processes:
        output, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, "")
        assert json.loads(output) == [run_id]


def test_a_reader_runs_no_ddl_and_takes_no_write_lock(
    store: HistoryStore, worker: Worker, record: Record
) -> None:
    record(numbered_corpus(5))
    output, errors = worker("trace-list", store.home).communicate(timeout=60)
    assert errors == ""
    statements = json.loads(output)
    assert any(statement.startswith("SELECT") for statement in statements)
    for statement in statements:
        assert statement.split()[0] in {"SELECT", "PRAGMA", "BEGIN", "COMMIT"}
        assert "IMMEDIATE" not in statement


def test_listing_loads_no_heavy_module(store: HistoryStore, record: Record) -> None:
    record(numbered_corpus(2))
    program = f"""
import sys
from datetime import datetime, timezone
from pathlib import Path
from memcli.history.documents import run_list_document
from memcli.history.projects import CentralRegistry
from memcli.history.runs import list_runs
from memcli.history.store import HistoryStore
store = HistoryStore(Path({str(store.home)!r}), lambda: datetime.now(timezone.utc))
assert len(run_list_document(list_runs(store, project_id=None))["runs"]) == 1
CentralRegistry(store).projects()
print(sorted({{"numpy", "sqlite_utils", "llama_cpp", "filelock"}} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


class DisturbedStore(HistoryStore):
    """While a reader is at work on it, another connection deletes every Run."""

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        with super().reading() as connection, closing(sqlite3.connect(self.path)) as other:
            assert connection is not None

            def disturb(statement: str) -> None:
                if "FROM retrieval_run_candidates" in statement:
                    other.executescript(
                        "DELETE FROM retrieval_run_candidates; DELETE FROM retrieval_runs;"
                        "DELETE FROM retrieval_run_resources;"
                    )

            connection.set_trace_callback(disturb)
            yield connection


def test_a_reader_sees_a_run_and_its_rows_of_one_moment(
    store: HistoryStore, record: Record
) -> None:
    record(numbered_corpus(30))
    detail = get_run(DisturbedStore(store.home, store.now), "last", project_id="harbor")
    assert len(detail.candidates) == 30
    assert detail.corpus_is_complete
    assert list_runs(store, project_id="harbor") == []


def test_sharers_hold_a_lock_together_and_an_exclusive_holder_alone(tmp_path: Path) -> None:
    lock = tmp_path / "some.lock"
    with (
        file_lock(lock, shared=True, wait_seconds=0),
        file_lock(lock, shared=True, wait_seconds=0),
        pytest.raises(Conflict) as caught,
        file_lock(lock, wait_seconds=0.05),
    ):
        pass
    assert caught.value.code == "busy"
    with (
        file_lock(lock, wait_seconds=0),
        pytest.raises(Conflict),
        file_lock(lock, shared=True, wait_seconds=0),
    ):
        pass
    assert lock.stat().st_mode & 0o777 == 0o600


def test_a_lock_of_a_killed_process_is_free(
    store: HistoryStore, worker: Worker, record: Record
) -> None:
    record(numbered_corpus(2))
    program = f"""
import sys, time
from pathlib import Path
from memcli.history.locks import file_lock
with file_lock(Path({str(store.blobs.directory / "blobs.lock")!r}), wait_seconds=0):
    print("held", flush=True)
    time.sleep(60)
"""
    holder = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        waiting = HistoryStore(store.home, store.now, lock_wait_seconds=0.05)
        with pytest.raises(Conflict), waiting.blobs.lock(shared=True):
            pass
    finally:
        holder.kill()
        holder.wait()
    with waiting.blobs.lock(shared=True):
        assert holder.returncode != 0
