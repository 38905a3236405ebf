"""``runs diff``: what two Runs ranked differently, and whether anything around them differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cli.run_support import Bench, Printed
from history.factory import Corpus, make_candidate, numbered_corpus

from memcli.retrieval.activation import Candidate


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def ranked(corpus: Corpus, order: list[str], returned: int = 2) -> tuple[Candidate, ...]:
    """Candidates of a corpus in this order in every stage."""
    by_id = {each.resource_id: each for each in corpus.resources}
    made = []
    for rank, name in enumerate(order, 1):
        one = make_candidate(by_id[name], corpus.bodies[name], rank)
        final = rank if rank <= returned else None
        reason = None if final else "below_relevance"
        made.append(replace(one, final_rank=final, exclusion_reason=reason))
    return tuple(made)


def diffed(bench: Bench, a: str, b: str, columns: int | None = None) -> Printed:
    done = bench.run("runs", "diff", a, b, columns=columns)
    assert done.status == 0, done.err
    return done


def fact(done: Printed, name: str) -> str:
    line = next(line for line in done.out.splitlines() if line.startswith(f"{name} "))
    return line[len(name) :].strip()


def test_the_same_answer_twice_differs_in_nothing(bench: Bench) -> None:
    done = diffed(bench, bench.record(), bench.record())
    for name in ("query", "index", "memory", "models", "limits"):
        assert fact(done, name) == "the same"
    assert fact(done, "returned") == "the same 2 fragments"
    assert "every candidate has the same places" in done.out


def test_changed_places_and_reasons_are_listed_those_that_changed_the_answer_first(
    bench: Bench,
) -> None:
    corpus = Corpus({name: f"# {name}\n" for name in ("a", "b", "c", "d", "e")})
    first = bench.record(corpus=corpus, candidates=ranked(corpus, ["a", "b", "c", "d"]))
    second = bench.record(corpus=corpus, candidates=ranked(corpus, ["a", "d", "b", "e"]))
    done = diffed(bench, first, second)
    assert fact(done, "memory") == "the same"
    assert fact(done, "returned") == "1 only in b, 1 only in a"
    assert "+ d#root~0.0" in done.out
    assert "- b#root~0.0" in done.out
    assert "candidates (4 of 5 differ)" in done.out
    header, *rows = (line.split("\t") for line in done.out.split("differ)\n")[1].splitlines())
    assert header == ["final", "bm25", "vector", "rrf", "rerank", "what", "unit"]
    assert rows[:2] == [
        ["- → 2", "4 → 2", "4 → 2", "4 → 2", "4 → 2", "below_relevance → returned", "d#root~0.0"],
        ["2 → -", "2 → 3", "2 → 3", "2 → 3", "2 → 3", "returned → below_relevance", "b#root~0.0"],
    ]
    assert {row[-1]: row[-2] for row in rows[2:]} == {
        "c#root~0.0": "only in a, below_relevance",
        "e#root~0.0": "only in b, below_relevance",
    }
    assert len({row[-1] for row in rows}) == 4


def test_changed_memory_index_and_models_are_told_apart(bench: Bench) -> None:
    before = Corpus({"same": "# Same\n", "edited": "# Before\n", "gone": "# Gone\n"})
    after = Corpus({"same": "# Same\n", "edited": "# After\n", "new": "# New\n"})
    models = {"embedder": {"profile": "e5", "sha256": "b" * 64}, "reranker": {"profile": "late"}}
    first = bench.record(corpus=before)
    second = bench.record(corpus=after, models=models)
    done = diffed(bench, first, second)
    assert fact(done, "memory") == "1 added, 1 removed, 1 changed"
    for line in ("+ new", "- gone", "~ edited", "embedder.sha256", "effective_hash"):
        assert line in done.out
    assert "a " + "a" * 64 in done.out
    assert "b " + "b" * 64 in done.out
    assert "text changed" in done.out
    document = bench.run("runs", "diff", first, second, "--json").document
    assert document["schema"] == "memcli.runs.diff.v1"
    assert document["memory"]["changed"] == ["edited"]
    assert set(document["models"]) == {"embedder.sha256", "reranker.sha256"}
    assert document["same_query"] is True


def test_runs_of_other_queries_and_failed_ones_can_be_compared_and_it_says_what_that_means(
    bench: Bench,
) -> None:
    done = diffed(bench, bench.record("one question"), bench.fail("another question"))
    assert fact(done, "query") == "differs: ranks say little then"
    assert fact(done, "memory") == "not known: one of them stored no corpus"
    assert "failed (index_not_ready)" in done.out
    assert "only in a, returned" in done.out


@pytest.mark.parametrize("columns", [80, 200])
def test_diff_fits_the_terminal(bench: Bench, columns: int) -> None:
    name = "docs/incidents/2026-a-long-name-of-a-poison-message"
    corpus = numbered_corpus(40, name)
    order = [each.resource_id for each in corpus.resources]
    first = bench.record(corpus=corpus, candidates=ranked(corpus, order))
    second = bench.record(corpus=corpus, candidates=ranked(corpus, [*order[:2], *order[:1:-1]]))
    assert diffed(bench, first, second, columns).widest <= columns


def test_unknown_runs_are_refused(bench: Bench) -> None:
    done = bench.run("runs", "diff", bench.record(), "nope", "--json")
    assert (done.status, done.error["code"]) == (1, "run_not_found")
