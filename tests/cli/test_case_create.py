"""``case create`` and ``case list``: which Runs become Cases, which are refused, what is said."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from cli.case_support import CaseBench, validate
from cli.run_support import column


@pytest.fixture
def bench(tmp_path: Path) -> CaseBench:
    return CaseBench(tmp_path)


def listed(bench: CaseBench) -> list[str]:
    return [case["run_id"] for case in bench.run("case", "list", "--json").document["cases"]]


def test_a_case_is_made_of_a_run_by_id_prefix_or_last_and_only_once(bench: CaseBench) -> None:
    run_id = bench.asked()
    done = bench.run("case", "create", run_id[:9])
    assert done.status == 0
    assert column(done, "outcome") == ["created"]
    (case_id,) = column(done, "case")
    assert f"memcli case resolve {case_id}" in done.err
    for reference in (run_id, "last"):
        again = bench.run("case", "create", reference, "--json")
        validate(again.document, "memcli.case.create.v1")
        (made,) = again.document["created"]
        assert (made["is_new"], made["case"]["case_id"]) == (False, case_id)
        assert made["reference"] == reference
    assert listed(bench) == [run_id]


def test_creating_twice_at_once_gives_the_same_case(bench: CaseBench) -> None:
    bench.asked()
    made: list[str] = []

    def create() -> None:
        created = bench.run("case", "create", "last", "--json").document["created"]
        made.append(created[0]["case"]["case_id"])

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 4
    assert len(set(made)) == 1


def test_many_runs_are_made_together_and_each_refusal_has_its_reason(bench: CaseBench) -> None:
    good, failed = bench.asked(), bench.fail()
    running, interrupted = bench.begin(), bench.begin(gone=True)
    done = bench.run("case", "create", good, failed, running, interrupted)
    assert done.status == 3
    assert column(done, "outcome") == ["created", "refused", "refused", "refused"]
    reasons = column(done, "query or reason")
    assert reasons[1] == "it failed: index_not_ready: There is no index yet."
    assert reasons[2] == "it is still running"
    assert reasons[3].startswith("it failed: retrieval_interrupted")
    assert "3 of 4 runs cannot become evaluation cases [run_not_evaluable]" in done.err
    document = bench.run("case", "create", failed, good, "--json")
    assert document.status == 3
    validate(document.document, "memcli.case.create.v1")
    assert document.error["code"] == "run_not_evaluable"
    assert [bool(each["refusal"]) for each in document.document["created"]] == [True, False]


def test_a_run_whose_body_is_missing_or_damaged_is_refused_by_name(bench: CaseBench) -> None:
    run_id = bench.asked()
    body = sorted(bench.store.blobs.blobs.glob("*/*"))[0]
    for damage in (b"something else", None):
        if damage is None:
            body.unlink()
        else:
            body.write_bytes(damage)
        done = bench.run("case", "create", run_id, "--json")
        assert done.status == 3
        assert done.error["code"] == "run_not_evaluable"
        assert "is missing or damaged" in done.error["message"]
    assert listed(bench) == []


def test_an_unknown_run_among_others_makes_nothing_and_near_ids_are_named(
    bench: CaseBench,
) -> None:
    run_id = bench.asked()
    done = bench.run("case", "create", run_id, run_id[:7] + "zz")
    assert (done.status, done.out) == (1, "")
    assert f"did you mean {run_id}" in done.err
    assert listed(bench) == []
    assert bench.run("case", "create", "ab").status == 1


def test_all_takes_every_run_oldest_first_and_failed_ones_are_no_error(bench: CaseBench) -> None:
    first, failed, second = bench.asked("one"), bench.fail(), bench.asked("two")
    done = bench.run("case", "create", "--all")
    assert done.status == 0
    assert column(done, "run") == [first, failed, second]
    assert column(done, "outcome") == ["created", "refused", "created"]
    assert "2 with a case, 1 refused" in done.err
    assert "memcli case next" in done.err
    assert listed(bench) == [first, second]


def test_all_ends_with_an_error_when_a_run_with_an_answer_is_lost(bench: CaseBench) -> None:
    """F30."""
    bench.fail()
    lost = bench.asked()
    for body in bench.store.blobs.blobs.glob("*/*"):
        body.unlink()
    done = bench.run("case", "create", "--all", "--json")
    assert done.status == 3
    assert lost in done.error["message"]


def test_since_takes_the_runs_of_that_time_only(bench: CaseBench) -> None:
    old = bench.asked("old")
    bench.later(hours=3)
    new = bench.asked("new")
    assert column(bench.run("case", "create", "--since", "2h"), "run") == [new]
    assert listed(bench) == [new]
    assert bench.run("case", "create", "--since", "soon").status == 2
    assert column(bench.run("case", "create", "--since", "2026-01-01"), "run") == [old, new]


@pytest.mark.parametrize("arguments", [(), ("last", "--all"), ("--since", "2h", "--all")])
def test_runs_are_either_named_or_selected(bench: CaseBench, arguments: tuple[str, ...]) -> None:
    bench.asked()
    done = bench.run("case", "create", *arguments, "--json")
    assert (done.status, done.error["code"]) == (2, "usage")
    assert listed(bench) == []


def test_no_run_at_all_is_said_with_the_next_command(bench: CaseBench) -> None:
    done = bench.run("case", "create", "--all")
    assert (done.status, done.out) == (0, "")
    assert "memcli activate" in done.err
    assert bench.run("case", "create", "--all", "--json").document["created"] == []
    assert bench.run("case", "create", "last").status == 1


def test_the_source_of_a_case_survives_clear(bench: CaseBench) -> None:
    run_id = bench.asked()
    bench.asked("another")
    bench.run("case", "create", run_id)
    assert bench.run("clear", "--yes", "--json").document["runs"] == 1
    assert bench.run("runs", "show", run_id).status == 0


# case list


def test_list_shows_status_version_and_evidence_oldest_first(bench: CaseBench) -> None:
    first, second, third = bench.draft("one"), bench.ready("rank:1", "rank:2"), bench.draft("three")
    bench.run("case", "resolve", third, "--expected-version", "1", "--none-matched")
    done = bench.run("case", "list")
    assert column(done, "case") == [first, second, third]
    assert column(done, "status") == ["draft", "ready", "needs_evidence"]
    assert column(done, "version") == ["1", "2", "2"]
    assert column(done, "evidence") == ["0", "2", "0"]
    validate(bench.run("case", "list", "--json").document, "memcli.case.list.v1")
    for status, case_id in (("draft", first), ("ready", second), ("needs_evidence", third)):
        assert column(bench.run("case", "list", "--status", status), "case") == [case_id]
    assert bench.run("case", "list", "--status", "done").status == 2


def test_list_fits_the_terminal_and_says_what_is_next(bench: CaseBench) -> None:
    bench.draft("how " * 60 + "[/b]\n\x1b[31m")
    for columns in (60, 80, 200):
        done = bench.run("case", "list", columns=columns)
        assert done.widest <= columns
        assert "\x1b" not in done.out
        assert "memcli case next" in done.err
    assert bench.run("case", "list", "--status", "ready").err.startswith("no case matches")


def test_list_is_of_this_project_unless_all_are_asked_for(bench: CaseBench) -> None:
    bench.registry.remember("quay", str(bench.project("quay")))
    here = bench.draft()
    run_id = bench.asked("there", project_id="quay")
    assert bench.run("case", "create", run_id).status == 0
    assert column(bench.run("case", "list"), "case") == [here]
    every = bench.run("case", "list", "--all-projects")
    assert column(every, "project") == ["harbor", "quay"]


def test_list_without_a_store_makes_none(bench: CaseBench, tmp_path: Path) -> None:
    home = tmp_path / "nothing"
    done = bench.run("case", "list", env={"MEMCLI_HOME": str(home)})
    assert (done.status, done.out) == (0, "")
    assert "memcli case create last" in done.err
    assert not home.exists()
