"""Sixteen processes on one central store and two projects, all operations at once.

What each worker did and what it was told is in its log; ``mixed_invariants``
compares that with what the store and the indexes hold when all have ended.
``Plan.count`` is in seconds.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, Any

import orjson

from soaking.mixed_ground import PROJECTS, QUERIES, Shared, make_projects
from soaking.mixed_invariants import end_faults
from soaking.mixed_program import Program
from soaking.mixed_worker import LONGEST_SECONDS
from soaking.tally import Fault, Plan, Tally

PROCESSES, OUTSIDE = 16, 3
RETAINED = 500
LONGEST_QUEUE_SECONDS = 3 * LONGEST_SECONDS
"""A build waits for all that came before it, which may be those of all other workers."""
HELD = """
SELECT count(*) FROM retrieval_runs AS run
WHERE project_id = ? AND pinned = 0 AND status <> 'running'
AND NOT EXISTS (SELECT 1 FROM evaluation_cases WHERE evaluation_cases.run_id = run.run_id)
"""
Row = dict[str, Any]


def soak(plan: Plan) -> Tally:
    """The load in full: 16 processes, three of which run the real program as commands."""
    return loaded(plan, PROCESSES, OUTSIDE, runs_before=RETAINED - 20)


def loaded(plan: Plan, processes: int, outside: int, runs_before: int = 0) -> Tally:
    """``runs_before``: Runs that the second project has at the beginning."""
    tally = Tally("Many processes on one store lose nothing and block nobody", plan.count)
    base = plan.folder / "ground"
    with closing(Program()) as program:
        make_projects(base, program)
        for at in range(runs_before):
            Shared(base, PROJECTS[1], program).must("activate", QUERIES[at % len(QUERIES)])
    workers = [
        _Process(base, plan, number, "outside" if number < outside else "inside")
        for number in range(processes)
    ]
    try:
        for worker in workers:
            worker.wait_until_ready()
        until = min(time.monotonic() + plan.count, plan.until)
        for worker in workers:
            worker.go_on_until(until)
        most_held = _watch(base, until)
        for worker in workers:
            tally.faults += worker.ended()
    finally:
        for worker in workers:
            worker.stop()
    rows = sorted(
        (row for worker in workers for row in worker.rows()), key=lambda row: float(row["started"])
    )
    for row in rows:
        tally.add(row["kind"], row["code"] or "ok", fault_of(row))
    with closing(Program()) as program:
        tally.faults += end_faults(base, rows, program)
    _figures(tally, rows)
    for project, held in most_held.items():
        tally.figures[f"most Runs held in {project}"] = str(held)
        if held > RETAINED:
            tally.faults.append(Fault("too many Runs held", project, str(held)))
    return tally


class _Process:
    def __init__(self, base: Path, plan: Plan, number: int, hands: str) -> None:
        self.name = f"worker {number} ({hands})"
        self._log = plan.folder / f"worker-{number}.jsonl"
        self._errors = plan.folder / f"worker-{number}.err"
        script = str(Path(__file__).with_name("mixed_worker.py"))
        arguments = (str(base), str(number), str(plan.seed), str(self._log), hands)
        with self._errors.open("wb") as stream:
            self._process = subprocess.Popen(
                [sys.executable, script, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
            )

    def wait_until_ready(self) -> None:
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"{self.name} did not begin: {self._errors.read_text()}")

    def go_on_until(self, until: float) -> None:
        stream: IO[bytes] | None = self._process.stdin
        assert stream is not None
        stream.write(f"{until}\n".encode())
        stream.flush()

    def ended(self) -> list[Fault]:
        """Its operations are bounded, and so is what it still does after the end."""
        try:
            status = self._process.wait(timeout=5 * LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            return [Fault("deadlock", self.name, self._errors.read_text()[-3000:])]
        said = self._errors.read_text()
        return [Fault("worker died", self.name, f"{status}: {said}")] if status or said else []

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def rows(self) -> Iterable[Row]:
        return map(orjson.loads, self._log.read_bytes().splitlines())


def fault_of(row: Mapping[str, Any]) -> Fault | None:
    """What is wrong with one operation in itself."""
    trial = f"{row['kind']} in {row['project']} by worker {row['worker']} at {row['started']:.2f}"
    said = str(row["said"])
    if "locked" in said:
        return Fault("locked", trial, said)
    if not row["is_graceful"]:
        return Fault("crash", trial, f"status {row['status']}: {said}")
    if not row["is_expected"]:
        return Fault(f"unexpected {row['code'] or row['status']}", trial, said)
    if row["code"] == "busy" and "is being built by" not in said and "is still running" not in said:
        return Fault("unexplained busy", trial, said)
    if row["code"] == "busy" and "another process" in said:
        return Fault("holder not named", trial, said)
    if "warning:" in said or row.get("run", "") is None:
        return Fault("warned", trial, said)
    if row["ended"] - row["started"] > (
        LONGEST_QUEUE_SECONDS if row["kind"] == "build" else LONGEST_SECONDS
    ):
        return Fault("slow", trial, f"{row['ended'] - row['started']:.1f} s")
    return None


def _watch(base: Path, until: float) -> dict[str, int]:
    """The most Runs that were held at once of each project, looked at now and then."""
    most = dict.fromkeys(PROJECTS, 0)
    with closing(sqlite3.connect(f"file:{base}/central/local.db?mode=ro", uri=True)) as store:
        while time.monotonic() < until:
            for project in PROJECTS:
                (held,) = store.execute(HELD, (project,)).fetchone()
                most[project] = max(most[project], held)
            time.sleep(0.5)
    return most


def _figures(tally: Tally, rows: Sequence[Row]) -> None:
    spent = defaultdict(list)
    for row in rows:
        spent[str(row["kind"])].append(float(row["ended"]) - float(row["started"]))
    for kind, seconds in sorted(spent.items()):
        seconds.sort()
        middle, late = seconds[len(seconds) // 2], seconds[len(seconds) * 99 // 100]
        tally.figures[f"{kind}, seconds"] = (
            f"median {middle:.3f}, p99 {late:.2f}, most {seconds[-1]:.2f}"
        )
    resolved = [row for row in rows if row["kind"] == "case resolve"]
    conflicts = sum(row["code"] == "evaluation_case_conflict" for row in resolved)
    tally.figures["resolutions, conflicts"] = f"{len(resolved)}, {conflicts}"
    tally.figures["busy"] = str(sum(row["code"] == "busy" for row in rows))
    findings = {each for row in rows for each in row.get("findings", ())}
    tally.figures["doctor found"] = "; ".join(sorted(findings)) or "nothing"
