"""``runs pin``, ``unpin`` and ``delete``: what they change, refuse, ask and say."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.run_support import Bench, ids

from memcli.evaluation.creation import create_case


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def listed(bench: Bench) -> list[str]:
    return list(ids(bench.run("runs", "list", "--all-projects", "--json")))


def test_pinned_run_survives_clear_until_it_is_unpinned(bench: Bench) -> None:
    kept, lost = bench.record("kept"), bench.record("lost")
    done = bench.run("runs", "pin", kept[:9])
    assert done.status == 0
    assert done.out.startswith(f"pinned {kept}")
    assert f"memcli runs unpin {kept}" in done.err
    assert bench.run("runs", "pin", kept, "--json").document == {
        "schema": "memcli.runs.pin.v1", "run_id": kept, "pinned": True,
    }  # fmt: skip
    assert bench.run("clear", "--yes").status == 0
    assert listed(bench) == [kept]
    undone = bench.run("runs", "unpin", "last")
    assert undone.out.startswith(f"unpinned {kept}")
    assert bench.run("clear", "--yes").status == 0
    assert listed(bench) == []
    assert lost not in listed(bench)


def test_source_of_a_case_is_neither_unpinned_nor_deleted(bench: Bench) -> None:
    run_id = bench.record()
    case = create_case(bench.store, run_id, project_id="harbor")
    for words in (("unpin", run_id), ("delete", run_id, "--yes"), ("delete", run_id, "--dry-run")):
        done = bench.run("runs", *words, "--json")
        assert (done.status, done.out) == (5, "")
        assert done.error["code"] == "evaluation_case_conflict"
        assert f"memcli case delete {case.case_id}" in done.error["hint"]
    assert listed(bench) == [run_id]


def test_unknown_run_cannot_be_pinned_or_deleted_and_near_ids_are_named(bench: Bench) -> None:
    run_id = bench.record()
    wrong = run_id[:7] + "zz"
    for words in (("pin", wrong), ("unpin", wrong), ("delete", wrong, "--yes")):
        done = bench.run("runs", *words)
        assert done.status == 1
        assert f"did you mean {run_id}" in done.err


def test_delete_takes_one_run_and_the_bodies_that_nothing_else_needs(bench: Bench) -> None:
    kept = bench.record("kept")
    run_id = bench.record("a secret question")
    trial = bench.run("runs", "delete", run_id, "--dry-run", "--json").document
    assert (trial["dry_run"], trial["runs"], trial["blobs"]) == (True, 1, 0)
    assert listed(bench) == [run_id, kept]
    done = bench.run("runs", "delete", run_id, "--yes")
    assert done.out.startswith("deleted 1 run and 0 stored bodies")
    assert "memcli runs list" in done.err
    assert listed(bench) == [kept]
    last = bench.run("runs", "delete", "last", "--yes", "--json").document
    assert (last["schema"], last["dry_run"], last["runs"], last["blobs"]) == (
        "memcli.clear.v1", False, 1, 5,
    )  # fmt: skip
    assert not list(bench.store.blobs.blobs.glob("*/*"))
    data = b"".join(path.read_bytes() for path in bench.store.home.glob("local.db*"))
    assert b"secret" not in data


def test_delete_asks_at_a_terminal_and_takes_no_for_an_answer(bench: Bench) -> None:
    run_id = bench.record("shall I go?")
    refused = bench.run("runs", "delete", "last", columns=80, answer="n\n")
    assert refused.status == 1
    assert f"run {run_id}, 'shall I go?'? [y/N]" in refused.err
    assert "nothing was deleted" in refused.err
    assert bench.run("runs", "delete", "last", columns=80, answer="").status == 1
    assert listed(bench) == [run_id]
    done = bench.run("runs", "delete", "last", columns=80, answer="y\n")
    assert done.status == 0
    assert listed(bench) == []


def test_running_run_is_busy_and_an_interrupted_one_can_be_deleted(bench: Bench) -> None:
    gone, alive = bench.begin(gone=True), bench.begin()
    for option in ("--yes", "--dry-run"):
        done = bench.run("runs", "delete", alive, option, "--json")
        assert (done.status, done.error["code"]) == (5, "busy")
    assert bench.run("runs", "delete", gone, "--yes").status == 0
    assert listed(bench) == [alive]


def test_run_of_another_project_is_named_as_such_before_it_is_deleted(bench: Bench) -> None:
    quay = bench.project("quay")
    bench.registry.remember("quay", str(quay))
    run_id = bench.record("there", project_id="quay")
    refused = bench.run("runs", "delete", run_id, columns=80, answer="n\n")
    assert f"of another project, quay ({quay})" in refused.err
    assert bench.run("runs", "delete", run_id, "--yes").status == 0
    assert listed(bench) == []


@pytest.mark.parametrize("words", [("runs", "delete", "last"), ("clear",), ("forget",)])
@pytest.mark.parametrize("more", [(), ("--json",), ("--no-input",)])
def test_deleting_without_a_terminal_and_without_yes_is_refused(
    bench: Bench, words: tuple[str, ...], more: tuple[str, ...]
) -> None:
    run_id = bench.record()
    answer = "y\n" if "--no-input" in more else None
    done = bench.run(*words, *more, answer=answer)
    assert (done.status, done.out) == (2, "")
    assert "--yes" in done.err
    assert "[y/N]" not in done.err
    assert listed(bench) == [run_id]
    assert bench.run(*words, env={"MEMCLI_YES": "1"}).status == 0
    assert listed(bench) == []


def test_what_a_backup_copy_may_still_hold_is_said(bench: Bench) -> None:
    bench.record()
    (bench.store.home / "local.db.backup-41-20260101").write_bytes(b"")
    done = bench.run("clear", "--yes")
    assert "local.db.backup-41-20260101" in done.err
