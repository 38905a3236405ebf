"""Measures report and export over many Cases: ``python measure_scale.py [CASES] [RESOURCES]``.

Not a test: it prints seconds and the peak of resident memory, each in a process of its own.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from evaluation.factory import PROJECT, TIMINGS
from history.factory import Corpus, make_activation, make_candidate

from memcli.evaluation.beir import export_beir
from memcli.evaluation.creation import create_cases
from memcli.evaluation.export import export_set, export_targets
from memcli.evaluation.fixture_reader import report_from_fixture
from memcli.evaluation.report import report_bytes, report_document
from memcli.evaluation.resolve import resolve_case
from memcli.evaluation.stored_set import stored_set
from memcli.evaluation.trec import export_trec
from memcli.history.recording import RunRecorder
from memcli.history.store import HistoryStore
from memcli.retrieval.activation import ActivationLimits

CANDIDATES = 40
BATCH = 400
WORDS = [f"word{n}" for n in range(3000)]


def store_in(home: Path) -> HistoryStore:
    return HistoryStore(home, lambda: datetime.now(timezone.utc), 30.0)


def fill(home: Path, cases: int, resources: int) -> None:
    """Cases over two versions of a memory of 4 kB notes, each with 1 to 3 pieces of evidence."""
    draw = random.Random(7)
    bodies = {
        f"docs/{n // 50}/note-{n}": " ".join(draw.choices(WORDS, k=550)) for n in range(resources)
    }
    corpora = [Corpus(bodies), Corpus({**bodies, "docs/new": "one more"})]
    store = store_in(home)
    made = 0
    while made < cases:
        batch = []
        with RunRecorder(store) as recorder:
            for _ in range(min(BATCH, cases - made)):
                corpus = corpora[draw.random() < 0.5]
                chosen = draw.sample(corpus.resources, CANDIDATES)
                candidates = tuple(
                    make_candidate(one, corpus.bodies[one.resource_id], rank)
                    for rank, one in enumerate(chosen, 1)
                )
                activation = make_activation(corpus, candidates=candidates, timings_us=TIMINGS)
                run_id = recorder.begin(PROJECT, "how?", None, ActivationLimits())
                recorder.succeed(run_id, activation, corpus)
                batch.append(run_id)
        for creation in create_cases(store, batch, project_id=PROJECT):
            assert creation.case is not None
            ranks = draw.sample(range(1, CANDIDATES + 1), draw.randint(1, 3))
            resolve_case(
                store,
                creation.case.case_id,
                project_id=PROJECT,
                expected_version=1,
                evidence=[f"rank:{rank}" for rank in ranks],
            )
        made += len(batch)


def report(home: Path) -> None:
    with stored_set(store_in(home), project_id=PROJECT) as source:
        data = report_bytes(report_document(source))
    (home / "report.json").write_bytes(data)


def export(home: Path) -> None:
    with stored_set(store_in(home), project_id=PROJECT) as source:
        export_set(source, export_targets(home / "out"))


def trec(home: Path) -> None:
    with stored_set(store_in(home), project_id=PROJECT) as source:
        export_trec(source, home / "trec")


def beir(home: Path) -> None:
    with stored_set(store_in(home), project_id=PROJECT) as source:
        export_beir(source, home / "beir")


def recompute(home: Path) -> None:
    data = report_bytes(report_from_fixture(home / "out" / "fixture.json"))
    assert data == (home / "report.json").read_bytes() == (home / "out/report.json").read_bytes()


STEPS: dict[str, Callable[[Path], None]] = {
    "report": report,
    "export": export,
    "recompute": recompute,
    "trec": trec,
    "beir": beir,
}


def main() -> None:
    if sys.argv[1:2] and sys.argv[1] in STEPS:
        began = time.perf_counter()
        STEPS[sys.argv[1]](Path(sys.argv[2]))
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{sys.argv[1]:>10}: {seconds:6.2f} s, peak {peak:5.0f} MB", flush=True)
        return
    cases, resources = (int(word) for word in [*sys.argv[1:], "1000", "2000"][:2])
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        began = time.perf_counter()
        fill(home, cases, resources)
        print(f"{cases} cases, {resources} resources: made in {time.perf_counter() - began:.1f} s")
        for step in STEPS:
            subprocess.run([sys.executable, __file__, step, str(home)], check=True)
        size = (home / "out" / "fixture.json").stat().st_size / 1e6
        print(f"   fixture: {size:.0f} MB")


if __name__ == "__main__":
    main()
