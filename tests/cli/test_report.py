"""``report``: one Case, a set, a fixture; as a table, JSON, CSV and a page; what is left out."""

from __future__ import annotations

import csv
import html
import io
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.case_support import CaseBench, validate
from evaluation.factory import corpus, trace

from memcli.evaluation.csv_report import COLUMNS
from memcli.facade import Memcli

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HOSTILE = "<script>document.title='owned'</script>\"'&\x1b[31m\u202e [/b]"


@pytest.fixture
def bench(tmp_path: Path) -> CaseBench:
    return CaseBench(tmp_path)


def filled(bench: CaseBench) -> tuple[list[str], str, str]:
    """Three ready Cases, a draft and one that needs evidence."""
    ready = [
        bench.ready("rank:1"),
        bench.ready("rank:2", "resource:notes/fuel", query="what do we burn?"),
        bench.ready("resource:notes/kettle", query="where is the kettle?"),
    ]
    draft, none = bench.draft("a draft"), bench.draft("none")
    bench.run("case", "resolve", none, "--expected-version", "1", "--none-matched")
    return ready, draft, none


def test_a_set_is_scored_and_every_case_left_out_is_named_with_its_reason(
    bench: CaseBench,
) -> None:
    """F30."""
    ready, draft, none = filled(bench)
    done = bench.run("report", "--json")
    assert (done.status, done.err) == (0, "")
    document = done.document
    validate(document, "memcli.report.v1")
    assert document["cases"] == 3
    assert document["counts"]["selected"] == 5
    assert {case["case_id"] for case in document["per_case"]} == set(ready)
    assert {case["case_id"]: case["status"] for case in document["excluded"]} == {
        draft: "draft", none: "needs_evidence",
    }  # fmt: skip
    text = bench.run("report").out
    assert text.startswith("report on 3 cases, 2 left out\n4 pieces of evidence: 2 fragments, 2 wh")
    for case in document["excluded"]:
        assert f"{case['case_id']}\t{case['status']}\t{case['reason']}" in text
    for case_id in ready:
        assert case_id in text


def test_json_is_the_one_serialisation_that_export_writes(bench: CaseBench) -> None:
    filled(bench)
    bench.run("export", "--out", "out")
    written = (bench.root / "out/report.json").read_text(encoding="utf-8")
    assert bench.run("report", "--json").out == written
    assert bench.run("report", "out/fixture.json", "--json").out == written


def test_a_report_says_on_what_it_rests_and_that_it_is_no_benchmark(bench: CaseBench) -> None:
    filled(bench)
    text = bench.run("report").out
    assert "The figures score the recorded runs, not today's index." in text
    assert "this is no controlled benchmark." in text
    assert "The figures rest on 3 cases with evidence confirmed by a person; 2 left out" in text


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_the_table_has_bars_and_fits_the_terminal(bench: CaseBench, columns: int) -> None:
    filled(bench)
    done = bench.run("report", columns=columns)
    assert done.status == 0
    assert done.widest <= columns
    bars = [line for line in done.out.splitlines() if line.startswith("b4_reranked")]
    assert "█" in bars[0]
    for title in ("recall@20", "nDCG@10", "MRR@10", "diversity", "scope violation", "p95"):
        assert title in done.out


@pytest.mark.parametrize("columns", [48, 60])
def test_a_narrow_terminal_still_shows_the_figures(bench: CaseBench, columns: int) -> None:
    bench.ready()
    done = bench.run("report", columns=columns)
    assert done.widest <= columns
    assert done.out.count("1.000") >= 12


def test_piped_figures_are_whole_numbers_in_columns(bench: CaseBench) -> None:
    filled(bench)
    lines = bench.run("report").out.splitlines()
    at = lines.index("ranking\trecall_at_20\tndcg_at_10\tmrr_at_10")
    names = [line.split("\t")[0] for line in lines[at + 1 : at + 5]]
    assert names == ["b1_bm25", "b2_dense_vector", "b3_hybrid_rrf", "b4_reranked"]
    document = bench.run("report", "--json").document
    assert float(lines[at + 1].split("\t")[2]) == document["variants"]["b1_bm25"]["ndcg_at_10"]


def test_one_case_shows_where_each_piece_of_evidence_was_found(bench: CaseBench) -> None:
    notes = corpus(**{"docs/hidden": "# Hidden\n"})
    seen = tuple(each for each in trace(notes) if each.resource_id != "docs/hidden")
    case_id = bench.ready("rank:3", "resource:docs/hidden", searched=notes, candidates=seen)
    bench.ready()
    text = bench.run("report", case_id[:8]).out
    assert text.startswith("report on 1 case, 0 left out")
    assert "-\t-\t-\t-\tdocs/hidden (whole note)" in text
    assert "3\t3\t3\t3\tnotes/kettle#root~0.0" in text


def test_a_case_asked_for_by_name_that_is_left_out_ends_with_status_3(bench: CaseBench) -> None:
    """F30."""
    ready, draft, none = filled(bench)
    done = bench.run("report", ready[0], draft, "--json")
    assert done.status == 3
    assert done.document["cases"] == 1
    assert done.error["code"] == "case_not_ready"
    assert draft in done.error["message"]
    for alone in (draft, none):
        only = bench.run("report", alone, "--json")
        assert (only.status, only.out) == (3, "")
        assert alone in only.error["message"]
    assert bench.run("report", "zz" + draft).status == 1


def test_a_resolved_case_that_is_damaged_is_reported_as_lost_with_status_3(
    bench: CaseBench,
) -> None:
    """F30: dropping one of seven must not look like success."""
    notes = corpus(**{"docs/odd": "only this case has it\n"})
    lost = bench.ready("rank:1", searched=notes)
    kept = [bench.ready("rank:1", query=f"question {at}") for at in range(6)]
    bench.store.blobs.path_of(notes.resources[-1].body_sha256).unlink()
    for words in (("report", "--json"), ("export", "--out", "out", "--json")):
        done = bench.run(*words)
        assert done.status == 3
        assert done.document["cases"] == len(kept)
        (excluded,) = done.document["excluded"]
        assert (excluded["case_id"], excluded["status"]) == (lost, "ready")
        assert "1 case is missing from the figures" in done.error["message"]
        assert "docs/odd.md" in done.error["message"]
    again = bench.run("report", "out/fixture.json", "--json")
    assert again.status == 3
    assert again.out == (bench.root / "out/report.json").read_text(encoding="utf-8")


def test_nothing_to_score_is_status_3_with_the_reason(bench: CaseBench) -> None:
    """F30: an empty collection is no success."""
    for words in (("report",), ("export", "--out", "out")):
        done = bench.run(*words, "--json")
        assert (done.status, done.out) == (3, "")
        assert done.error["code"] == "case_not_ready"
        assert "memcli case create" in done.error["hint"]
    bench.draft()
    assert "it has not been resolved yet" in bench.run("report").err
    assert not (bench.root / "out").exists()


def test_all_projects_are_scored_only_when_asked(bench: CaseBench) -> None:
    bench.registry.remember("quay", str(bench.project("quay")))
    run_id = bench.asked("there", project_id="quay")
    there = bench.run("case", "create", run_id, "--json").document["created"][0]["case"]["case_id"]
    bench.run("case", "resolve", there, "--expected-version", "1", "--evidence", "rank:1")
    bench.ready()
    assert bench.run("report", "--json").document["cases"] == 1
    assert bench.run("report", "--all-projects", "--json").document["cases"] == 2
    assert bench.run("report", there, "--all-projects").status == 2


# Fixtures


def test_a_fixture_is_reported_where_there_is_neither_project_nor_store(
    bench: CaseBench, tmp_path: Path
) -> None:
    filled(bench)
    bench.run("export", "--out", "out")
    expected = (bench.root / "out/report.json").read_text(encoding="utf-8")
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(bench.root / "out/fixture.json", alone / "x.json")
    # A home directory is no project, and is not asked to be one.
    env = {"MEMCLI_HOME": str(alone / "central"), "HOME": str(alone)}
    done = bench.run("report", "x.json", "--json", cwd=alone, env=env)
    assert (done.status, done.out) == (0, expected)
    assert [path.name for path in alone.iterdir()] == ["x.json"]
    data = (alone / "x.json").read_bytes()
    assert bench.piped("report", "-", "--json", given=data).out == expected


@pytest.mark.parametrize(
    ("spoil", "code", "says"),
    [
        (lambda data: data[:-200], "fixture_invalid", "cut short"),
        (lambda data: data.replace(b"burn", b"turn"), "fixture_invalid", "edited"),
        (lambda data: b"{}", "fixture_invalid", "no fixture of memcli"),
        (lambda data: b"", "fixture_invalid", "empty"),
        (lambda data: data.replace(b"fixture.v1", b"fixture.v2"), "fixture_too_new", "2"),
    ],
)
def test_a_fixture_that_is_not_what_was_written_is_refused_with_the_reason(
    bench: CaseBench, spoil: Callable[[bytes], bytes], code: str, says: str
) -> None:
    filled(bench)
    bench.run("export", "--out", "f.json")
    path = bench.root / "f.json"
    path.write_bytes(spoil(path.read_bytes()))
    done = bench.run("report", "f.json", "--json")
    assert (done.status, done.out) == (1, "")
    assert done.error["code"] == code
    assert says in done.error["message"]


def test_a_report_or_a_missing_file_in_place_of_a_fixture_is_refused(bench: CaseBench) -> None:
    filled(bench)
    bench.run("export", "--out", "out")
    assert "it is a report" in bench.run("report", "out/report.json").err
    assert "nowhere.json cannot be read" in bench.run("report", "nowhere.json").err
    mixed = bench.run("report", "out/fixture.json", "out/fixture.json")
    assert mixed.status == 2


# CSV


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_means_cases_and_what_was_left_out(bench: CaseBench) -> None:
    ready, draft, _ = filled(bench)
    rows = rows_of(bench.run("report", "--csv", "-").out)
    assert tuple(rows[0]) == COLUMNS
    kinds = [row["kind"] for row in rows]
    assert [kinds.count(kind) for kind in ("mean", "case", "excluded")] == [4, 12, 2]
    document = bench.run("report", "--json").document
    for row in rows[:4]:
        means = document["variants"][row["variant"]]
        assert float(row["ndcg_at_10"]) == means["ndcg_at_10"]
        assert row["warm_p95_us"] == str(means["warm_p95_us"])
        assert row["cases"] == "3"
    assert {row["case_id"] for row in rows if row["kind"] == "case"} == set(ready)
    left_out = {row["case_id"]: row["reason"] for row in rows if row["kind"] == "excluded"}
    assert left_out[draft] == "it has not been resolved yet"


def test_csv_quotes_any_query_and_a_spreadsheet_runs_none(bench: CaseBench) -> None:
    queries = ['=cmd|" /c calc"!A1', "-1+1", "two\nlines, with a comma", 'a "quoted" word', "部署"]
    for query in queries:
        bench.ready(query=query)
    rows = rows_of(bench.run("report", "--csv", "-").out)
    written = {row["query"] for row in rows if row["kind"] == "case"}
    assert written == {f"'{queries[0]}", f"'{queries[1]}", *queries[2:]}


def test_files_are_private_replaced_in_one_step_and_beside_the_table(
    bench: CaseBench,
) -> None:
    """F33."""
    filled(bench)
    for _ in range(2):
        done = bench.run("report", "--csv", "deep/r.csv", "--html", "r.html")
        assert done.status == 0
        assert done.out.startswith("report on 3 cases")
        assert "r.csv" in done.err
    for name in ("deep/r.csv", "r.html"):
        assert (bench.root / name).stat().st_mode & 0o777 == 0o600
    assert (bench.root / "deep").stat().st_mode & 0o777 == 0o700
    written = (bench.root / "deep/r.csv").read_text(encoding="utf-8")
    assert written == bench.run("report", "--csv", "-").out
    assert sorted(path.name for path in bench.root.iterdir()) == [
        "deep", "memcli.toml", "r.html",
    ]  # fmt: skip


def test_a_file_that_cannot_be_written_is_an_error_and_a_device_is_not_replaced(
    bench: CaseBench,
) -> None:
    bench.ready()
    directory = bench.run("report", "--html", ".", "--json")
    assert (directory.status, directory.error["code"]) == (2, "invalid_output")
    under_a_file = bench.run("report", "--csv", "memcli.toml/r.csv", "--json")
    assert (under_a_file.status, under_a_file.error["code"]) == (1, "export_failed")
    assert bench.run("report", "--html", "/dev/null").status == 0
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    "options",
    [("--csv", "-", "--html", "-"), ("--csv", "-", "--json"), ("--html", "-", "--json")],
)
def test_only_one_thing_goes_to_standard_output(bench: CaseBench, options: tuple[str, ...]) -> None:
    bench.ready()
    done = bench.run("report", *options)
    assert (done.status, done.out) == (2, "")


def test_csv_at_a_terminal_cannot_send_control_sequences(bench: CaseBench) -> None:
    """F38."""
    bench.ready(query=HOSTILE)
    for options in (("--csv", "-"), ("--html", "-"), ()):
        shown = bench.run("report", *options, columns=80).out
        assert "\x1b" not in shown
        assert "\u202e" not in shown


# The page


def test_the_page_stands_alone_is_deterministic_and_escapes_everything(bench: CaseBench) -> None:
    filled(bench)
    bench.ready(query=HOSTILE)
    page = bench.run("report", "--html", "-").out
    assert page == bench.run("report", "--html", "-").out
    assert "<script" not in page
    assert html.escape("<script>document.title='owned'</script>") in page
    assert not re.search(r"https?:|src=|href=|@import|url\(", page)
    assert "default-src 'none'" in page
    assert "prefers-color-scheme:dark" in page
    assert "\x1b" not in page
    assert page.count("<svg") == 12
    for said in (
        "Retrieval report on 4 cases", "not today&#x27;s index", "no controlled benchmark",
        "it has not been resolved yet", "nDCG@10", "Scope violation@20",
    ):  # fmt: skip
        assert said in page


def test_a_real_browser_opens_the_page_and_runs_nothing_of_it(
    bench: CaseBench, tmp_path: Path
) -> None:
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    filled(bench)
    bench.ready(query=HOSTILE)
    bench.run("report", "--html", "r.html")
    picture = tmp_path / "page.png"
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        "--no-first-run", f"--user-data-dir={tmp_path / 'browser'}", "--window-size=1000,1800",
        f"--screenshot={picture}", "--dump-dom", (bench.root / "r.html").as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, timeout=120, text=True)
    assert done.returncode == 0, done.stderr
    dom = done.stdout
    assert "<title>Retrieval report on 4 cases</title>" in dom
    assert "<bdi>&lt;script&gt;document.title='owned'&lt;/script&gt;" in dom
    assert dom.count("<svg") == dom.count("</svg>") == 12
    assert dom.count("<polyline") == 4
    assert dom.count("<tr>") == 1 + 4 + 1 + 2
    assert picture.stat().st_size > 20_000


def test_the_facade_gives_the_same_report_without_any_command(bench: CaseBench) -> None:
    filled(bench)
    from memcli.facade import Surroundings

    around = Surroundings(environ={"MEMCLI_HOME": str(bench.store.home), "HOME": str(bench.base)})
    with Memcli.open(bench.root, surroundings=around) as memcli:
        view = memcli.report()
        assert view.to_bytes().decode() == bench.run("report", "--json").out
        exported = memcli.export_evaluation_set(bench.root / "out")
        assert exported.fixture is not None
        assert Memcli.report_fixture(exported.fixture).to_bytes() == view.to_bytes()
        assert memcli.next_evaluation_case() is not None
        created = memcli.create_evaluation_case("last")
        assert memcli.create_evaluation_case(created.run_id).case_id == created.case_id
