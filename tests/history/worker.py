"""What other processes do in the tests of history: ``python worker.py COMMAND HOME ...``.

With ``KILL_AT=N`` the process kills itself at the N-th thing it does to the
store: an SQL statement, a rename, a removal. Without it, ``points`` are printed.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sqlite3
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from history.factory import Corpus, make_activation, numbered_corpus

from memcli.errors import MemcliError
from memcli.history.best_effort import HistoryWarning, record_or_warn
from memcli.history.clearing import clear_runs
from memcli.history.pinning import pin_run
from memcli.history.recording import RunRecorder
from memcli.history.runs import list_runs
from memcli.history.store import HistoryStore
from memcli.retrieval.activation import ActivationLimits

NOBODY = 65534
statements: list[str] = []
points = 0


def count_point(name: str) -> None:
    global points
    points += 1
    if points == int(os.environ.get("KILL_AT", "0")):
        os.kill(os.getpid(), signal.SIGKILL)


def trace_statement(sql: str) -> None:
    statements.append(" ".join(sql.split()))
    count_point("sql")


def watch_files(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("os.remove", "os.rename", "os.rmdir"):
        count_point(event)


def watch() -> None:
    """Trace what the process does to its store; every connection is opened by this function."""
    connect = sqlite3.connect

    def connect_and_trace(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_trace_callback(trace_statement)
        return connection

    vars(sqlite3)["connect"] = connect_and_trace
    sys.addaudithook(watch_files)


def store_in(home: str, wait: float = 30.0) -> HistoryStore:
    return HistoryStore(Path(home), lambda: datetime.now(timezone.utc), wait)


def one_run(store: HistoryStore, corpus: Corpus, project_id: str) -> str:
    with RunRecorder(store) as recorder:
        run_id = recorder.begin(project_id, "how?", None, ActivationLimits())
        recorder.succeed(run_id, make_activation(corpus, project_id=project_id), corpus)
    return run_id


def record(home: str, project_id: str, times: str, size: str = "5", seed: str = "note") -> None:
    store = store_in(home)
    for _ in range(int(times)):
        print(one_run(store, numbered_corpus(int(size), seed), project_id), flush=True)


def record_and_pin(home: str, project_id: str, times: str) -> None:
    """Runs over corpora that share bodies; every second one is pinned if it still exists."""
    store = store_in(home)
    for turn in range(int(times)):
        shared = numbered_corpus(6).bodies
        corpus = Corpus({**shared, "own": f"of {turn % 3}"})
        run_id = one_run(store, corpus, project_id)
        if turn % 2:
            try:
                pin_run(store, run_id, project_id=project_id)
            except MemcliError as error:
                if error.code != "run_not_found":
                    raise


def begin_and_wait(home: str, project_id: str) -> None:
    recorder = RunRecorder(store_in(home))
    print(recorder.begin(project_id, "how?", None, ActivationLimits()), flush=True)
    sys.stdin.readline()


def clear(home: str, times: str = "1") -> None:
    for _ in range(int(times)):
        clear_runs(store_in(home), project_id=None)


def show_list(home: str) -> None:
    print(json.dumps([run.run_id for run in list_runs(store_in(home), project_id=None)]))


def trace_list(home: str) -> None:
    list_runs(store_in(home), project_id=None)
    print(json.dumps(statements))


def modes(home: str, umask: str) -> None:
    """Record under a umask, and tell every mode below the home while the store is open."""
    os.umask(int(umask, 8))
    store = store_in(home)
    recorder = RunRecorder(store)
    run_id = recorder.begin("harbor", "how?", None, ActivationLimits())
    corpus = numbered_corpus(3)
    recorder.succeed(run_id, make_activation(corpus), corpus)

    def full() -> None:
        raise OSError("no space left")

    record_or_warn(store, full)
    found = {".": Path(home).stat().st_mode & 0o777}
    for path in Path(home).rglob("*"):
        found[str(path.relative_to(home))] = path.stat().st_mode & 0o777
    print(json.dumps(found))


def try_to_record(home: str, how: str, number: str = "0") -> None:
    """Record where that may fail; what the caller would print as a warning."""
    if how == "nobody" and os.geteuid() == 0:
        # Python itself may lie where nobody else may read: load what is loaded late.
        for module in ("concurrent.futures.thread", "sqlite_utils", "urllib.parse"):
            importlib.import_module(module)
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    if how == "small-files":
        limit = int(number)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    store = store_in(home, 0.2)
    recorder = RunRecorder(store)
    corpus = Corpus({"big": "x" * 700_000})
    begun = record_or_warn(
        store, lambda: recorder.begin("harbor", "how?", None, ActivationLimits())
    )
    ended = None
    if isinstance(begun, str):
        activation = make_activation(corpus)
        ended = record_or_warn(store, lambda: recorder.succeed(begun, activation, corpus))
    try:
        listed: Any = [
            [run.status, run.error.code if run.error else None]
            for run in list_runs(store, project_id=None)
        ]
    except MemcliError as error:
        listed = error.code
    warnings = [one.message for one in (begun, ended) if isinstance(one, HistoryWarning)]
    print(json.dumps({"warnings": warnings, "listed": listed}))


COMMANDS: dict[str, Callable[..., None]] = {
    "record": record,
    "record-and-pin": record_and_pin,
    "begin-and-wait": begin_and_wait,
    "clear": clear,
    "list": show_list,
    "trace-list": trace_list,
    "modes": modes,
    "try-to-record": try_to_record,
}

if __name__ == "__main__":
    if "KILL_AT" in os.environ or sys.argv[1] == "trace-list":
        watch()
    COMMANDS[sys.argv[1]](*sys.argv[2:])
    if os.environ.get("KILL_AT") == "0":
        print(points)
