"""A store in a temporary home, and real processes that work on its Cases."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from memcli.history.store import HistoryStore

WORKER = Path(__file__).with_name("case_worker.py")
ROOT = WORKER.parents[2]


class Clock:
    """Gives a later moment at every call."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 1, 9, 30, tzinfo=timezone.utc)

    def __call__(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment


@pytest.fixture
def store(tmp_path: Path) -> HistoryStore:
    return HistoryStore(tmp_path / "home", Clock(), lock_wait_seconds=20.0)


@pytest.fixture
def case_worker() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start ``case_worker.py`` in a process of its own; what still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(WORKER), *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'tests'}{os.pathsep}{ROOT}"},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
