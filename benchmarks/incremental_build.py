"""``index build`` on 5,000 units with nothing changed, and with one file changed.

    python benchmarks/incremental_build.py [--units 5000] [--words 180]

Real files through the whole facade; vectors are synthetic, so that only the
work around the model is measured. Model loading is shown apart.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from eval_sets import opened
from measuring import median_of, report
from synthetic import SyntheticEmbedder, Texts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=5000)
    parser.add_argument("--words", type=int, default=180)
    arguments = parser.parse_args()
    texts = Texts(arguments.words)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "project"
        for number in range(arguments.units // 4):
            path = root / f"docs/area-{number % 50:02}/note-{number:05}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# Note {number}\n\n" + "".join(
                f"## Part {part}\n\n{texts.one()}\n\n" for part in range(4)
            ))  # fmt: skip
        with opened(root, Path(folder)) as memcli:
            started = time.perf_counter()
            real = memcli.shelf.configured_embedder()
            print(f"model loaded in {time.perf_counter() - started:.2f} s")
            fake = SyntheticEmbedder(real)
            vars(memcli.shelf)["configured_embedder"] = lambda *_: fake
            started = time.perf_counter()
            first = memcli.build_index().summary
            print(f"first build: {first.units} units in {time.perf_counter() - started:.2f} s")
            unchanged = median_of(memcli.build_index, 5)
            changed_times = []
            embedded = 0
            for turn in range(3):
                note = root / f"docs/area-07/note-{7 + 50 * turn:05}.md"
                note.write_text(note.read_text().replace("## Part 2\n\n", "## Part 2\n\nedited "))
                started = time.perf_counter()
                summary = memcli.build_index().summary
                spent = time.perf_counter() - started
                changed_times.append(spent - summary.timings.get("embed", 0.0))
                embedded = summary.embedded
                print(f"one changed: {summary.embedded} embedded, {spent:.2f} s, {summary.timings}")
    good = report("nothing changed", f"{unchanged:.2f} s", "< 1 s", unchanged < 1)
    changed = sorted(changed_times)[1]
    good &= report("one file changed, without embedding", f"{changed:.2f} s", "< 2 s", changed < 2)
    good &= report("units embedded for one edited section", str(embedded), "1", embedded == 1)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
