"""Every JSON document of evaluation is valid against its published schema; imports stay light."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
import pytest
from evaluation.factory import PROJECT, corpus, make_case, record_run, trace
from jsonschema import Draft202012Validator

from memcli.evaluation.cases import delete_case, get_case, list_cases
from memcli.evaluation.corpus_search import search_frozen_corpus
from memcli.evaluation.creation import create_cases
from memcli.evaluation.documents import (
    case_create_document,
    case_document,
    case_list_document,
    case_search_document,
    case_show_document,
)
from memcli.evaluation.fixture import write_fixture
from memcli.evaluation.report import report_document
from memcli.evaluation.resolve import resolve_case
from memcli.evaluation.stored_set import stored_set
from memcli.history.recording import RunRecorder
from memcli.history.store import HistoryStore
from memcli.retrieval.activation import ActivationFault, ActivationLimits

SCHEMAS = files("memcli.evaluation") / "schemas"
HISTORICAL_NAMES = ("evaluation_" + "judgments", "mis" + "sed")


def validate(document: Mapping[str, Any]) -> None:
    """Against the schema of its name, as it is printed."""
    schema = json.loads((SCHEMAS / f"{document['schema']}.json").read_text())
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(json.loads(orjson.dumps(document)))


@pytest.fixture
def filled(store: HistoryStore) -> HistoryStore:
    searched = corpus()
    case = make_case(store, searched, candidates=trace(searched, exact_rank=None, exact_tier=None))
    resolve_case(
        store,
        case.case_id,
        project_id=PROJECT,
        expected_version=1,
        evidence=["rank:1", "resource:notes/kettle"],
    )
    make_case(store)
    return store


def test_case_documents_are_valid_against_their_schemas(filled: HistoryStore) -> None:
    with RunRecorder(filled) as recorder:
        failed = recorder.begin(PROJECT, "how?", None, ActivationLimits())
        recorder.fail(failed, ActivationFault("embed", "model_not_ready", "no file"))
    made = create_cases(filled, [record_run(filled), failed], project_id=PROJECT)
    validate(case_create_document(made))
    cases = list_cases(filled, project_id=PROJECT)
    validate(case_list_document(cases))
    for case in cases:
        detail = get_case(filled, case.case_id, project_id=PROJECT)
        validate(case_show_document(detail))
        validate(case_search_document(search_frozen_corpus(filled, detail, "fuel bow")))
    validate(case_document(delete_case(filled, cases[0].case_id, project_id=PROJECT)))


def test_report_and_fixture_are_valid_against_their_schemas(filled: HistoryStore) -> None:
    written = bytearray()
    with stored_set(filled, project_id=PROJECT) as source:
        validate(report_document(source))
        write_fixture(source, written.extend)
    validate(orjson.loads(bytes(written)))


def test_the_rank_that_is_shown_is_the_one_that_evidence_names(filled: HistoryStore) -> None:
    (case, _) = list_cases(filled, project_id=PROJECT)
    detail = get_case(filled, case.case_id, project_id=PROJECT)
    shown = case_show_document(detail)["candidates"]
    assert [one["rank"] for one in shown] == [1, 2, 3, 4]
    assert [one["suggested"] for one in shown] == [True, True, False, False]
    resolve_case(filled, case.case_id, project_id=PROJECT, expected_version=2, evidence=["rank:3"])
    (evidence,) = get_case(filled, case.case_id, project_id=PROJECT).evidence
    assert evidence.item.unit_key == shown[2]["unit_key"]


def test_names_that_are_history_appear_nowhere() -> None:
    package = Path(str(files("memcli.evaluation")))
    for path in [*package.rglob("*.py"), *package.rglob("*.json")]:
        text = path.read_text()
        for name in HISTORICAL_NAMES:
            assert name not in text, path


def test_listing_scoring_and_resolving_load_no_model_stack_and_no_sqlite_utils() -> None:
    modules = (
        "beir",
        "cases",
        "creation",
        "documents",
        "export",
        "fixture_reader",
        "report",
        "resolve",
        "stored_set",
    )
    imports = ", ".join(f"memcli.evaluation.{name}" for name in modules)
    heavy = ("numpy", "llama_cpp", "sqlite_utils", "typer", "rich", "pydantic")
    program = f"import sys, {imports}; print([m for m in {heavy} if m in sys.modules])"
    shown = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert shown.stdout == "[]\n"
