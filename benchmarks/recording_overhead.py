"""What recording a Run costs, over a corpus of 1,000 resources that the store already has.

    python benchmarks/recording_overhead.py [--runs 60] [--fill 500]

The same warm activation with history and without, in turn; the store is filled
to its retention limit first, so that every recording also drops the oldest Run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from eval_sets import opened
from measuring import alternated, report
from synthetic import SyntheticEmbedder, fresh_project, memory_of

from memcli.index.builder import build_index

QUERY = "how do we deploy the service without an error"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--fill", type=int, default=500)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = fresh_project(folder / "project")
        flags = {"history.record": True}
        with opened(root, folder, **flags) as recording, opened(root, folder) as silent:
            memory = memory_of(2_000, 80, sections=2)
            build_index(
                silent.storage,
                lambda known: memory,
                SyntheticEmbedder(silent.shelf.configured_embedder(), tokens=60),
                now=lambda: datetime.now(timezone.utc),
                clock=time.monotonic,
                new_revision_id=lambda: "synthetic",
            )
            started = time.perf_counter()
            first = recording.activate_memory(QUERY)
            print(f"first recording, 1,000 bodies: {first.timings_us['record'] / 1000:.0f} ms")
            for _ in range(arguments.fill):
                recording.activate_memory(QUERY)
            print(f"filled with {arguments.fill} Runs in {time.perf_counter() - started:.1f} s")
            with_history, without = alternated(
                lambda: recording.activate_memory(QUERY),
                lambda: silent.activate_memory(QUERY),
                arguments.runs,
            )
    extra = (with_history - without) * 1000
    text = f"{extra:.1f} ms ({with_history * 1000:.1f} ms with, {without * 1000:.1f} ms without)"
    return 0 if report("recording a Run", text, "< 15 ms", extra < 15) else 1


if __name__ == "__main__":
    sys.exit(main())
