"""A store in a temporary home with a clock of its own, and real processes that work on it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from history.factory import Corpus, make_activation

from memcli.history.recording import RunRecorder
from memcli.history.store import HistoryStore
from memcli.retrieval.activation import ActivationLimits
from memcli.sqlite_files import transaction

WORKER = Path(__file__).with_name("worker.py")
ROOT = WORKER.parents[2]


class Clock:
    """Gives a later moment at every call; may be set forward by hand."""

    def __init__(self) -> None:
        self.moment = datetime.now(timezone.utc)

    def __call__(self) -> datetime:
        self.moment += timedelta(milliseconds=1)
        return self.moment

    def advance(self, **how_far: float) -> None:
        self.moment += timedelta(**how_far)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> HistoryStore:
    return HistoryStore(tmp_path / "home", clock, lock_wait_seconds=5.0)


@pytest.fixture
def record(store: HistoryStore) -> Callable[..., str]:
    """Record one succeeded Run; its id."""

    def record_run(corpus: Corpus, project_id: str = "harbor", **changes: Any) -> str:
        activation = make_activation(corpus, project_id=project_id, **changes)
        with RunRecorder(store) as recorder:
            run_id = recorder.begin(project_id, activation.query, None, ActivationLimits())
            recorder.succeed(run_id, activation, corpus)
        return run_id

    return record_run


@pytest.fixture
def worker() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start ``worker.py`` in a process of its own; whatever still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: object, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(WORKER), *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'tests'}{os.pathsep}{ROOT}", **(env or {})},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def make_case(store: HistoryStore) -> Callable[[str], str]:
    """Freeze a Run as an Evaluation Case, by the rows that such a Case has."""

    def make(run_id: str) -> str:
        with store.writing() as connection, transaction(connection):
            run = connection.execute(
                "SELECT * FROM retrieval_runs WHERE run_id = ?", (run_id,)
            ).fetchone()
            effective_hash, now = run["effective_hash"], run["created_at"]
            corpus_hash, case_id = f"corpus-{effective_hash}", f"case-{run_id}"
            connection.execute(
                "INSERT OR IGNORE INTO evaluation_corpora VALUES (?, ?, ?)",
                (corpus_hash, effective_hash, now),
            )
            connection.execute(
                "INSERT OR IGNORE INTO evaluation_corpus_resources"
                " SELECT ?, ordinal, resource_id, scope, kind, path, title, description,"
                " resource_hash, body_sha256"
                " FROM retrieval_run_resources WHERE effective_hash = ?",
                (corpus_hash, effective_hash),
            )
            connection.execute(
                "INSERT INTO evaluation_cases VALUES (?, ?, ?, ?, ?, 'draft', 1, ?, ?)",
                (case_id, run_id, run["project_id"], run["query"], corpus_hash, now, now),
            )
            connection.execute(
                "INSERT INTO evaluation_evidence VALUES (?, 'note-0', NULL)", (case_id,)
            )
        return case_id

    return make
