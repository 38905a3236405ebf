"""Whether memcli holds under load, faults and bad input, tried many times over.

    python benchmarks/soak.py [--minutes M] [--seed N] [--only PART]... [--list]

Without ``--minutes`` every part tries its whole count (about an hour on two
cores). With it, the time is shared out among the parts by what they need, each
ends when its share is over, and says how far it came. Ends with status 1 if any
promise did not hold. The same seed gives the same trials; the suite runs a
small number of them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from soaking.tally import Plan, Tally, printed


@dataclass(frozen=True, slots=True)
class Part:
    """One promise: the module that tries it, how many trials, and about how many minutes."""

    module: str
    count: int
    minutes: float
    what: str

    def soak(self, plan: Plan) -> Tally:
        run: Callable[[Plan], Tally] = import_module(f"soaking.{self.module}").soak
        return run(plan)


PARTS = {
    "kills": Part("kill_points", 400, 12, "SIGKILL at points of nine operations"),
    "disk": Part("write_faults", 400, 12, "a full disk and I/O errors at every write"),
    "load": Part("mixed_load", 60, 2, "16 processes on one store; the count is in seconds"),
    "input": Part("hostile_input", 100_000, 15, "hostile input for seven readers"),
    "damage": Part("corruption", 500, 15, "flipped and cut bytes in everything stored"),
    "scale": Part("growth", 100_000, 8, "units, with 500 Runs, against a tenth of them"),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, help="for all chosen parts together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=PARTS, metavar="PART")
    parser.add_argument("--count", type=int, help="trials of each chosen part")
    parser.add_argument("--list", action="store_true", help="name the parts and end")
    arguments = parser.parse_args()
    chosen = {name: PARTS[name] for name in arguments.only or PARTS}
    if arguments.list:
        for name, part in PARTS.items():
            print(f"{name:8} {part.count:>9,}  {part.what}")
        return 0
    held = [
        _run(part, arguments.seed, arguments.count or part.count, share)
        for part, share in _shares(chosen, arguments.minutes)
    ]
    return 0 if all(held) else 1


def _shares(chosen: dict[str, Part], minutes: float | None) -> list[tuple[Part, float]]:
    """Each part with its seconds, infinite where no limit was set."""
    if minutes is None:
        return [(part, float("inf")) for part in chosen.values()]
    whole = sum(part.minutes for part in chosen.values())
    return [(part, minutes * 60 * part.minutes / whole) for part in chosen.values()]


def _run(part: Part, seed: int, count: int, seconds: float) -> bool:
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="memcli-soak-") as name:
        tally = part.soak(Plan(Path(name), count, seed, started + seconds))
    print(printed(tally, time.monotonic() - started), flush=True)
    return tally.held


if __name__ == "__main__":
    sys.exit(main())
