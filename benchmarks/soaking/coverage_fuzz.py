"""The same readers under atheris, which looks for inputs that reach new code.

    python benchmarks/soaking/coverage_fuzz.py TARGET FOLDER [-max_total_time=600 ...]

TARGET is a reader's name (``query``) or its number, FOLDER the corpus that grows;
it is seeded from ``fuzz_inputs``. Further options are libFuzzer's. atheris is no
dependency of memcli: install it into an environment of its own, beside memcli
and its development dependencies.
"""

from __future__ import annotations

import random
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

SEEDS = 200


def main() -> int:
    try:
        atheris: Any = import_module("atheris")
    except ImportError:
        print("atheris is not installed here: pip install atheris", file=sys.stderr)
        return 3
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    # Whatever is first imported below is instrumented.
    with atheris.instrument_imports(include=["memcli", "tomllib", "markdown_it", "pathspec"]):
        import soaking.fuzz_targets as fuzz_targets
        from soaking.fuzz_inputs import GENERATORS

        with tempfile.TemporaryDirectory(prefix="memcli-fuzz-") as folder:
            readers = fuzz_targets.targets(Path(folder))
            chosen, corpus, *options = sys.argv[1:]
            name = list(readers)[int(chosen)] if chosen.isdigit() else chosen
            read = readers[name]
            # The model's own tokenizer is native code, which is not instrumented.
            fuzz_targets.REAL_TOKENIZER_EVERY = 1 << 40
            read(b"title: x")
            Path(corpus).mkdir(parents=True, exist_ok=True)
            for number in range(SEEDS):
                data = GENERATORS[name](random.Random(f"0:{name}:{number}"))
                (Path(corpus) / f"seed-{number}").write_bytes(data)
            atheris.Setup([sys.argv[0], *options, corpus], read)
            atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
