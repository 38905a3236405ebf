"""``runs show``: one Run with all it holds, on narrow and wide terminals, piped and as JSON."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cli.run_support import Bench, Printed, cells
from conftest_types import Run
from history.factory import Corpus, make_candidate, numbered_corpus

from memcli.cli.safe_text import display_width
from memcli.evaluation.creation import create_case
from memcli.history.pinning import pin_run
from memcli.retrieval.activation import Candidate

NASTY_BODY = "# [/b] heading\n\n\x1b]0;title\x07 [red]text[/red]\r\n\tindented \u202e部署\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def corpus_and_candidates(size: int = 30) -> tuple[Corpus, tuple[Candidate, ...]]:
    """Long keys and every kind of place: exact hits, missing stages, every reason."""
    corpus = numbered_corpus(size, "docs/incidents/2026-a-long-name-of-a-poison-message")
    reasons = (
        "below_relevance", "overlap", "resource_limit", "token_budget", "fragment_limit",
        "not_reranked",
    )  # fmt: skip
    made = []
    for rank, resource in enumerate(corpus.resources, 1):
        one = make_candidate(resource, corpus.bodies[resource.resource_id], rank)
        if rank > 2:
            one = replace(one, exclusion_reason=reasons[rank % len(reasons)])
        if rank % 3 == 0:
            one = replace(one, bm25_rank=None, bm25_score=None)
        if rank % 4 == 0:
            one = replace(one, exact_rank=rank, exact_tier=3)
        made.append(one)
    return corpus, tuple(made)


def test_json_has_exactly_the_names_of_the_design(bench: Bench) -> None:
    run_id = bench.record()
    case = create_case(bench.store, run_id, project_id="harbor")
    document = bench.run("runs", "show", run_id, "--json").document
    assert set(document) == {"schema", "run", "case", "candidates", "resources"}
    assert set(document["run"]) == {
        "run_id", "project_id", "query", "status", "created_at", "completed_at", "revision_id",
        "effective_hash", "chain", "recipe", "models", "counts", "limits", "timings_us", "error",
        "pinned",
    }  # fmt: skip
    assert document["run"]["pinned"] is True
    assert document["case"] == {"case_id": case.case_id, "status": "draft", "version": 1}
    assert set(document["candidates"][0]) == {
        "unit_key", "content_hash", "resource_id", "resource_hash", "scope", "kind", "path",
        "heading_path", "locator", "token_count", "exact_tier", "exact_rank", "bm25_rank",
        "bm25_score", "vector_rank", "vector_score", "rrf_rank", "rrf_score", "rerank_rank",
        "rerank_score", "relevance", "final_rank", "final_score", "exclusion_reason", "action",
        "excerpt",
    }  # fmt: skip
    assert set(document["candidates"][0]["locator"]) == {
        "start_line", "end_line", "start_char", "end_char",
    }  # fmt: skip
    assert [set(resource) for resource in document["resources"]] == [
        {
            "ordinal", "resource_id", "scope", "kind", "path", "title", "description",
            "resource_hash", "body_sha256",
        }
    ] * 5  # fmt: skip
    assert bench.run("runs", "show", run_id, "--resources", "--json").document == document


def test_text_tells_query_what_was_searched_times_candidates_and_fragments(bench: Bench) -> None:
    corpus = numbered_corpus(5)
    run_id = bench.record(corpus=corpus)
    out = bench.run("runs", "show").out
    for expected in (
        run_id, "succeeded", "how do we moor at night?", f"rev-{corpus.effective_hash[:8]}",
        corpus.effective_hash, "agent_activation.v2", "e5", "late", "a" * 64,
        "5 resources, 5 units; 5 candidates, 5 reranked", "relevance_floor 0.3", "moor, night",
        "at, we", "The query was shortened.", "█", "0.9 ms", "candidates (5)", "below_relevance",
        "fragments (2)", "# note 0", "Body of note number 1.",
    ):  # fmt: skip
        assert expected in out
    assert "Body of note number 4." not in out


def test_piped_candidates_are_tab_separated_whole_and_complete(bench: Bench) -> None:
    corpus, candidates = corpus_and_candidates()
    bench.record(corpus=corpus, candidates=candidates)
    rows = cells(bench.run("runs", "show"))
    header = next(row for row in rows if row[0] == "final_rank")
    start = rows.index(header) + 1
    listed = [dict(zip(header, row, strict=True)) for row in rows[start : start + 30]]
    stored = bench.run("runs", "show", "--json").document["candidates"]
    by_key = {each["unit_key"]: each for each in stored}
    assert len(listed) == len(by_key) == 30
    for row in listed:
        expected = by_key[row["unit_key"]]
        for name, value in row.items():
            assert value == ("" if expected[name] is None else str(expected[name])), name
    assert [row["final_rank"] for row in listed[:3]] == ["1", "2", ""]


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_candidate_table_fits_the_terminal_with_every_rank_and_reason(
    bench: Bench, columns: int
) -> None:
    corpus, candidates = corpus_and_candidates()
    bench.record(corpus=corpus, candidates=candidates)
    done = bench.run("runs", "show", columns=columns)
    table = done.out.split("candidates (30)")[1].split("fragments (2)")[0]
    assert max(map(display_width, table.splitlines())) <= columns
    for name in ("final", "exact", "tier", "bm25", "vector", "cosine", "rrf", "rerank", "score"):
        assert name in table
    for candidate in candidates:
        assert (candidate.exclusion_reason or "returned (add)") in table
    assert ("#root~0.0" in table) == (columns > 80)
    assert "--candidate 1\n" in done.err


@pytest.mark.parametrize("columns", [80, 200])
def test_every_line_but_those_of_the_notes_fits_the_terminal(bench: Bench, columns: int) -> None:
    bench.record("how do we moor at night?", corpus=numbered_corpus(40))
    bench.fail()
    assert bench.run("runs", "show", columns=columns).widest <= columns
    for reference in ("last", *(run for run in [bench.record()])):
        assert bench.run("runs", "show", reference, columns=columns).widest <= columns
        resources = bench.run("runs", "show", reference, "--resources", columns=columns)
        assert resources.widest <= columns


def test_run_is_named_by_id_by_a_unique_beginning_or_last(bench: Bench) -> None:
    first, second = bench.record("one"), bench.record("two")

    def shown(*words: str) -> str:
        return str(bench.run("runs", "show", *words, "--json").document["run"]["run_id"])

    assert shown(first) == shown(first[:8]) == shown(first[:8].upper()) == first
    assert shown("last") == shown() == second


def test_unknown_and_ambiguous_ids_help_to_find_the_right_one(bench: Bench) -> None:
    run_id = bench.record()
    wrong = f"{run_id[:6]}{'0' if run_id[6] != '0' else '1'}{run_id[7:10]}"
    done = bench.run("runs", "show", wrong, "--json")
    assert (done.status, done.out) == (1, "")
    assert done.error["code"] == "run_not_found"
    assert run_id in done.error["message"]
    nothing = bench.run("runs", "show", "zzzz")
    assert nothing.status == 1
    assert "runs list --all-projects" in nothing.err
    seen = [run_id]
    while len({one[0] for one in seen}) == len(seen):
        seen.append(bench.record())
    letter = next(one[0] for one in seen if [two[0] for two in seen].count(one[0]) > 1)
    several = bench.run("runs", "show", letter)
    assert several.status == 1
    assert "several runs begin so" in several.err


def test_last_of_a_project_without_runs_is_not_found(bench: Bench) -> None:
    done = bench.run("runs", "show", "last")
    assert done.status == 1
    assert "no runs yet" in done.err


def test_run_of_another_project_is_shown_as_such(bench: Bench) -> None:
    quay = bench.project("quay")
    bench.registry.remember("quay", str(quay))
    bench.record("here")
    there = bench.record("there", project_id="quay")
    done = bench.run("runs", "show", there)
    assert done.status == 0
    assert f"quay ({quay}): another project than this one" in done.out
    assert "another project" in done.err
    assert "another project" in bench.run("runs", "show", there, "--json").err
    assert "another project" not in bench.run("runs", "show", there, cwd=quay).err
    assert bench.run("runs", "show", "last", "--json").document["run"]["query"] == "here"


def test_failed_run_tells_stage_code_and_summary_and_has_no_corpus(bench: Bench) -> None:
    run_id = bench.fail(code="index_not_ready")
    done = bench.run("runs", "show", run_id)
    assert "failed" in done.out
    assert "index_not_ready in stage open" in done.out
    assert "There is no index yet." in done.out
    assert "nothing: it ended before a revision was open" in done.out
    assert "none were recorded" in done.out
    document = bench.run("runs", "show", run_id, "--json").document
    assert document["run"]["error"] == {
        "stage": "open", "code": "index_not_ready", "summary": "There is no index yet.",
    }  # fmt: skip
    assert document["candidates"] == document["resources"] == []
    resources = bench.run("runs", "show", run_id, "--resources")
    assert (resources.status, resources.out) == (0, "")
    assert "no corpus is stored with a run that failed" in resources.err


def test_interrupted_run_is_shown_as_failed_and_a_live_one_as_running(bench: Bench) -> None:
    gone, alive = bench.begin(gone=True), bench.begin()
    assert "retrieval_interrupted in stage process" in bench.run("runs", "show", gone).out
    assert "running" in bench.run("runs", "show", alive).out


def test_pin_and_case_are_shown(bench: Bench) -> None:
    run_id = bench.record()
    pin_run(bench.store, run_id, project_id="harbor")
    assert "by hand" in bench.run("runs", "show", run_id).out
    case = create_case(bench.store, run_id, project_id="harbor")
    assert f"{case.case_id}, draft, version 1" in bench.run("runs", "show", run_id).out
    assert "case draft" in bench.run("runs", "list").out


def story(bench: Bench, asked: str) -> Printed:
    return bench.run("runs", "show", "last", "--candidate", asked)


def test_one_candidate_has_its_whole_story_and_its_whole_text(bench: Bench) -> None:
    body = "# Mooring\n\n" + "Tie the bow line first. " * 60 + "The very end.\n"
    corpus = Corpus({"mooring": body, "other": "# Other\n"})
    bench.record(corpus=corpus)
    done = story(bench, "mooring#root~0.0")
    for expected in (
        "mooring#root~0.0", "how do we moor at night?", "mooring.md, lines 1-4",
        "place 1, score 10.0000", "relevance 1.0000 (floor 0.3)", "returned at place 1 (add)",
        "The very end.",
    ):  # fmt: skip
        assert expected in done.out
    document = bench.run("runs", "show", "--candidate", "1", "--json").document
    assert document["schema"] == "memcli.runs.candidate.v1"
    assert document["text"] == body
    assert len(document["candidate"]["excerpt"]) <= 400
    assert document["candidate"]["rerank_truncated"] is False
    assert "its end was cut" in story(bench, "other").out


def test_candidate_is_named_by_key_place_or_beginning_and_near_ones_are_suggested(
    bench: Bench,
) -> None:
    bench.record(corpus=Corpus({"mooring": "# M\n", "moving": "# V\n", "7": "# Seven\n"}))
    key = "moving#root~0.0"
    assert story(bench, key).out == story(bench, "2").out == story(bench, "mov").out
    ambiguous = story(bench, "mo")
    assert ambiguous.status == 1
    assert "mooring#root~0.0, moving#root~0.0" in ambiguous.err
    near = story(bench, "mooving#root~0.0")
    assert near.status == 1
    assert "Did you mean" in near.err
    unknown = bench.run("runs", "show", "--candidate", "99", "--json")
    assert unknown.error["code"] == "candidate_not_found"


def test_candidate_and_resources_exclude_each_other(bench: Bench) -> None:
    bench.record()
    done = bench.run("runs", "show", "last", "--candidate", "1", "--resources")
    assert done.status == 2


def test_manifest_is_listed_in_order_with_digests(bench: Bench) -> None:
    corpus = Corpus({"b": "# B\n", "a": "# A\n"}, description="what it says")
    bench.record(corpus=corpus)
    header, *rows = cells(bench.run("runs", "show", "--resources"))
    assert header == [
        "ordinal", "scope", "kind", "path", "title", "resource_hash", "resource_id",
        "description", "body_sha256",
    ]  # fmt: skip
    assert [row[3] for row in rows] == ["b.md", "a.md"]
    assert [row[-1] for row in rows] == [each.body_sha256 for each in corpus.resources]
    shown = bench.run("runs", "show", "--resources", columns=80)
    assert corpus.resources[0].resource_hash[:12] in shown.out


def test_damaged_body_leaves_the_excerpt_and_says_so(bench: Bench) -> None:
    corpus = numbered_corpus(2)
    bench.record(corpus=corpus)
    bench.store.blobs.path_of(corpus.resources[0].body_sha256).write_bytes(b"other")
    done = bench.run("runs", "show")
    assert done.status == 0
    assert "does not have the content its name promises" in done.out
    assert "Body of note number 0." in done.out
    one = bench.run("runs", "show", "--candidate", "1", "--json")
    assert one.status == 1
    assert one.error["code"] == "store_damaged"


@pytest.mark.parametrize("columns", [None, 80, 200])
def test_note_text_is_printed_as_it_is_and_cannot_act_on_the_terminal(
    bench: Bench, columns: int | None
) -> None:
    """F38: markup of no library, and no control sequence."""
    bench.record("[/q] \x1b[2J what?", corpus=Corpus({"[/path]": NASTY_BODY}))
    for more in ((), ("--candidate", "1"), ("--resources",)):
        done = bench.run("runs", "show", "last", *more, columns=columns)
        assert done.status == 0, done.err
        assert "[/path]" in done.out
        for harmful in ("\x1b", "\x07", "\r", "\u202e"):
            assert harmful not in done.out
        if more != ("--resources",):
            assert "[/q] \\x1b[2J what?" in done.out
            assert "# [/b] heading" in done.out
            assert "\\x1b]0;title\\x07 [red]text[/red]\\x0d" in done.out


def test_returned_fragments_equal_the_stored_trace(memcli: Run) -> None:
    """What is printed and what is stored come from one result."""
    answer = memcli("activate", "how do I roll back a bad deploy?", "--json", "--explain").document
    run_id = answer["run_id"]
    shown = memcli("runs", "show", run_id, "--json").document
    assert shown["run"]["revision_id"] == answer["revision_id"]
    assert shown["run"]["effective_hash"] == answer["effective_hash"]
    stored = {each["unit_key"]: each for each in shown["candidates"]}
    assert list(stored) == [each["unit_key"] for each in answer["candidates"]]
    for printed in answer["candidates"]:
        for name in set(printed) & set(stored[printed["unit_key"]]):
            assert stored[printed["unit_key"]][name] == printed[name], name
    assert [key for key, each in stored.items() if each["final_rank"]] == [
        each["unit_key"] for each in answer["fragments"]
    ]
    for fragment in answer["fragments"]:
        key = fragment["unit_key"]
        one = memcli("runs", "show", run_id, "--candidate", key, "--json").document
        assert one["text"] == fragment["text"]
        assert one["candidate"]["content_hash"] == fragment["content_hash"]
