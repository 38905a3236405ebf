"""``forget``: a project with all its history is gone, and nothing of another one."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.run_support import Bench, column

from memcli.evaluation.creation import create_case


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def queries(bench: Bench) -> list[str]:
    done = bench.run("runs", "list", "--all-projects")
    return column(done, "query") if done.out else []


def test_forget_takes_pinned_runs_cases_and_the_registry_entry(bench: Bench) -> None:
    bench.registry.remember("quay", str(bench.project("quay")))
    bench.record("stays", project_id="quay")
    create_case(bench.store, bench.record("secret one"), project_id="harbor")
    bench.run("runs", "pin", bench.record("secret two"))
    (bench.root / ".memcli").mkdir()
    trial = bench.run("forget", "--dry-run", "--json").document
    assert (trial["dry_run"], trial["runs"], trial["cases"]) == (True, 2, 1)
    assert len(queries(bench)) == 3
    done = bench.run("forget", "--yes")
    assert done.out.startswith("deleted 2 runs, 1 evaluation case and 0 stored bodies")
    assert f"harbor ({bench.root})" in done.out
    assert f"rm -r {bench.root / '.memcli'}" in done.err
    assert queries(bench) == ["stays"]
    assert [each.project_id for each in bench.registry.projects()] == ["quay"]
    data = b"".join(path.read_bytes() for path in bench.store.home.glob("local.db*"))
    assert b"secret" not in data


def test_forget_asks_at_a_terminal(bench: Bench) -> None:
    bench.record("still here")
    refused = bench.run("forget", columns=80, answer="n\n")
    assert refused.status == 1
    assert "project harbor" in refused.err
    assert queries(bench) == ["still here"]
    assert bench.run("forget", columns=80, answer="yes\n").status == 0
    assert queries(bench) == []


def test_project_whose_files_are_gone_is_forgotten_by_its_id(bench: Bench) -> None:
    quay = bench.project("quay")
    bench.registry.remember("quay", str(quay))
    bench.record("there", project_id="quay")
    bench.record("here")
    (quay / "memcli.toml").unlink()
    quay.rmdir()
    near = bench.run("forget", "quai", "--yes", "--json")
    assert (near.status, near.error["code"]) == (2, "project_not_found")
    assert "quay" in near.error["hint"]
    assert bench.run("forget", "quay", "--yes").status == 0
    assert queries(bench) == ["here"]


def test_project_without_history_is_not_found(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    stranger = bench.project("stranger")
    done = bench.run("forget", "--yes", "--json", cwd=stranger)
    assert (done.status, done.error["code"]) == (2, "project_not_found")
    assert str(stranger) in done.error["message"]
    assert str(stranger) in done.error["message"]
