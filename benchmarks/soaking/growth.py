"""A large project against one of a tenth: what grows with units grows no faster than they do.

``Plan.count`` is the number of units of the large one. 500 Runs in both; the
vectors of passages are synthetic, all else is real.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from soaking.growth_steps import RUNS, STEPS
from soaking.tally import Fault, Plan, Tally

TIMES = 10
NOISE = 1.5
SHORTEST_SECONDS = 0.05
"""What takes less at the small size is not compared: it is all noise and start-up."""
# Absolute budgets, for up to 100,000 units.
ACTIVATION_SECONDS = 0.150
ACTIVATION_MEGABYTES = 600
LONGEST_WAIT_SECONDS = 30.0
"""A writer of the index that waits longer gives up as ``busy``."""
MOST_UNITS = 100_000

Taken = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One figure at both sizes; ``unit`` is ``s`` or ``MB``."""

    what: str
    unit: str
    small: float
    large: float

    @property
    def ratio(self) -> float:
        return self.large / self.small if self.small else float("inf")

    @property
    def grows_too_fast(self) -> bool:
        floor = SHORTEST_SECONDS if self.unit == "s" else 1.0
        return self.large > TIMES * NOISE * max(self.small, floor)

    def __str__(self) -> str:
        return f"{self.small:10.3f} {self.large:10.3f} {self.unit:2} x{self.ratio:.1f}"


def soak(plan: Plan) -> Tally:
    """Both sizes, step by step; the table stands in the figures."""
    tally = Tally("Growth with the number of units is at most linear", 2 * len(STEPS))
    sizes = (plan.count // TIMES, plan.count)
    tally.figures["units"] = f"{sizes[0]:,} and {sizes[1]:,}, {RUNS} Runs each"
    for step in STEPS:
        if plan.is_over:
            break
        taken = []
        for units in sizes:
            folder = plan.folder / str(units)
            folder.mkdir(exist_ok=True)
            done = _taken(folder, units, step)
            if isinstance(done, Fault):
                tally.add(step, "failed", done)
                return tally
            tally.add(step, "measured")
            taken.append(done)
        _compare(tally, step, taken[0], taken[1], sizes[1])
    return tally


def _taken(folder: Path, units: int, step: str) -> Taken | Fault:
    script = str(Path(__file__).with_name("growth_steps.py"))
    done = subprocess.run(
        [sys.executable, script, str(folder), str(units), step], capture_output=True
    )
    if done.returncode:
        return Fault("step failed", f"{step} at {units:,}", done.stderr.decode()[-3000:])
    taken: Taken = orjson.loads(done.stdout)
    return taken


def _compare(tally: Tally, step: str, small: Taken, large: Taken, units: int) -> None:
    lines = [
        *_lines("", "s", small["seconds"], large["seconds"]),
        *_lines("longest wait of a writer: ", "s", small["waited"], large["waited"]),
        Line(f"peak memory of {step}", "MB", small["peak_mb"], large["peak_mb"]),
    ]
    for line in lines:
        tally.figures[line.what.ljust(48)] = str(line)
        if line.grows_too_fast:
            tally.faults.append(Fault("faster than linear", line.what, str(line)))
    for what, count in large["counts"].items():
        tally.figures[f"{step}: {what}"] = f"{small['counts'][what]:,} and {count:,}"
    if large["counts"].get("broken"):
        tally.faults.append(Fault("doctor", step, f"{large['counts']['broken']} broken"))
    if units <= MOST_UNITS:
        tally.faults += _over_budget(step, large)


def _lines(
    before: str, unit: str, small: Mapping[str, float], large: Mapping[str, float]
) -> list[Line]:
    return [Line(f"{before}{what}", unit, small[what], large[what]) for what in large]


def _over_budget(step: str, large: Taken) -> list[Fault]:
    faults = []
    median = large["seconds"].get("activation outside the models, median", 0)
    if median > ACTIVATION_SECONDS:
        faults.append(Fault("over budget", step, f"{median * 1000:.0f} ms outside the models"))
    if step == "activate" and large["peak_mb"] > ACTIVATION_MEGABYTES:
        faults.append(Fault("over budget", step, f"{large['peak_mb']:.0f} MB"))
    for what, seconds in large["waited"].items():
        if seconds > LONGEST_WAIT_SECONDS:
            faults.append(Fault("a writer waits too long", what, f"{seconds:.1f} s"))
    return faults
