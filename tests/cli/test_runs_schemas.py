"""Every document about Runs is valid against its published JSON Schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest
from cli.run_support import Bench
from conftest_types import Run

from memcli.evaluation.creation import create_case

SCHEMAS = Path(__file__).parent.parent.parent / "memcli" / "facade" / "schemas"


def validate(document: Any, name: str) -> None:
    assert document["schema"] == name
    schema = orjson.loads((SCHEMAS / f"{name}.json").read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Runs of every status, one with a Case, one pinned."""
    bench = Bench(tmp_path)
    create_case(bench.store, bench.record("cased"), project_id="harbor")
    bench.record("other", models={"embedder": {"profile": "other", "sha256": "b" * 64}})
    bench.fail()
    bench.begin()
    bench.begin(gone=True)
    return bench


def test_lists_and_lines_are_valid(bench: Bench) -> None:
    validate(bench.run("runs", "list", "--json").document, "memcli.runs.list.v1")
    lines = bench.run("runs", "list", "--ndjson").out.splitlines()
    assert len(lines) == 5
    for line in lines:
        validate(orjson.loads(line), "memcli.runs.summary.v1")


def test_runs_of_every_status_candidates_and_comparisons_are_valid(bench: Bench) -> None:
    run_ids = [run["run_id"] for run in bench.run("runs", "list", "--json").document["runs"]]
    for run_id in run_ids:
        validate(bench.run("runs", "show", run_id, "--json").document, "memcli.runs.show.v1")
        for other in run_ids:
            done = bench.run("runs", "diff", run_id, other, "--json")
            validate(done.document, "memcli.runs.diff.v1")
    one = bench.run("runs", "show", run_ids[-1], "--candidate", "1", "--json")
    validate(one.document, "memcli.runs.candidate.v1")


def test_what_changes_or_deletes_runs_prints_valid_documents(bench: Bench) -> None:
    run_id = bench.record()
    for word in ("pin", "unpin"):
        validate(bench.run("runs", word, run_id, "--json").document, "memcli.runs.pin.v1")
    for words in (
        ("runs", "delete", run_id, "--dry-run"),
        ("runs", "delete", run_id, "--yes"),
        ("clear", "--all-projects", "--dry-run"),
        ("clear", "--yes"),
        ("forget", "--yes"),
    ):
        validate(bench.run(*words, "--json").document, "memcli.clear.v1")


def test_a_run_of_the_real_models_is_valid(memcli: Run) -> None:
    assert memcli("activate", "docs/rollback.md").status == 0
    validate(memcli("runs", "show", "--json").document, "memcli.runs.show.v1")
