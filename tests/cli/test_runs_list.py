"""``runs list``: which Runs, in which order, in which form, and what it costs to start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from cli.run_support import Bench, cells, column, ids

from memcli.facade import Memcli, Surroundings
from memcli.facade.run_views import SUMMARY_SCHEMA

NASTY = "a\tb\nc \x1b[31mred [/b] \u202e部署 " + "long " * 60


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_runs_are_listed_newest_first_and_tab_separated_when_piped(bench: Bench) -> None:
    first = bench.record("the first question")
    second = bench.fail("the second question")
    done = bench.run("runs", "list")
    assert (done.status, done.err) == (0, "")
    assert cells(done)[0] == ["run", "created", "status", "fragments", "note", "query"]
    assert column(done, "run") == [second, first]
    assert column(done, "status") == ["failed", "succeeded"]
    assert column(done, "note") == ["index_not_ready", ""]
    assert column(done, "query") == ["the second question", "the first question"]
    assert column(done, "created")[1].startswith("2026-03-01T09:30:00.")


def test_list_is_filtered_by_status_age_date_and_number(bench: Bench) -> None:
    old = bench.record("old")
    bench.later(days=5)
    middle = bench.fail("middle")
    bench.later(hours=5)
    new = bench.record("new")

    def listed(*options: str) -> list[str]:
        return list(ids(bench.run("runs", "list", "--json", *options)))

    assert listed() == [new, middle, old]
    assert listed("--status", "failed") == [middle]
    assert listed("--status", "succeeded") == [new, old]
    assert listed("--status", "running") == []
    assert listed("--since", "2h") == [new]
    assert listed("--since", "90 min") == [new]
    assert listed("--since", "3d") == [new, middle]
    assert listed("--since", "9w") == [new, middle, old]
    assert listed("--since", "2026-03-03") == [new, middle]
    assert listed("--since", "2026-03-06T10:00:00Z") == [new]
    assert listed("--since", "2026-03-06 10:00+00:00") == [new]
    assert listed("--since", "0987-01-01") == [new, middle, old]
    assert listed("--since", "99999999999d") == [new, middle, old]
    assert listed("--limit", "2") == [new, middle]
    assert listed("--limit", "1", "--status", "failed") == [middle]


@pytest.mark.parametrize("since", ["yesterday-ish", "", "2026-13-01", "-3d", "3y", "9999-12-31T"])
def test_since_that_is_no_moment_is_a_usage_error_with_examples(bench: Bench, since: str) -> None:
    done = bench.run("runs", "list", f"--since={since}", "--json")
    assert (done.status, done.out) == (2, "")
    assert done.error["code"] == "usage"
    assert "--since 3d" in done.error["hint"]


@pytest.mark.parametrize("option", [("--limit", "0"), ("--limit", "-1"), ("--status", "lost")])
def test_limit_and_status_out_of_range_are_usage_errors(
    bench: Bench, option: tuple[str, str]
) -> None:
    assert bench.run("runs", "list", *option).status == 2


def test_json_is_one_document_and_ndjson_one_a_line(bench: Bench) -> None:
    bench.record("one")
    bench.begin("two")
    document = bench.run("runs", "list", "--json").document
    assert document["schema"] == "memcli.runs.list.v1"
    assert set(document["runs"][0]) == {
        "run_id", "project_id", "query", "status", "created_at", "completed_at", "revision_id",
        "effective_hash", "chain", "counts", "timings_us", "error", "pinned", "case",
    }  # fmt: skip
    assert document["runs"][1]["counts"]["fragments"] == 2
    lines = bench.run("runs", "list", "--ndjson").out.splitlines()
    assert [orjson.loads(line) for line in lines] == [
        {"schema": SUMMARY_SCHEMA, **run} for run in document["runs"]
    ]
    assert bench.run("runs", "list", "--ndjson", "--status", "failed").out == ""
    assert bench.run("runs", "list", "--ndjson", "--since", "x").error["code"] == "usage"


def test_all_projects_are_listed_only_when_asked_and_named(bench: Bench) -> None:
    quay = bench.project("quay")
    bench.registry.remember("quay", str(quay))
    here = bench.record("here")
    there = bench.record("there", project_id="quay")
    lost = bench.record("lost", project_id="never-registered")
    assert list(ids(bench.run("runs", "list", "--json"))) == [here]
    done = bench.run("runs", "list", "--all-projects")
    assert column(done, "run") == [lost, there, here]
    assert column(done, "project") == ["never-registered", "quay", "harbor"]
    assert column(bench.run("runs", "list", cwd=quay), "run") == [there]


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("more", [(), ("--all-projects",)])
def test_list_fits_the_terminal_and_never_wraps(
    bench: Bench, columns: int, more: tuple[str, ...]
) -> None:
    bench.record("why does the night crew moor at the eastern pier when the wind comes from there?")
    bench.record(NASTY)
    bench.begin("gone with the process", gone=True)
    bench.begin("部署" * 100)
    done = bench.run("runs", "list", *more, columns=columns)
    assert done.status == 0
    assert done.widest <= columns
    assert ("when the wind comes from there?" in done.out) == (columns == 200)
    assert "retrieval_i" in done.out
    assert "…" in done.out
    assert "memcli runs show" in done.err


def test_piped_list_is_never_cut_and_a_query_cannot_act_on_the_terminal(bench: Bench) -> None:
    """F38."""
    bench.record(NASTY)
    done = bench.run("runs", "list")
    (query,) = column(done, "query")
    assert query == "a b c \\x1b[31mred [/b] \\u202e部署 " + " ".join(["long"] * 60)


def test_terminal_gets_the_newest_thirty_and_hears_of_older_ones(bench: Bench) -> None:
    for number in range(32):
        bench.record(f"question {number}")
    shown = bench.run("runs", "list", columns=100)
    assert len(shown.out.splitlines()) == 1 + 30
    assert "--limit" in shown.err
    assert len(bench.run("runs", "list", columns=100).out.splitlines()) == 1 + 30
    assert len(bench.run("runs", "list", "--limit", "31", columns=100).out.splitlines()) == 1 + 31
    assert len(cells(bench.run("runs", "list"))) == 1 + 32
    assert len(ids(bench.run("runs", "list", "--json", columns=100))) == 32


def test_without_runs_it_says_so_on_stderr_and_prints_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    done = bench.run("runs", "list")
    assert (done.status, done.out) == (0, "")
    assert "no runs yet" in done.err
    assert "memcli activate" in done.err
    assert "no run matches" in bench.run("runs", "list", "--status", "failed").err
    assert bench.run("runs", "list", "--json").document["runs"] == []


def test_listing_without_a_store_makes_none(bench: Bench, tmp_path: Path) -> None:
    elsewhere = {"MEMCLI_HOME": str(tmp_path / "nothing here")}
    assert bench.run("runs", "list", "--json", env=elsewhere).document["runs"] == []
    assert not (tmp_path / "nothing here").exists()


def test_running_runs_are_shown_as_such_and_interrupted_ones_as_failed(bench: Bench) -> None:
    bench.begin("alive")
    bench.begin("gone", gone=True)
    done = bench.run("runs", "list", "--json").document["runs"]
    assert [(run["query"], run["status"]) for run in done] == [
        ("gone", "failed"), ("alive", "running"),
    ]  # fmt: skip
    assert done[0]["error"]["code"] == "retrieval_interrupted"
    assert len(ids(bench.run("runs", "list", "--status", "failed", "--json"))) == 1
    assert len(ids(bench.run("runs", "list", "--status", "running", "--json"))) == 1


def test_moved_project_and_one_without_its_storage_still_list_their_runs(bench: Bench) -> None:
    root = bench.project("dock", configured=False)
    environ = {"MEMCLI_HOME": str(bench.store.home), "HOME": str(bench.base)}
    around = Surroundings(environ=environ, now=bench.now)
    with Memcli.open(root, surroundings=around) as memcli:
        project_id = memcli.identity(settle=True).project_id
    run_id = bench.record("where am I?", project_id=project_id)
    assert column(bench.run("runs", "list", cwd=root), "run") == [run_id]

    (root / ".memcli" / "project-id").unlink()
    assert column(bench.run("runs", "list", cwd=root), "run") == [run_id]
    with Memcli.open(root, surroundings=around) as memcli:
        assert memcli.identity(settle=True).project_id == project_id

    moved = root.rename(bench.base / "moved dock")
    assert column(bench.run("runs", "list", cwd=moved), "run") == [run_id]


@pytest.mark.parametrize("content", [b"", b"no database at all", b"SQLite format 3\x00" + b"x" * 9])
def test_damaged_store_is_reported_and_not_touched(bench: Bench, content: bytes) -> None:
    bench.record()
    bench.store.path.write_bytes(content)
    for name in ("local.db-wal", "local.db-shm"):
        (bench.store.home / name).unlink(missing_ok=True)
    done = bench.run("runs", "list", "--json")
    assert (done.status, done.out) == (1, "")
    assert done.error["code"] == "store_damaged"
    assert done.error["hint"]
    assert bench.store.path.read_bytes() == content


@pytest.mark.parametrize("words", [("runs", "list"), ("runs", "show", "last"), ("runs", "--help")])
def test_reading_history_loads_neither_numpy_nor_llama_cpp_nor_sqlite_utils(
    bench: Bench, words: tuple[str, ...]
) -> None:
    """F35."""
    bench.record()
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "memcli", *words],
        capture_output=True,
        text=True,
        cwd=bench.root,
        env={"MEMCLI_HOME": str(bench.store.home), "HOME": str(bench.base), "PATH": "/usr/bin"},
        timeout=60,
    )
    assert done.returncode == 0
    imported = {
        line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()
    }
    assert "memcli" in imported
    assert not imported & {"numpy", "llama_cpp", "sqlite_utils", "rich", "markdown_it", "yaml"}
