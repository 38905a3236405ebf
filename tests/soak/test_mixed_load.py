"""A few processes do everything at once on one store: the small form of the soak's part ``load``.

Real models: each process loads them once, which is a small part of its time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from soaking.mixed_ground import Shared, make_projects
from soaking.mixed_invariants import (
    end_faults,
    lost_runs,
    lost_updates,
    unsound_indexes,
    unsound_store,
)
from soaking.mixed_load import fault_of, loaded
from soaking.mixed_program import Program
from soaking.tally import Plan, printed

from memcli.history.store import HistoryStore

SECONDS = 4
ORDINARY = {
    "kind": "runs pin",
    "project": "harbor",
    "worker": 1,
    "started": 5.0,
    "ended": 5.5,
    "status": 0,
    "code": "",
    "is_expected": True,
    "is_graceful": True,
    "said": "",
}


def test_processes_that_do_everything_at_once_lose_nothing_and_block_nobody(
    tmp_path: Path,
) -> None:
    tally = loaded(Plan(tmp_path, SECONDS, seed=5), processes=6, outside=1)
    assert tally.faults == [], printed(tally, SECONDS)
    assert tally.tried["activate"] > 0
    assert tally.total > 20


@pytest.mark.parametrize(
    ("other", "kind"),
    [
        ({"said": "error: database is locked"}, "locked"),
        ({"status": -11, "is_graceful": False}, "crash"),
        ({"status": 1, "code": "internal_error", "is_expected": False}, "unexpected"),
        ({"status": 5, "code": "busy", "said": "another memcli process"}, "unexplained busy"),
        ({"status": 5, "code": "busy", "said": "is being built by another process"}, "holder"),
        ({"run": None}, "warned"),
        ({"said": "warning: this answer was not recorded"}, "warned"),
        ({"ended": 90.0}, "slow"),
    ],
)
def test_what_a_worker_must_not_be_told_is_a_fault(other: dict[str, object], kind: str) -> None:
    assert fault_of(ORDINARY) is None
    fault = fault_of({**ORDINARY, **other})
    assert fault is not None
    assert fault.kind.startswith(kind)


@pytest.fixture(scope="module")
def program() -> Iterator[Program]:
    with closing(Program()) as one:
        yield one


class Honest:
    """A small history with the rows that its worker would have logged."""

    def __init__(self, base: Path, program: Program) -> None:
        self.base = base
        make_projects(base, program)
        place = Shared(base, "harbor", program)
        answer = place.must("activate", "who carries the pager", "--json").document
        returned = [[it["unit_key"], it["content_hash"]] for it in answer["fragments"]]
        self.run = answer["run_id"]
        place.must("runs", "pin", self.run)
        made = place.must("case", "create", self.run, "--json").document["created"][0]
        self.case = made["case"]["case_id"]
        resource = "notes/1.md"
        words = ("--expected-version", "1", "--evidence", f"resource:{resource}")
        place.must("case", "resolve", self.case, *words)
        self.rows: list[dict[str, Any]] = [
            self.row("activate", 1, run=self.run, returned=returned),
            self.row("runs pin", 2, run=self.run),
            self.row("case create", 3, run=self.run, case=self.case, is_new=True),
            self.row("case resolve", 4, case=self.case, version=2, evidence=[resource]),
        ]

    @property
    def store(self) -> HistoryStore:
        return HistoryStore(self.base / "central", lambda: datetime.now(timezone.utc))

    def row(self, kind: str, at: float, **facts: Any) -> dict[str, Any]:
        return {**ORDINARY, "kind": kind, "started": at, "ended": at + 0.5, **facts}

    def sabotage(self, statement: str) -> None:
        with closing(sqlite3.connect(self.base / "central/local.db")) as connection, connection:
            connection.execute(statement)


def test_the_end_check_finds_nothing_in_an_honest_history_and_sees_each_loss(
    tmp_path: Path, program: Program
) -> None:
    honest = Honest(tmp_path / "ground", program)
    rows, store = honest.rows, honest.store
    assert end_faults(honest.base, rows, program) == []

    again = [*rows, honest.row("case resolve", 5, case=honest.case, version=2, evidence=[])]
    assert any("versions are [2, 2]" in seen for _, seen in lost_updates(store, again))
    other = [*rows[:3], {**rows[3], "evidence": ["notes/2.md"]}]
    assert any("its evidence is" in seen for _, seen in lost_updates(store, other))
    assert any("after 0 resolutions" in seen for _, seen in lost_updates(store, rows[:3]))
    gone = [*rows, honest.row("case create", 5, run="r", case="c", is_new=True)]
    assert ("c", "it was created and is gone") in list(lost_updates(store, gone))

    handed_out = [*rows, honest.row("activate", 5, run="never stored", returned=[])]
    assert [trial for trial, _ in lost_runs(store, handed_out)] == ["never stored"]
    cleared = [*handed_out, honest.row("clear", 6)]
    assert list(lost_runs(store, cleared)) == []
    deleted = [*rows, honest.row("runs delete", 5, run=honest.run)]
    assert any("deleted and is there" in seen for _, seen in lost_runs(store, deleted))

    honest.sabotage("UPDATE retrieval_runs SET pinned = 0")
    honest.sabotage("DELETE FROM evaluation_evidence")
    assert [trial for trial, _ in lost_updates(store, rows)] == [honest.case]
    honest.sabotage("DELETE FROM retrieval_run_candidates WHERE final_rank = 1")
    assert [trial for trial, _ in lost_runs(store, rows)] == [honest.run]
    falsely_answered = [{**rows[0], "returned": []}]
    assert list(lost_runs(store, falsely_answered))
    next(store.blobs.blobs.glob("*/*")).unlink()
    assert list(unsound_store(store))
    index = honest.base / "harbor/.memcli/search-index.sqlite"
    with closing(sqlite3.connect(index)) as connection, connection:
        (rowid,) = connection.execute("SELECT max(rowid) FROM search_units_fts").fetchone()
        connection.execute("DELETE FROM search_units_fts WHERE rowid = ?", (rowid,))
    assert any(trial == "harbor" for trial, _ in unsound_indexes(honest.base))
