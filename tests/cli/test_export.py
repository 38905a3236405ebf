"""``export``: fixture and report, TREC, BEIR; what is written, what is left out, what is said."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest
from cli.case_support import CaseBench, validate
from conftest_types import Run


@pytest.fixture
def bench(tmp_path: Path) -> CaseBench:
    return CaseBench(tmp_path)


def files(bench: CaseBench) -> dict[str, bytes]:
    """Everything below the project but its configuration."""
    return {
        str(path.relative_to(bench.root)): path.read_bytes()
        for path in sorted(bench.root.rglob("*"))
        if path.is_file() and path.name != "memcli.toml"
    }


def test_a_directory_gets_fixture_and_report_side_by_side(bench: CaseBench) -> None:
    bench.ready()
    draft = bench.draft()
    done = bench.run("export", "--out", "out")
    assert done.status == 0
    assert done.out.splitlines() == [
        "exported 1 case, 1 left out",
        f"  {bench.root}/out/fixture.json",
        f"  {bench.root}/out/report.json",
    ]
    assert f"left out: {draft} (draft): it has not been resolved yet" in done.err
    assert f"memcli report {bench.root}/out/fixture.json" in done.err
    assert set(files(bench)) == {"out/fixture.json", "out/report.json"}
    fixture = orjson.loads(files(bench)["out/fixture.json"])
    validate(fixture, "memcli.fixture.v1")
    assert fixture["excluded"][0]["case_id"] == draft


def test_a_json_name_is_the_fixture_and_its_report_stands_beside_it(bench: CaseBench) -> None:
    bench.ready()
    document = bench.run("export", "--out", "deep/harbor.json", "--json").document
    validate(document, "memcli.export.v1")
    assert set(files(bench)) == {"deep/harbor.json", "deep/harbor.report.json"}
    assert document["fixture"] == str(bench.root / "deep/harbor.json")
    assert document["report"] == str(bench.root / "deep/harbor.report.json")
    assert document["files"] == [document["fixture"], document["report"]]


def test_each_alone_on_request_and_it_is_said_that_it_is_alone(bench: CaseBench) -> None:
    bench.ready()
    only_fixture = bench.run("export", "--out", "a", "--fixture-only")
    assert "only the fixture was written, no report" in only_fixture.err
    only_report = bench.run("export", "--out", "b", "--report-only")
    assert "only the report was written, no fixture" in only_report.err
    assert set(files(bench)) == {"a/fixture.json", "b/report.json"}
    document = bench.run("export", "--out", "c.json", "--report-only", "--json").document
    assert (document["fixture"], document["report"]) == (None, str(bench.root / "c.json"))
    assert files(bench)["c.json"] == files(bench)["b/report.json"]


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("json", {"fixture.json", "report.json"}),
        ("trec", {"qrels.txt", "b1_bm25.run", "b2_dense_vector.run", "b3_hybrid_rrf.run",
                  "b4_reranked.run"}),
        ("beir", {"corpus.jsonl", "queries.jsonl", "qrels.tsv"}),
    ],
)  # fmt: skip
def test_every_format_is_private_complete_and_the_same_bytes_twice(
    bench: CaseBench, form: str, names: set[str]
) -> None:
    """F33."""
    ready = [bench.ready(query=f"question {at}") for at in range(5)]
    before = os.umask(0o022)
    try:
        for out in ("one", "two"):
            document = bench.run("export", "--out", out, "--format", form, "--json").document
            validate(document, "memcli.export.v1")
            assert (document["format"], document["cases"]) == (form, 5)
            bench.later(days=3)
    finally:
        os.umask(before)
    written = files(bench)
    assert {name.removeprefix("one/") for name in written if name.startswith("one/")} == names
    for name in names:
        assert written[f"one/{name}"] == written[f"two/{name}"]
        assert (bench.root / "one" / name).stat().st_mode & 0o777 == 0o600
        assert str(bench.base).encode() not in written[f"one/{name}"]
    assert (bench.root / "one").stat().st_mode & 0o777 == 0o700
    queries = {"json": "fixture.json", "trec": "qrels.txt", "beir": "queries.jsonl"}[form]
    for case_id in ready:
        assert case_id.encode() in written[f"one/{queries}"]


def test_named_cases_alone_are_exported_and_one_that_is_not_ready_is_a_loss(
    bench: CaseBench,
) -> None:
    """F30."""
    first, _, draft = bench.ready(), bench.ready(), bench.draft()
    done = bench.run("export", first[:9], "--out", "one", "--json")
    assert (done.status, done.document["cases"], done.document["excluded"]) == (0, 1, [])
    lossy = bench.run("export", first, draft, "--out", "two", "--json")
    assert lossy.status == 3
    assert (lossy.document["cases"], lossy.document["excluded"][0]["case_id"]) == (1, draft)
    assert draft in lossy.error["message"]
    assert bench.run("export", "zz" + first, "--out", "three").status == 1
    assert not (bench.root / "three").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--fixture-only", "--report-only", "--out", "o"),
        ("--format", "trec", "--fixture-only", "--out", "o"),
        ("--format", "beir", "--report-only", "--out", "o"),
        ("--out", "-"),
        ("--out", ""),
        (),
        ("--format", "xml", "--out", "o"),
        ("abc", "--all-projects", "--out", "o"),
    ],
)
def test_contradictions_are_usage_errors_and_write_nothing(
    bench: CaseBench, options: tuple[str, ...]
) -> None:
    bench.ready()
    done = bench.run("export", *options, "--json")
    assert (done.status, done.out) == (2, "")
    assert done.error["code"] == "usage"
    assert files(bench) == {}


def test_a_place_that_cannot_be_written_is_an_error_and_leaves_what_was_there(
    bench: CaseBench,
) -> None:
    bench.ready()
    (bench.root / "plain").write_text("kept")
    refused = bench.run("export", "--out", "plain", "--json")
    assert (refused.status, refused.error["code"]) == (2, "invalid_output")
    below = bench.run("export", "--out", "plain/deep", "--json")
    assert (below.status, below.error["code"]) == (1, "export_failed")
    assert files(bench) == {"plain": b"kept"}


def test_from_a_question_to_a_report_in_a_real_project(memcli: Run, tmp_path: Path) -> None:
    """The whole way: ask, freeze, confirm, score, export, score again from the file alone."""
    env = {"MEMCLI_HOME": str(tmp_path / "central")}
    for query in ("how do I roll back a bad deploy?", "who carries the pager?"):
        assert memcli("activate", query, env=env).status == 0
    made = memcli("case", "create", "--all", "--json", env=env).document["created"]
    cases = [each["case"]["case_id"] for each in made]
    given = b'{"expected_version": 1, "evidence": ["rank:1"]}'
    for case_id in cases:
        assert memcli("case", "resolve", case_id, "-", given=given, env=env).status == 0
    report = memcli("report", "--json", env=env).document
    assert report["cases"] == 2
    assert report["variants"]["b4_reranked"]["mrr_at_10"] == 1
    assert report["variants"]["b4_reranked"]["warm_p50_us"] > 0
    out = tmp_path / "out"
    assert memcli("export", "--out", str(out), env=env).status == 0
    alone = memcli("report", str(out / "fixture.json"), "--json", env={"MEMCLI_HOME": "/nowhere"})
    assert alone.out == (out / "report.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments", [("case", "list"), ("case", "show", "x"), ("report",), ("case", "next")]
)
def test_cases_and_reports_load_neither_numpy_nor_llama_cpp_nor_sqlite_utils(
    arguments: tuple[str, ...], built_project: tuple[Path, dict[str, str]]
) -> None:
    """F35."""
    from cli.test_startup import imported_by

    loaded = imported_by(*arguments, built_project=built_project)
    assert not loaded & {"numpy", "llama_cpp", "sqlite_utils", "rich"}
