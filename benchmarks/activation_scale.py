"""An activation outside its two models, at 10,000 and 100,000 synthetic units.

    python benchmarks/activation_scale.py [--units 10000 100000]

Stage times of real activations through the facade (open, lexical, vector,
fusion, assembly) plus printing; loading, embedding and reranking left out. Each
size runs in a process of its own, whose peak memory is printed.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from eval_sets import opened
from measuring import report
from synthetic import SyntheticEmbedder, fresh_project, memory_of

from memcli.cli.display import json_bytes

LIMITS = {10_000: 30.0, 100_000: 150.0}
QUERIES = [
    "how do we deploy the service without an error",
    "what is the config for the query server",
    "where is the index kept",
    "error in the banter service",
    "confi quista wal",
    "the server and the service are on",
    "note 123",
    "why does the deploy of this service fail with that error",
]
OUTSIDE = ("open", "lexical", "vector", "fusion", "assembly")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--words", type=int, default=150)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--ask", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.ask:
        return ask(arguments.ask, arguments.work)
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for units in arguments.units:
            build(units, arguments.words, Path(folder))
            command = [sys.executable, __file__, "--work", folder, "--ask", str(units)]
            good &= subprocess.run(command).returncode == 0
    return 0 if good else 1


def build(units: int, words: int, folder: Path) -> None:
    from datetime import datetime, timezone

    from memcli.index.builder import build_index

    root = fresh_project(folder / str(units))
    with opened(root, folder) as memcli:
        started = time.perf_counter()
        memory = memory_of(units, words)
        made = time.perf_counter() - started
        started = time.perf_counter()
        build_index(
            memcli.storage,
            lambda known: memory,
            SyntheticEmbedder(memcli.shelf.configured_embedder()),
            now=lambda: datetime.now(timezone.utc),
            clock=time.monotonic,
            new_revision_id=lambda: "synthetic",
        )
    print(f"{units} units: texts in {made:.1f} s, built in {time.perf_counter() - started:.1f} s")


def ask(units: int, folder: Path) -> int:
    root = folder / str(units)
    rows: dict[str, list[float]] = {}
    with opened(root, folder) as memcli:
        for round_ in range(4):
            for query in QUERIES:
                answer = memcli.activate_memory(query)
                started = time.perf_counter()
                json_bytes(answer.document(explain=True))
                printed = (time.perf_counter() - started) * 1000
                if round_ == 0:
                    continue  # the first pages in what the later ones find in memory
                for stage in OUTSIDE:
                    rows.setdefault(stage, []).append(answer.timings_us[stage] / 1000)
                rows.setdefault("print", []).append(printed)
    total = [sum(values) for values in zip(*rows.values(), strict=True)]
    for stage, values in rows.items():
        print(
            f"  {stage:<9} median {statistics.median(values):7.2f} ms  most {max(values):7.2f} ms"
        )
    peak = peak_megabytes()
    median, limit = statistics.median(total), LIMITS.get(units, 150.0)
    good = report(
        f"outside the models at {units}", f"{median:.1f} ms, most {max(total):.1f} ms",
        f"< {limit:.0f} ms", median < limit,
    )  # fmt: skip
    good &= report(f"peak memory at {units}", f"{peak:.0f} MB", "< 600 MB", peak < 600)
    return 0 if good else 1


def peak_megabytes() -> float:
    """Peak resident memory of this process alone; ``ru_maxrss`` would count its parent's too."""
    for row in Path("/proc/self/status").read_text().splitlines():
        if row.startswith("VmHWM"):
            return int(row.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
