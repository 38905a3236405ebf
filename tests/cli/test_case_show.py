"""``case show``, ``case next`` and ``case delete``: what they show, find, ask and delete."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.case_support import CaseBench, validate
from evaluation.factory import corpus, trace


@pytest.fixture
def bench(tmp_path: Path) -> CaseBench:
    return CaseBench(tmp_path)


def test_show_has_query_evidence_with_excerpts_and_candidates_by_rank(bench: CaseBench) -> None:
    case_id = bench.ready("rank:2", "resource:notes/kettle")
    done = bench.run("case", "show", case_id[:8])
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0] == f"case {case_id} ready, version 2"
    assert "query      how do we moor at night?" in lines
    assert "unit:docs/night#root~0.0" in lines
    assert "   Lights on after dusk." in lines
    assert "resource:notes/kettle" in lines
    assert "   The kettle is in the galley." in lines
    rows = [line.split("\t") for line in lines if line.count("\t") == 6]
    assert [row[:4] for row in rows[1:3]] == [
        ["1", "1", "0", "docs/moor#root~0.0"],
        ["2", "1", "1", "docs/night#root~0.0"],
    ]


def test_json_of_show_is_valid_and_its_ranks_are_what_resolve_takes(bench: CaseBench) -> None:
    case_id = bench.draft()
    document = bench.run("case", "show", case_id, "--json").document
    validate(document, "memcli.case.show.v1")
    third = document["candidates"][2]
    assert third["rank"] == 3
    bench.run("case", "resolve", case_id, "--expected-version", "1", "--evidence", "rank:3")
    assert bench.spellings(case_id) == [f"unit:{third['unit_key']}"]


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_show_fits_the_terminal_and_corpus_text_is_harmless(bench: CaseBench, columns: int) -> None:
    notes = corpus(**{"docs/odd": "[/b] [red] \x1b[31mred\x1b[0m \u202egnp\n"})
    case_id = bench.ready("rank:5", query="why [/b]?", searched=notes)
    done = bench.run("case", "show", case_id, columns=columns)
    assert done.widest <= columns
    assert "[/b] [red] \\x1b[31mred" in done.out
    assert "\x1b" not in done.out


def test_show_says_when_nothing_is_confirmed_or_nothing_matched(bench: CaseBench) -> None:
    case_id = bench.draft()
    assert "nobody has resolved this case" in bench.run("case", "show", case_id).out
    bench.run("case", "resolve", case_id, "--expected-version", "1", "--none-matched")
    shown = bench.run("case", "show", case_id).out
    assert "none matched" in shown
    assert "needs_evidence, version 2" in shown


def test_show_still_works_when_a_frozen_body_is_lost(bench: CaseBench) -> None:
    case_id = bench.ready("resource:docs/moor", "rank:1")
    for body in bench.store.blobs.blobs.glob("*/*"):
        body.unlink()
    done = bench.run("case", "show", case_id)
    assert done.status == 0
    assert "[its text cannot be read any more]" in done.out
    assert "Tie the bow line first." in done.out


def test_search_finds_frozen_notes_by_words_whatever_the_files_say_now(bench: CaseBench) -> None:
    notes = corpus(**{"docs/hidden": "# Hidden\n\nIn a storm the warp is doubled.\n"})
    seen = tuple(each for each in trace(notes) if each.resource_id != "docs/hidden")
    case_id = bench.draft(searched=notes, candidates=seen)
    done = bench.run("case", "show", case_id, "--search", "STORM doubled galley")
    assert done.out.splitlines()[0] == "resource:docs/hidden (2 of the words, body line 3)"
    assert "In a storm the warp is doubled." in done.out
    assert "unit:notes/kettle#root~0.0" in done.out
    document = bench.run("case", "show", case_id, "--search", "storm", "--json").document
    validate(document, "memcli.case.search.v1")
    assert document["total"] == 1
    nothing = bench.run("case", "show", case_id, "--search", "zebra")
    assert (nothing.status, nothing.out) == (0, "")
    assert "no frozen resource holds" in nothing.err
    assert bench.run("case", "show", case_id, "--search", " ").status == 2


def test_resources_lists_the_frozen_corpus(bench: CaseBench) -> None:
    case_id = bench.draft()
    lines = bench.run("case", "show", case_id, "--resources").out.splitlines()
    assert lines[0].split("\t")[0] == "resource_id"
    assert [line.split("\t")[0] for line in lines[1:]] == [
        "docs/moor", "docs/night", "notes/kettle", "notes/fuel",
    ]  # fmt: skip
    assert bench.run("case", "show", case_id, "--resources", "--search", "x").status == 2


def test_an_unknown_case_names_near_ids_and_a_run_says_how_to_make_one(bench: CaseBench) -> None:
    case_id = bench.draft()
    run_id = bench.held(case_id).case.run_id
    for words in (("show",), ("resolve", "--expected-version", "1", "--none-matched"),
                  ("delete", "--yes")):  # fmt: skip
        name, *more = words
        done = bench.run("case", name, case_id[:7] + "zz", *more, "--json")
        assert (done.status, done.error["code"]) == (1, "case_not_found")
        assert f"did you mean {case_id}" in done.error["message"]
        of_run = bench.run("case", name, run_id, *more)
        assert f"memcli case create {run_id}" in of_run.err


def test_a_case_of_another_project_is_shown_and_named_as_such(bench: CaseBench) -> None:
    bench.registry.remember("quay", str(bench.project("quay")))
    run_id = bench.asked("there", project_id="quay")
    case = bench.run("case", "create", run_id, "--json").document["created"][0]["case"]
    shown = bench.run("case", "show", case["case_id"])
    assert "quay: another project than this one" in shown.out


# case next


def test_next_without_a_terminal_shows_the_oldest_unresolved_case(bench: CaseBench) -> None:
    bench.ready()
    older, _ = bench.draft("older"), bench.draft("newer")
    document = bench.run("case", "next", "--json").document
    validate(document, "memcli.case.show.v1")
    assert document["case"]["case_id"] == older
    assert f"case {older}" in bench.run("case", "next").out


def test_next_without_an_unresolved_case_is_status_1(bench: CaseBench) -> None:
    bench.ready()
    done = bench.run("case", "next", "--json")
    assert (done.status, done.error["code"]) == (1, "case_not_found")
    assert "memcli case create last" in done.error["hint"]


# case delete


def test_delete_asks_and_takes_no_for_an_answer(bench: CaseBench) -> None:
    case_id = bench.ready()
    refused = bench.run("case", "delete", case_id, columns=80, answer="n\n")
    assert refused.status == 1
    assert f"Delete case {case_id} (ready, version 2, 1 piece of evidence)" in refused.err
    assert "nothing was deleted" in refused.err
    for answer in ("y\n", "yes\n"):
        other = bench.ready()
        assert bench.run("case", "delete", other, columns=80, answer=answer).status == 0
    assert [case["case_id"] for case in cases(bench)] == [case_id]


def cases(bench: CaseBench) -> list[dict[str, str]]:
    listed: list[dict[str, str]] = bench.run("case", "list", "--json").document["cases"]
    return listed


def test_delete_without_a_terminal_needs_yes_and_a_dry_run_deletes_nothing(
    bench: CaseBench,
) -> None:
    case_id = bench.ready()
    done = bench.run("case", "delete", case_id, "--json")
    assert (done.status, done.error["code"]) == (2, "usage")
    trial = bench.run("case", "delete", case_id, "--dry-run", "--json").document
    validate(trial, "memcli.case.delete.v1")
    assert trial["dry_run"] is True
    assert bench.run("case", "delete", case_id, "--dry-run").out.startswith("would delete case")
    assert len(cases(bench)) == 1
    deleted = bench.run("case", "delete", case_id, "--yes", "--json").document
    validate(deleted, "memcli.case.delete.v1")
    assert deleted == {**trial, "dry_run": False}
    assert cases(bench) == []


def test_a_deleted_cases_run_can_be_cleared_and_the_query_is_gone(bench: CaseBench) -> None:
    case_id = bench.ready(query="the secret word is xyzzy")
    done = bench.run("case", "delete", case_id, "--yes")
    assert "its run is still there" in done.err
    assert bench.run("clear", "--yes", "--json").document["runs"] == 1
    assert not list(bench.store.blobs.blobs.glob("*/*"))
    data = b"".join(path.read_bytes() for path in bench.store.home.glob("local.db*"))
    assert b"xyzzy" not in data
