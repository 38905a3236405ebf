"""Four times the units cost at most four times the work: steps of SQLite are counted, not time."""

from __future__ import annotations

import sqlite3
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from history.factory import make_activation, numbered_corpus
from index_support import build, memory_of, resource
from soaking.growth import Line, soak
from soaking.tally import Plan, printed

from memcli.evaluation.creation import create_case
from memcli.evaluation.report import report_document
from memcli.evaluation.resolve import resolve_case
from memcli.evaluation.stored_set import stored_set
from memcli.history.clearing import clear_runs
from memcli.history.recording import RunRecorder
from memcli.history.runs import get_run, list_runs
from memcli.history.store import HistoryStore
from memcli.index.inspection import inspect_index
from memcli.index.reader import open_head
from memcli.index.storage import IndexStorage
from memcli.index.swap import list_revisions, swap_head
from memcli.memory.resource import EffectiveMemory
from memcli.retrieval.activation import ActivationLimits

SMALL, LARGE = 150, 600
UNITS_PER_NOTE = 10
# A quarter more than linear: trees grow by a level, pages fill unevenly.
SLACK = 1.25
STEPS_A_TICK = 50


def now() -> datetime:
    return datetime(2026, 1, 1, tzinfo=timezone.utc)


def memory(units: int, changed: int = -1, version: int = 0) -> EffectiveMemory:
    """Notes of ten sections; ``changed`` is the note of which one section is other."""
    notes = []
    for number in range(units // UNITS_PER_NOTE):
        body = "".join(
            f"## Part {part} of {number}, {version}\n\n"
            f"Crane {number * 7 + part} is painted in month {part + (number == changed)}. "
            + f"Word{number % 17} deploys the ledger of harbour {part} again. " * 6
            + "\n\n"
            for part in range(UNITS_PER_NOTE)
        )
        notes.append(resource(f"notes/{number:04}.md", body, title=f"Note {number}"))
    return memory_of(notes)


class Steps:
    """Counts what SQLite's virtual machine does, in all connections opened meanwhile."""

    def __init__(self) -> None:
        self.ticks = 0

    def tick(self) -> int:
        self.ticks += 1
        return 0


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], int]:
    connect = sqlite3.connect
    steps = Steps()

    def connect_and_count(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_progress_handler(steps.tick, STEPS_A_TICK)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_and_count)

    def count(work: Callable[[], Any]) -> int:
        before = steps.ticks
        work()
        return (steps.ticks - before) * STEPS_A_TICK

    return count


@contextmanager
def peak_bytes() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


Counted = Callable[[Callable[[], Any]], int]


def index_steps(storage: IndexStorage, units: int, counted: Counted) -> dict[str, int]:
    steps = {"first build": counted(lambda: build(storage, memory(units)))}
    steps["nothing changed"] = counted(lambda: build(storage, memory(units)))
    steps["one note changed"] = counted(lambda: build(storage, memory(units, changed=3)))
    steps["swap, alike"] = counted(lambda: swap_head(storage, None, True, now))
    steps["all changed"] = counted(lambda: build(storage, memory(units, version=1)))
    steps["swap, unlike"] = counted(lambda: swap_head(storage, None, True, now))
    steps["list"] = counted(lambda: list_revisions(storage))
    steps["inspect"] = counted(lambda: inspect_index(storage, building=False))
    with open_head(storage) as reader:
        steps["open and search"] = counted(lambda: search(storage))
        assert reader.unit_count == units
    return steps


def search(storage: IndexStorage) -> None:
    with open_head(storage) as reader:
        for hit in reader.bm25('"deploys" OR "crane"', 60):
            reader.units([hit.unit_rowid])
        reader.rowids_of_ordinals(range(60))
        list(reader.manifest())


def test_four_times_the_units_cost_at_most_four_times_the_steps(
    tmp_path: Path, counted: Counted
) -> None:
    small, large = (
        index_steps(IndexStorage.of_project(tmp_path / str(units)), units, counted)
        for units in (SMALL, LARGE)
    )
    ratios = {what: large[what] / max(small[what], 1000) for what in large}
    limit = LARGE / SMALL * SLACK
    assert {what: ratio for what, ratio in ratios.items() if ratio > limit} == {}, ratios
    # What does not depend on the number of units does not grow with it.
    assert ratios["list"] < SLACK


def test_four_times_the_units_need_at_most_four_times_the_memory(tmp_path: Path) -> None:
    peaks = []
    for units in (SMALL // 2, LARGE // 2):
        storage = IndexStorage.of_project(tmp_path / str(units))
        notes = memory(units)
        with peak_bytes() as peak:
            build(storage, notes)
            peaks.append(peak())
    assert peaks[1] < peaks[0] * LARGE / SMALL * SLACK


def history_steps(store: HistoryStore, runs: int, counted: Counted) -> dict[str, int]:
    corpus = numbered_corpus(10)
    ids: list[str] = []

    def record() -> None:
        with RunRecorder(store) as recorder:
            for _ in range(runs):
                ids.append(recorder.begin("harbor", "how?", None, ActivationLimits()))
                recorder.succeed(ids[-1], make_activation(corpus), corpus)

    def label() -> None:
        for run_id in ids[: runs // 5]:
            case = create_case(store, run_id, project_id="harbor")
            resolve_case(
                store, case.case_id, project_id="harbor", expected_version=1, evidence=["rank:1"]
            )

    def report() -> None:
        with stored_set(store, project_id="harbor") as cases:
            report_document(cases)

    steps = {"record": counted(record)}
    steps["list"] = counted(lambda: list_runs(store, project_id="harbor"))
    steps["show"] = counted(lambda: get_run(store, "last", project_id="harbor"))
    steps["label"] = counted(label)
    steps["report"] = counted(report)
    steps["clear"] = counted(lambda: clear_runs(store, project_id=None))
    return steps


def test_four_times_the_runs_cost_at_most_four_times_the_steps(
    tmp_path: Path, counted: Counted
) -> None:
    small, large = (
        history_steps(HistoryStore(tmp_path / str(runs), now), runs, counted) for runs in (50, 200)
    )
    ratios = {what: large[what] / max(small[what], 1000) for what in large}
    # Retention walks over the Runs that are held: 500 at most, and that is its bound.
    del ratios["record"]
    assert {what: ratio for what, ratio in ratios.items() if ratio > 4 * SLACK} == {}, ratios


def test_the_soak_measures_both_sizes_and_says_what_grows_too_fast(tmp_path: Path) -> None:
    assert Line("x", "s", 1.0, 16.0).grows_too_fast
    assert not Line("x", "s", 1.0, 14.0).grows_too_fast
    assert not Line("x", "s", 0.0001, 0.01).grows_too_fast
    over = soak(Plan(tmp_path, 1000, until=0))
    assert over.total == 0
    assert "100 and 1,000" in printed(over, 0)
