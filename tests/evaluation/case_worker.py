"""What other processes do in the tests of Cases: ``python case_worker.py COMMAND HOME ...``.

Each waits for a line on stdin before it begins, so that several begin together.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from evaluation.factory import PROJECT, corpus, record_run

from memcli.errors import MemcliError
from memcli.evaluation.creation import create_case
from memcli.evaluation.resolve import resolve_case
from memcli.history.clearing import clear_runs
from memcli.history.store import HistoryStore


def store_in(home: str) -> HistoryStore:
    return HistoryStore(Path(home), lambda: datetime.now(timezone.utc), 30.0)


def resolve(home: str, case_id: str, version: str, evidence: str) -> None:
    case = resolve_case(
        store_in(home),
        case_id,
        project_id=PROJECT,
        expected_version=int(version),
        evidence=[evidence],
    )
    print(json.dumps({"version": case.version}))


def create(home: str, run_id: str) -> None:
    case = create_case(store_in(home), run_id, project_id=PROJECT)
    print(json.dumps({"case_id": case.case_id}))


def record_and_create(home: str, times: str) -> None:
    """Runs over corpora that share bodies, each made a Case at once, unless cleared before."""
    store = store_in(home)
    made = []
    for turn in range(int(times)):
        run_id = record_run(store, corpus(own=f"body of turn {turn % 3}"))
        try:
            made.append(create_case(store, run_id, project_id=PROJECT).case_id)
        except MemcliError as error:
            if error.code not in ("run_not_found", "run_not_evaluable"):
                raise
    print(json.dumps({"made": made}))


def clear(home: str, times: str) -> None:
    for _ in range(int(times)):
        clear_runs(store_in(home), project_id=None)
    print(json.dumps({}))


COMMANDS: dict[str, Callable[..., None]] = {
    "resolve": resolve,
    "create": create,
    "record-and-create": record_and_create,
    "clear": clear,
}

if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        COMMANDS[sys.argv[1]](*sys.argv[2:])
    except MemcliError as error:
        print(json.dumps({"code": error.code, "message": error.message}))
