"""``clear``: which Runs and bodies go, what stays, and what is said and asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.run_support import Bench, ids
from history.factory import Corpus

from memcli.evaluation.creation import create_case


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def listed(bench: Bench) -> list[str]:
    return list(ids(bench.run("runs", "list", "--all-projects", "--json")))


def body_count(bench: Bench) -> int:
    return len(list(bench.store.blobs.blobs.glob("*/*")))


def test_clear_takes_this_projects_ended_unpinned_runs_and_unneeded_bodies(bench: Bench) -> None:
    bench.registry.remember("quay", str(bench.project("quay")))
    other = bench.record("other", project_id="quay", corpus=Corpus({"q": "# Quay\n"}))
    pinned = bench.record("pinned", corpus=Corpus({"p": "# Pinned\n", "s": "# Shared\n"}))
    bench.run("runs", "pin", pinned)
    cased = bench.record("cased", corpus=Corpus({"c": "# Cased\n"}))
    create_case(bench.store, cased, project_id="harbor")
    bench.record("cleared", corpus=Corpus({"x": "# Gone\n", "s": "# Shared\n"}))
    bench.fail("failed")
    alive = bench.begin("alive")
    assert body_count(bench) == 5
    done = bench.run("clear", "--yes")
    assert (
        done.out == "deleted 2 runs and 1 stored body that nothing else needs (7 B): this project\n"
    )
    assert "memcli runs list" in done.err
    assert listed(bench) == [alive, cased, pinned, other]
    assert body_count(bench) == 4


def test_dry_run_counts_the_same_and_changes_nothing(bench: Bench) -> None:
    bench.record()
    bench.record()
    before = (listed(bench), body_count(bench))
    trial = bench.run("clear", "--dry-run", "--json").document
    assert bench.run("clear", "--dry-run").out.startswith("would delete 2 runs and 5 stored bodies")
    assert (listed(bench), body_count(bench)) == before
    real = bench.run("clear", "--yes", "--json").document
    assert {**trial, "dry_run": False} == real
    assert (real["runs"], real["blobs"], real["project_id"]) == (2, 5, "harbor")


def test_all_projects_are_cleared_only_when_asked(bench: Bench) -> None:
    bench.registry.remember("quay", str(bench.project("quay")))
    bench.record("here")
    there = bench.record("there", project_id="quay")
    bench.run("clear", "--yes")
    assert listed(bench) == [there]
    done = bench.run("clear", "--all-projects", "--yes", "--json").document
    assert (done["project_id"], done["runs"]) == (None, 1)
    assert listed(bench) == []


def test_clear_asks_at_a_terminal_with_the_numbers(bench: Bench) -> None:
    bench.record()
    refused = bench.run("clear", columns=80, answer="no\n")
    assert refused.status == 1
    assert "Delete 1 run and 5 stored bodies" in refused.err
    assert len(listed(bench)) == 1
    assert bench.run("clear", columns=80, answer="Y\n").status == 0
    assert listed(bench) == []


def test_nothing_to_clear_is_said_without_a_question(bench: Bench) -> None:
    for _ in range(2):
        done = bench.run("clear", columns=80, answer="")
        assert (done.status, done.out) == (0, "nothing to delete in this project\n")
        bench.record()
        bench.run("clear", "--yes")


def test_clear_collects_what_an_interrupted_one_left_behind(bench: Bench) -> None:
    bench.record()
    bench.run("clear", "--yes")
    orphan = bench.store.blobs.path_of("ab" * 32)
    orphan.parent.mkdir(parents=True)
    orphan.write_bytes(b"left behind")
    done = bench.run("clear", "--yes", "--json").document
    assert (done["runs"], done["blobs"], done["bytes"]) == (0, 1, 11)
    assert not orphan.exists()


def test_clear_without_a_store_makes_none(bench: Bench, tmp_path: Path) -> None:
    done = bench.run("clear", "--yes", env={"MEMCLI_HOME": str(tmp_path / "nothing here")})
    assert (done.status, done.out) == (0, "nothing to delete in this project\n")
    assert not (tmp_path / "nothing here").exists()
