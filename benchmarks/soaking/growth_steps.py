"""What is measured at one size, each step in a process of its own.

    python growth_steps.py FOLDER UNITS STEP

prints one JSON object: seconds by what was done, peak memory in MB, counts.
Real files go through the whole facade; only the vectors of passages are synthetic.
"""

from __future__ import annotations

import sqlite3
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from activation_scale import OUTSIDE, QUERIES, peak_megabytes
from eval_sets import opened
from synthetic import SyntheticEmbedder, Texts

from memcli.facade import Memcli
from memcli.history.corpus import ManifestResource
from memcli.history.recording import RunRecorder

UNITS_PER_NOTE = 50
WORDS = 150
RUNS, ASKED, CASES = 500, 60, 20


@dataclass(slots=True)
class Measured:
    """Seconds by what was done; ``waited``: the longest that another writer had to wait."""

    seconds: dict[str, float] = field(default_factory=dict)
    waited: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def time(self, what: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[what] = time.perf_counter() - started

    @contextmanager
    def time_with_a_writer(self, what: str, database: Path) -> Iterator[None]:
        """Time it while another writer asks for the index's write lock again and again."""
        ended = threading.Event()
        longest = 0.0

        def write() -> None:
            nonlocal longest
            with closing(sqlite3.connect(database, isolation_level=None, timeout=3600)) as other:
                while not ended.wait(0.02):
                    started = time.perf_counter()
                    other.execute("BEGIN IMMEDIATE")
                    other.execute("ROLLBACK")
                    longest = max(longest, time.perf_counter() - started)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            with self.time(what):
                yield
        finally:
            ended.set()
            writer.join()
        self.waited[what] = longest


def write_notes(root: Path, units: int, seed: int) -> None:
    """Notes of 50 sections, each section a unit."""
    texts = Texts(WORDS * UNITS_PER_NOTE, seed)
    root.mkdir(parents=True, exist_ok=True)
    (root / "memcli.toml").write_text('id = "growth"\n')
    for number in range(units // UNITS_PER_NOTE):
        path = root / f"docs/area-{number % 20:02}/note-{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        # All of a note at once: drawing is what takes the time.
        words = texts.one().split(" ")
        sections = (
            f"## Part {part} of {number}\n\n"
            f"{' '.join(words[part * WORDS : (part + 1) * WORDS])}\n\n"
            for part in range(UNITS_PER_NOTE)
        )
        path.write_text(f"# Note {number}\n\n" + "".join(sections))


@contextmanager
def project(folder: Path) -> Iterator[Memcli]:
    """The project whose passages get synthetic vectors; queries are embedded for real."""
    with opened(folder / "project", folder, **{"history.record": True}) as memcli:
        fake = SyntheticEmbedder(memcli.shelf.configured_embedder())
        vars(memcli.shelf)["configured_embedder"] = lambda *_: fake
        yield memcli


def build(folder: Path, units: int, measured: Measured) -> None:
    write_notes(folder / "project", units, seed=11)
    with project(folder) as memcli:
        with measured.time("first build"):
            summary = memcli.build_index().summary
        measured.counts |= {"units": summary.units, "resources": summary.resources}


def unchanged(folder: Path, units: int, measured: Measured) -> None:
    with project(folder) as memcli, measured.time("build, nothing changed"):
        memcli.build_index()


def activate(folder: Path, units: int, measured: Measured) -> None:
    with opened(folder / "project", folder, **{"history.record": True}) as memcli:
        with measured.time("first activation"):
            memcli.activate_memory(QUERIES[0])
        outside, recording = [], []
        for at in range(ASKED):
            answer = memcli.activate_memory(QUERIES[at % len(QUERIES)])
            if at < len(QUERIES):
                continue  # the first pages in what the later ones find in memory
            outside.append(sum(answer.timings_us[stage] for stage in OUTSIDE) / 1e6)
            recording.append(answer.timings_us["record"] / 1e6)
    measured.seconds["activation outside the models, median"] = statistics.median(outside)
    measured.seconds["activation outside the models, p95"] = sorted(outside)[
        len(outside) * 95 // 100
    ]
    measured.seconds["recording a Run, median"] = statistics.median(recording)


class _Stored:
    """A corpus that is stored already, so that nobody asks for it."""

    def manifest(self) -> Iterator[ManifestResource]:
        raise AssertionError("the corpus is not stored")

    def body(self, resource_id: str) -> str:
        raise AssertionError("the corpus is not stored")


def record(folder: Path, units: int, measured: Measured) -> None:
    """500 Runs in all: some answers recorded over and over."""
    with opened(folder / "project", folder, **{"history.record": True}) as memcli:
        answers = [memcli.activate_memory(query).activation for query in QUERIES]
        project_id = memcli.identity(settle=False).project_id
        missing = RUNS - len(memcli.list_retrieval_runs().runs)
        with measured.time("recording the other Runs"), RunRecorder(memcli.history) as recorder:
            for at in range(missing):
                activation = answers[at % len(answers)]
                run_id = recorder.begin(project_id, activation.query, None, activation.limits)
                recorder.succeed(run_id, activation, _Stored())
        measured.counts["runs"] = len(memcli.list_retrieval_runs().runs)


def runs(folder: Path, units: int, measured: Measured) -> None:
    with opened(folder / "project", folder) as memcli:
        with measured.time("runs list"):
            memcli.list_retrieval_runs().document()
        with measured.time("runs show"):
            memcli.get_retrieval_run("last").document()


def cases(folder: Path, units: int, measured: Measured) -> None:
    with opened(folder / "project", folder) as memcli:
        ids = [run.run_id for run in memcli.list_retrieval_runs(limit=CASES).runs]
        with measured.time("case create, 20"):
            made = memcli.create_evaluation_cases(ids).made
        with measured.time("case resolve, 20"):
            for each in made:
                assert each.case is not None
                memcli.resolve_evaluation_case(
                    each.case.case_id, expected_version=1, evidence=["rank:1"]
                )
        with measured.time("report, 20 cases"):
            assert memcli.report().report["cases"] == CASES
        with measured.time("export, 20 cases"):
            memcli.export_evaluation_set(folder / "export")


def look(folder: Path, units: int, measured: Measured) -> None:
    with opened(folder / "project", folder) as memcli:
        with measured.time("index list"):
            memcli.list_revisions()
        with measured.time("status"):
            memcli.status()


def doctor(folder: Path, units: int, measured: Measured) -> None:
    from memcli.facade.doctor import diagnose

    with opened(folder / "project", folder) as memcli, measured.time("doctor"):
        diagnosis = diagnose(lambda: memcli, memcli.surroundings)
    measured.counts["broken"] = diagnosis.count("broken")


def rebuild(folder: Path, units: int, measured: Measured) -> None:
    note = next((folder / "project").glob("docs/*/*.md"))
    note.write_text(note.read_text().replace("## Part 2 ", "edited\n\n## Part 2 ", 1))
    with project(folder) as memcli:
        database = memcli.storage.database
        with measured.time_with_a_writer("build, one note changed", database):
            memcli.build_index()
        with measured.time_with_a_writer("head swap, alike", database):
            memcli.swap_head(previous=True)


def replace(folder: Path, units: int, measured: Measured) -> None:
    """Every note is another: a revision beside the head that shares nothing with it."""
    write_notes(folder / "project", units, seed=12)
    with project(folder) as memcli:
        database = memcli.storage.database
        with measured.time_with_a_writer("build, all notes changed", database):
            memcli.build_index()
    measured.counts["index MB"] = database.stat().st_size // 10**6


def swap(folder: Path, units: int, measured: Measured) -> None:
    with opened(folder / "project", folder) as memcli:
        database = memcli.storage.database
        with measured.time_with_a_writer("head swap, unlike", database):
            memcli.swap_head(previous=True)


def clear(folder: Path, units: int, measured: Measured) -> None:
    with opened(folder / "project", folder) as memcli, measured.time("clear"):
        measured.counts["cleared"] = memcli.clear_retrieval_runs().summary.runs


STEPS: dict[str, Callable[[Path, int, Measured], None]] = {
    each.__name__: each
    for each in (
        build, unchanged, activate, record, runs, cases, look, doctor, rebuild, replace, swap, clear
    )
}  # fmt: skip


def main(folder: str, units: str, step: str) -> None:
    measured = Measured()
    STEPS[step](Path(folder), int(units), measured)
    document: dict[str, Any] = {
        "seconds": measured.seconds,
        "waited": measured.waited,
        "counts": measured.counts,
        "peak_mb": peak_megabytes(),
    }
    sys.stdout.buffer.write(orjson.dumps(document))


if __name__ == "__main__":
    main(*sys.argv[1:])
