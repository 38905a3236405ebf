"""TREC files: ir_measures computes from them exactly what the report says."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import ir_measures
import pytest
from evaluation.factory import SetOf, frozen_case, recorded
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import RR, R, nDCG

from memcli.errors import InvalidInput, NotReady
from memcli.evaluation.frozen import ExcludedCase
from memcli.evaluation.matching import EvidenceItem
from memcli.evaluation.rankings import VARIANTS
from memcli.evaluation.report import report_document
from memcli.evaluation.trec import document_id, export_trec, run_file
from memcli.history.traces import RecordedCandidate

MEASURES = {"recall_at_20": R @ 20, "ndcg_at_10": nDCG @ 10, "mrr_at_10": RR @ 10}
IDS = ["docs/a b", "dé#~%", "r3", "r3#x"]
UNITS = st.tuples(st.sampled_from(IDS), st.integers(0, 11))
RANKS = ("exact_rank", "bm25_rank", "vector_rank", "rrf_rank", "rerank_rank")


def key_of(resource_id: str, part: int) -> str:
    encoded = resource_id.replace("%", "%25").replace("#", "%23").replace("~", "%7E")
    return f"{encoded}#root~0.{part}"


@st.composite
def traces(draw: st.DrawFn) -> tuple[list[RecordedCandidate], list[EvidenceItem]]:
    """A trace with random, often tied or missing ranks, and evidence in and outside it."""
    units = draw(st.lists(UNITS, unique=True, max_size=40))
    ranks = st.one_of(st.none(), st.integers(1, 12))
    candidates = [
        recorded(key_of(*unit), unit[0], **{name: draw(ranks) for name in RANKS}) for unit in units
    ]
    named = draw(st.sets(UNITS, max_size=30))
    wholes = draw(st.sets(st.sampled_from([*IDS, "never retrieved"]), max_size=5))
    evidence = [EvidenceItem(one, key_of(one, part)) for one, part in named]
    evidence += [EvidenceItem(one) for one in wholes]
    return candidates, evidence or [EvidenceItem("never retrieved")]


def measured(directory: Path, variant: str) -> dict[tuple[str, str], float]:
    untyped: Any = ir_measures
    qrels = list(untyped.read_trec_qrels(str(directory / "qrels.txt")))
    run = list(untyped.read_trec_run(str(directory / run_file(variant))))
    names = {measure: name for name, measure in MEASURES.items()}
    return {
        (one.query_id, names[one.measure]): one.value
        for one in ir_measures.iter_calc(list(names), qrels, run)
    }


@settings(max_examples=60, deadline=None)
@given(st.lists(traces(), min_size=1, max_size=4))
def test_ir_measures_agrees_on_every_case_and_on_the_mean(
    drawn: list[tuple[list[RecordedCandidate], list[EvidenceItem]]],
) -> None:
    cases = [
        frozen_case(candidates, evidence, case_id=f"case {at}")
        for at, (candidates, evidence) in enumerate(drawn)
    ]
    source = SetOf(cases)
    document = report_document(source)
    with tempfile.TemporaryDirectory() as folder:
        export_trec(source, Path(folder))
        for variant in VARIANTS:
            theirs = measured(Path(folder), variant)
            for one in document["per_case"]:
                query = one["case_id"].replace(" ", "%20")
                for name in MEASURES:
                    ours = one["variants"][variant][name]
                    assert theirs[query, name] == pytest.approx(ours, abs=1e-9)
            for name in MEASURES:
                values = [value for (_, measure), value in theirs.items() if measure == name]
                mean = sum(values) / len(values)
                assert len(values) == len(cases)
                assert document["variants"][variant][name] == pytest.approx(mean, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(traces())
def test_pytrec_eval_which_drops_queries_without_lines_agrees_too(
    drawn: tuple[list[RecordedCandidate], list[EvidenceItem]],
) -> None:
    import pytrec_eval

    source = SetOf([frozen_case(*drawn)])
    document = report_document(source)
    with tempfile.TemporaryDirectory() as folder:
        export_trec(source, Path(folder))
        with (Path(folder) / "qrels.txt").open() as stream:
            qrels = pytrec_eval.parse_qrel(stream)
        for variant in VARIANTS:
            with (Path(folder) / run_file(variant)).open() as stream:
                run = pytrec_eval.parse_run(stream)
            measures = {"recall.20", "ndcg_cut.10"}
            theirs = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)["c1"]
            ours = document["variants"][variant]
            assert theirs["recall_20"] == pytest.approx(ours["recall_at_20"], abs=1e-9)
            assert theirs["ndcg_cut_10"] == pytest.approx(ours["ndcg_at_10"], abs=1e-9)


def lines(path: Path) -> list[list[str]]:
    return [line.split(" ") for line in path.read_text().splitlines()]


def export(tmp_path: Path, *cases: Any) -> Path:
    export_trec(SetOf(cases), tmp_path / "trec")
    return tmp_path / "trec"


def test_a_candidate_that_satisfies_a_resource_item_is_written_under_the_resource(
    tmp_path: Path,
) -> None:
    candidates = [recorded(f"docs/a b#root~0.{n}", "docs/a b", rrf_rank=n + 1) for n in range(3)]
    evidence = [EvidenceItem("docs/a b"), EvidenceItem("docs/a b", "docs/a b#root~0.0")]
    folder = export(tmp_path, frozen_case(candidates, evidence))
    assert lines(folder / "qrels.txt") == [
        ["c1", "0", "docs/a%20b", "1"],
        ["c1", "0", "docs/a%20b#root~0.0", "1"],
    ]
    assert lines(folder / "b3_hybrid_rrf.run") == [
        ["c1", "Q0", "docs/a%20b#root~0.0", "1", "2", "b3_hybrid_rrf"],
        ["c1", "Q0", "docs/a%20b", "2", "1", "b3_hybrid_rrf"],
        ["c1", "Q0", "docs/a%20b#root~0.2", "3", "0", "b3_hybrid_rrf"],
    ]


def test_a_ranking_without_candidates_has_a_line_that_no_qrel_names(tmp_path: Path) -> None:
    folder = export(tmp_path, frozen_case([], [EvidenceItem("(nothing)")]))
    assert lines(folder / "b1_bm25.run") == [["c1", "Q0", "(nothing)", "1", "0", "b1_bm25"]]
    assert lines(folder / "qrels.txt") == [["c1", "0", "%28nothing%29", "1"]]


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(
            st.builds(EvidenceItem, st.text(min_size=1)),
            st.builds(
                lambda one, part: EvidenceItem(one, key_of(one, part)),
                st.text(min_size=1),
                st.integers(0, 3),
            ),
        ),
        unique=True,
    )
)
def test_different_items_have_different_ids_without_white_space(items: list[EvidenceItem]) -> None:
    ids = [document_id(item) for item in items]
    assert len(set(ids)) == len(ids)
    for one, item in zip(ids, items, strict=True):
        assert one.isascii()
        assert one.split() == [one]
        assert unquote(one) == (item.unit_key or item.resource_id)


def test_the_same_set_gives_the_same_files_for_their_owner_alone(tmp_path: Path) -> None:
    case = frozen_case([recorded("r#a", "r", rrf_rank=1)], [EvidenceItem("r")])
    for name in ("one", "two"):
        summary = export_trec(SetOf([case]), tmp_path / name)
        assert len(summary.files) == 5
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in summary.files)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def contents(folder: Path) -> Iterable[tuple[str, bytes]]:
    return sorted((path.name, path.read_bytes()) for path in folder.iterdir())


def test_a_set_without_a_ready_case_writes_nothing(tmp_path: Path) -> None:
    excluded = [ExcludedCase("c1", "draft", "it has not been resolved yet")]
    with pytest.raises(NotReady, match="not been resolved"):
        export_trec(SetOf([], excluded), tmp_path / "trec")
    assert not (tmp_path / "trec").exists()


def test_a_file_where_the_directory_is_to_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trec").write_text("mine")
    with pytest.raises(InvalidInput, match="is a file"):
        export(tmp_path, frozen_case([], [EvidenceItem("r")]))
    assert (tmp_path / "trec").read_text() == "mine"
