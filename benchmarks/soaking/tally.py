"""What a part of the soak was asked to do, and what it found: counts and faults."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to try, and until when.

    ``count`` is the number of trials over the whole part, ``until`` a moment of
    ``time.monotonic``: a part that reaches it ends early and tells how far it
    came. ``folder`` is empty and the part's own. The same ``seed`` gives the
    same trials.
    """

    folder: Path
    count: int
    seed: int = 0
    until: float = float("inf")

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.until

    def generator(self, *names: object) -> random.Random:
        """Randomness for one trial that does not depend on the trials before it."""
        return random.Random(":".join(map(str, (self.seed, *names))))


@dataclass(frozen=True, slots=True)
class Fault:
    """A promise that did not hold: its kind, which trial shows it, and what was seen."""

    kind: str
    trial: str
    seen: str


@dataclass(slots=True)
class Tally:
    """Trials by group (an operation, a file, a target), what came of them, and the faults.

    ``outcomes`` counts how trials ended that kept the promise (``correct answer``,
    ``store_damaged``), ``figures`` are numbers worth printing beside them.
    """

    promise: str
    intended: int
    tried: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    figures: dict[str, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.tried.values())

    @property
    def held(self) -> bool:
        return not self.faults and self.total > 0

    def add(self, group: str, outcome: str = "", fault: Fault | None = None) -> None:
        self.tried[group] += 1
        if outcome:
            self.outcomes[outcome] += 1
        if fault is not None:
            self.faults.append(fault)


def printed(tally: Tally, seconds: float, shown_faults: int = 20) -> str:
    """The lines of one part: a verdict, then counts, then the first faults."""
    verdict = "ok  " if tally.held else "FAIL"
    short = "" if tally.total >= tally.intended else f" of {tally.intended:,} intended"
    lines = [
        f"{verdict} {tally.promise}: {tally.total:,} tried{short}, "
        f"{len(tally.faults)} faults, {seconds:.0f} s"
    ]
    lines += [f"       by {name}: {_counts(counts)}" for name, counts in _tables(tally) if counts]
    lines += [f"       {name}: {value}" for name, value in tally.figures.items()]
    kinds = Counter(fault.kind for fault in tally.faults)
    lines += [f"       fault, {kind}: {count}" for kind, count in kinds.most_common()]
    lines += [f"         {it.trial}: {it.seen}" for it in tally.faults[:shown_faults]]
    return "\n".join(lines)


def _tables(tally: Tally) -> tuple[tuple[str, Mapping[str, int]], ...]:
    return (("group", tally.tried), ("outcome", tally.outcomes))


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
