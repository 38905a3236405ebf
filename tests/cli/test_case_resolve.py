"""``case resolve`` without a terminal: by flags and by JSON, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from cli.case_support import CaseBench, validate
from cli.run_support import Printed


@pytest.fixture
def bench(tmp_path: Path) -> CaseBench:
    return CaseBench(tmp_path)


def by_flags(bench: CaseBench, case_id: str, *flags: str, version: int = 1) -> Printed:
    return bench.run("case", "resolve", case_id, "--expected-version", str(version), *flags)


def by_json(bench: CaseBench, case_id: str, document: Any, *more: str) -> Printed:
    return bench.piped("case", "resolve", case_id, *more, given=orjson.dumps(document))


def test_flags_replace_the_evidence_and_raise_the_version(bench: CaseBench) -> None:
    case_id = bench.draft()
    done = by_flags(
        bench, case_id, "--evidence", "rank:1", "--evidence", "unit:docs/night#root~0.0",
        "--evidence", "resource:notes/fuel",
    )  # fmt: skip
    assert done.status == 0
    assert done.out == f"case {case_id}: ready, version 2, 3 pieces\n"
    assert f"memcli report {case_id}" in done.err
    assert bench.spellings(case_id) == [
        "unit:docs/moor#root~0.0", "unit:docs/night#root~0.0", "resource:notes/fuel",
    ]  # fmt: skip
    again = by_flags(bench, case_id, "--evidence", "resource:docs/moor", "--json", version=2)
    validate(again.document, "memcli.case.v1")
    assert again.document["case"]["version"] == 3
    assert bench.spellings(case_id) == ["resource:docs/moor"]
    none = by_flags(bench, case_id, "--none-matched", version=3)
    assert none.out == f"case {case_id}: needs_evidence, version 4, 0 pieces\n"
    assert bench.spellings(case_id) == []


@pytest.mark.parametrize("more", [("-",), ()])
def test_json_on_standard_input_does_the_same(bench: CaseBench, more: tuple[str, ...]) -> None:
    case_id = bench.draft()
    evidence = ["rank:1", {"resource_id": "notes/fuel"},
                {"resource_id": "docs/night", "unit_key": "docs/night#root~0.0"}]  # fmt: skip
    done = by_json(bench, case_id, {"expected_version": 1, "evidence": evidence}, *more)
    assert done.status == 0, done.err
    assert bench.spellings(case_id) == [
        "unit:docs/moor#root~0.0", "unit:docs/night#root~0.0", "resource:notes/fuel",
    ]  # fmt: skip
    none = by_json(bench, case_id, {"expected_version": 2, "none_matched": True}, *more)
    assert "needs_evidence, version 3" in none.out


def test_what_show_prints_as_evidence_can_be_given_back(bench: CaseBench) -> None:
    case_id, other = bench.ready("rank:1", "resource:notes/fuel"), bench.draft()
    evidence = bench.run("case", "show", case_id, "--json").document["evidence"]
    items = [{name: each[name] for name in ("resource_id", "unit_key")} for each in evidence]
    assert by_json(bench, other, {"expected_version": 1, "evidence": items}).status == 0
    assert bench.spellings(other) == bench.spellings(case_id)


def test_a_stale_version_changes_nothing_and_tells_the_current_one(bench: CaseBench) -> None:
    case_id = bench.ready("rank:1")
    by_both = (
        by_flags(bench, case_id, "--evidence", "rank:2", "--json"),
        by_json(bench, case_id, {"expected_version": 7, "none_matched": True}, "--json"),
    )
    for done in by_both:
        assert (done.status, done.out) == (5, "")
        assert done.error["code"] == "evaluation_case_conflict"
        assert "at version 2" in done.error["message"]
        assert "--expected-version 2" in done.error["hint"]
    assert bench.held(case_id).case.version == 2
    assert bench.spellings(case_id) == ["unit:docs/moor#root~0.0"]


@pytest.mark.parametrize(
    ("flags", "given", "says"),
    [
        (("--expected-version", "1"), "", "no evidence"),
        (
            ("--expected-version", "1", "--evidence", "rank:1", "--none-matched"),
            "",
            "exclude each other",
        ),
        (("--evidence", "rank:1"), "", "--expected-version is missing"),
        (("--none-matched",), "", "--expected-version is missing"),
        (("--expected-version", "0", "--none-matched"), "", "expected-version"),
        (("-", "--none-matched", "--expected-version", "1"), "{}", "not both"),
        ((), "", "neither evidence nor a terminal"),
        (("-",), "  \n", "neither evidence nor a terminal"),
        (("rank:1",), "", "unexpected 'rank:1'"),
        (("-",), '{"expected_version": 1}', "no evidence"),
        (("-",), '{"expected_version": 1, "evidence": []}', "no evidence"),
        (
            ("-",),
            '{"expected_version": 1, "evidence": ["rank:1"], "none_matched": true}',
            "exclude each other",
        ),
        (("-",), '{"evidence": ["rank:1"]}', "expected_version"),
        (("-",), '{"expected_version": 1, "graded": []}', "unknown name 'graded'"),
        (("-",), "[1", "not JSON"),
        (("--expected-version", "1", "--evidence", "docs/moor"), "", "names no evidence"),
        (("--expected-version", "1", "--evidence", "rank:0"), "", "no rank from 1"),
    ],
)
def test_malformed_resolutions_are_usage_errors_and_change_nothing(
    bench: CaseBench, flags: tuple[str, ...], given: str, says: str
) -> None:
    case_id = bench.draft()
    done = bench.piped("case", "resolve", case_id, *flags, given=given.encode())
    assert (done.status, done.out) == (2, "")
    assert says in done.err
    assert bench.held(case_id).case.version == 1


@pytest.mark.parametrize(
    ("evidence", "says"),
    [
        (("unit:docs/moor#root~9.9",), "unit:docs/moor#root~9.9 is no candidate of the run"),
        (("resource:docs/other",), "resource:docs/other is not in the frozen corpus"),
        (("rank:5",), "rank:5 is past the last of 4 candidates"),
        (("rank:1", "unit:docs/moor#root~0.0"), "unit:docs/moor#root~0.0 is given twice"),
        (("resource:docs/moor", "resource:docs/moor"), "resource:docs/moor is given twice"),
        (("rank:1", "unit:x#y~0.0", "rank:77"), "unit:x#y~0.0 is no candidate of the run"),
    ],
)
def test_unknown_foreign_and_duplicate_evidence_is_refused_by_name(
    bench: CaseBench, evidence: tuple[str, ...], says: str
) -> None:
    case_id = bench.ready("rank:2")
    flags = [word for each in evidence for word in ("--evidence", each)]
    done = by_flags(bench, case_id, *flags, "--json", version=2)
    assert (done.status, done.out) == (1, "")
    assert done.error["code"] == "evidence_invalid"
    assert says in done.error["message"]
    assert bench.spellings(case_id) == ["unit:docs/night#root~0.0"]
    assert bench.held(case_id).case.version == 2


def test_a_unit_of_another_cases_run_is_foreign(bench: CaseBench) -> None:
    from history.factory import Corpus

    bench.draft(searched=Corpus({"elsewhere": "# Elsewhere\n"}))
    case_id = bench.draft()
    done = by_flags(bench, case_id, "--evidence", "unit:elsewhere#root~0.0")
    assert done.status == 1
    assert "no candidate of the run" in done.err
