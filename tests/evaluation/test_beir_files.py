"""BEIR files: every judged document is in the corpus, each version of a note once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from evaluation.factory import BODIES, PROJECT, corpus, make_case, trace

from memcli.errors import NotReady
from memcli.evaluation.beir import export_beir
from memcli.evaluation.cases import Case
from memcli.evaluation.resolve import resolve_case
from memcli.evaluation.stored_set import stored_set
from memcli.history.store import HistoryStore


def ready(store: HistoryStore, *evidence: str, **changes: Any) -> Case:
    case = make_case(store, **changes)
    return resolve_case(
        store, case.case_id, project_id=PROJECT, expected_version=1, evidence=evidence
    )


def export(store: HistoryStore, folder: Path) -> tuple[list[Any], list[Any], list[list[str]]]:
    with stored_set(store, project_id=PROJECT) as source:
        summary = export_beir(source, folder)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in summary.files)
    documents = [orjson.loads(line) for line in (folder / "corpus.jsonl").open("rb")]
    queries = [orjson.loads(line) for line in (folder / "queries.jsonl").open("rb")]
    header, *qrels = (folder / "qrels.tsv").read_text().splitlines()
    assert header == "query-id\tcorpus-id\tscore"
    return documents, queries, [line.split("\t") for line in qrels]


def test_the_frozen_corpus_is_written_once_with_queries_and_judgements(
    store: HistoryStore, tmp_path: Path
) -> None:
    first = ready(store, "rank:1", "resource:notes/fuel", query="how?\nnow")
    second = ready(store, "resource:docs/night")
    documents, queries, qrels = export(store, tmp_path / "beir")
    assert [one["_id"] for one in documents] == list(BODIES)
    assert documents[0] == {
        "_id": "docs/moor",
        "title": "Docs/Moor",
        "text": BODIES["docs/moor"],
    }
    texts = {one["_id"]: one["text"] for one in queries}
    assert texts == {first.case_id: "how?\nnow", second.case_id: second.query}
    assert sorted(qrels) == sorted(
        [
            [first.case_id, "docs/moor", "1"],
            [first.case_id, "notes/fuel", "1"],
            [second.case_id, "docs/night", "1"],
        ]
    )


def test_a_unit_and_its_resource_judge_one_document_once(
    store: HistoryStore, tmp_path: Path
) -> None:
    case = ready(store, "rank:1", "resource:docs/moor")
    _, _, qrels = export(store, tmp_path / "beir")
    assert qrels == [[case.case_id, "docs/moor", "1"]]


def test_each_version_of_a_note_is_a_document_and_its_case_judges_that_one(
    store: HistoryStore, tmp_path: Path
) -> None:
    old = ready(store, "rank:1")
    new = ready(store, "rank:1", searched=corpus(**{"docs/moor": "# Moor\n\nStern line first.\n"}))
    documents, _, qrels = export(store, tmp_path / "beir")
    versions = {one["_id"]: one["text"] for one in documents if "moor" in one["_id"]}
    assert sorted(versions.values()) == sorted(
        [BODIES["docs/moor"], "# Moor\n\nStern line first.\n"]
    )
    judged = {query: versions[document] for query, document, _ in qrels}
    assert judged == {
        old.case_id: BODIES["docs/moor"],
        new.case_id: "# Moor\n\nStern line first.\n",
    }
    assert len(documents) == len(BODIES) + 1


def test_evidence_outside_the_frozen_corpus_is_written_as_the_trace_knew_it(
    store: HistoryStore, tmp_path: Path
) -> None:
    searched = corpus()
    first, second, *others = trace(searched)
    stray = replace(second, resource_id="else/where", unit_key="else/where#root~0.0")
    case = ready(store, "rank:2", searched=searched, candidates=(first, stray, *others))
    documents, _, qrels = export(store, tmp_path / "beir")
    assert qrels == [[case.case_id, "else/where", "1"]]
    assert documents[-1]["_id"] == "else/where"
    assert documents[-1]["text"] == BODIES["docs/night"]


def test_the_same_set_gives_the_same_beir_files(store: HistoryStore, tmp_path: Path) -> None:
    ready(store, "rank:1")
    ready(store, "rank:2", searched=corpus(more="x"))
    assert export(store, tmp_path / "one") == export(store, tmp_path / "two")
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_set_without_a_ready_case_writes_no_beir_files(
    store: HistoryStore, tmp_path: Path
) -> None:
    make_case(store)
    with stored_set(store, project_id=PROJECT) as source, pytest.raises(NotReady):
        export_beir(source, tmp_path / "beir")
    assert not (tmp_path / "beir").exists()
