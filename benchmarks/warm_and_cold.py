"""A warm activation at 2,000 units, a cold command on a sample project, and the start-up.

    python benchmarks/warm_and_cold.py

Warm: the whole activation against the query's own forward pass, in turn in one
process. Cold: ``memcli activate`` against a bare script that loads the GGUF and
embeds one query. Start-up: ``--version`` and ``--help`` against ``python -c pass``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from eval_sets import opened
from measuring import alternated, report
from synthetic import SyntheticEmbedder, fresh_project, memory_of

from memcli.index.builder import build_index
from memcli.models.loaded_model import never

SAMPLE = Path(__file__).parent.parent / "sample_projects" / "harbor"
QUERY = "how do we roll back a bad deploy of the service"


def warm(folder: Path) -> bool:
    root = fresh_project(folder / "warm")
    with opened(root, folder) as memcli:
        memory = memory_of(2_000, 150)
        real = memcli.shelf.configured_embedder()
        build_index(
            memcli.storage,
            lambda known: memory,
            SyntheticEmbedder(real, tokens=200),
            now=lambda: datetime.now(timezone.utc),
            clock=time.monotonic,
            new_revision_id=lambda: "synthetic",
        )
        memcli.activate_memory(QUERY)
        whole, forward = alternated(
            lambda: memcli.activate_memory(QUERY), lambda: real.embed_query(QUERY, never), 25
        )
    extra = (whole - forward) * 1000
    return report(
        "warm activation beyond the query's forward pass",
        f"{extra:.1f} ms (whole {whole * 1000:.1f} ms, forward {forward * 1000:.1f} ms)",
        "< 25 ms",
        extra < 25,
    )


def cold(folder: Path) -> bool:
    root = folder / "harbor"
    shutil.copytree(SAMPLE, root)
    environ = {**os.environ, "MEMCLI_HOME": str(folder / "h"), "MEMCLI_CONFIG": str(folder / "c")}

    def run(*command: str) -> None:
        subprocess.run(command, check=True, env=environ, stdout=subprocess.DEVNULL, cwd=root)

    run(sys.executable, "-m", "memcli", "index", "build", "-q")
    ours, bare = alternated(
        lambda: run(sys.executable, "-m", "memcli", "activate", "-q", QUERY),
        lambda: run(sys.executable, str(Path(__file__).parent / "bare_llama.py")),
        9,
    )
    return report(
        "cold activate over the bare script",
        f"{ours / bare:.2f} ({ours * 1000:.0f} ms, bare {bare * 1000:.0f} ms)",
        "< 2.5",
        ours / bare < 2.5,
    )


def startup() -> bool:
    good = True
    for option in ("--version", "--help"):
        ours, bare = alternated(
            partial(
                subprocess.run,
                [sys.executable, "-m", "memcli", option],
                stdout=subprocess.DEVNULL,
                check=True,
            ),
            lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
            21,
        )
        good &= report(
            f"memcli {option} over python -c pass",
            f"{ours / bare:.2f} ({ours * 1000:.1f} ms)",
            "< 5",
            ours / bare < 5,
        )
    return good


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        results = [startup(), warm(Path(name)), cold(Path(name))]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
