"""Searching the frozen corpus finds evidence that no stage found, and never looks at the disk."""

from __future__ import annotations

import hashlib

import pytest
from evaluation.factory import BODIES, PROJECT, corpus, make_case, trace, unit

from memcli.errors import InvalidInput
from memcli.evaluation.cases import CaseDetail, get_case
from memcli.evaluation.corpus_search import FrozenSearch, search_frozen_corpus
from memcli.evaluation.resolve import resolve_case
from memcli.history.store import HistoryStore


@pytest.fixture
def detail(store: HistoryStore) -> CaseDetail:
    searched = corpus(**{"docs/caf\u00e9": "Zwei Zeilen.\nStraße und CAFE\u0301 im Hafen.\n"})
    case = make_case(store, searched, candidates=trace(searched)[:2])
    return get_case(store, case.case_id, project_id=PROJECT)


def found(search: FrozenSearch) -> list[str]:
    return [hit.resource.resource_id for hit in search.hits]


def test_resources_are_found_by_words_in_any_case_and_form(
    store: HistoryStore, detail: CaseDetail
) -> None:
    (hit,) = search_frozen_corpus(store, detail, "STRASSE caf\u00e9").hits
    assert hit.resource.resource_id == "docs/caf\u00e9"
    assert (hit.words, hit.body_line) == (2, 2)
    assert hit.excerpt == "Straße und CAFE\u0301 im Hafen."
    assert hit.unit_keys == ()


def test_short_and_chinese_words_and_markup_are_plain_text(
    store: HistoryStore, detail: CaseDetail
) -> None:
    for text in ("部署", "[/b]", "部署 [/b]"):
        assert found(search_frozen_corpus(store, detail, text)) == ["docs/night"]
    assert search_frozen_corpus(store, detail, "*").total == 0


def test_more_words_come_first_then_hits_in_path_or_title(
    store: HistoryStore, detail: CaseDetail
) -> None:
    search = search_frozen_corpus(store, detail, "fuel kettle galley")
    assert found(search) == ["notes/kettle", "notes/fuel"]
    assert [hit.words for hit in search.hits] == [2, 1]
    assert search_frozen_corpus(store, detail, "docs", limit=2).total == 3
    assert len(search_frozen_corpus(store, detail, "docs", limit=2).hits) == 2


def test_candidates_that_hold_a_word_are_named_as_units(
    store: HistoryStore, detail: CaseDetail
) -> None:
    (hit,) = search_frozen_corpus(store, detail, "bow").hits
    assert hit.unit_keys == (unit("docs/moor"),)


def test_what_is_found_can_be_evidence(store: HistoryStore, detail: CaseDetail) -> None:
    (hit,) = search_frozen_corpus(store, detail, "diesel").hits
    resolved = resolve_case(
        store,
        detail.case.case_id,
        project_id=PROJECT,
        expected_version=1,
        evidence=[f"resource:{hit.resource.resource_id}"],
    )
    assert resolved.status == "ready"


def test_a_body_that_cannot_be_read_is_named(store: HistoryStore, detail: CaseDetail) -> None:
    sha256 = hashlib.sha256(BODIES["notes/fuel"].encode()).hexdigest()
    store.blobs.path_of(sha256).unlink()
    search = search_frozen_corpus(store, detail, "fuel")
    assert search.unreadable == ("notes/fuel.md",)
    assert [(hit.resource.path, hit.body_line) for hit in search.hits] == [("notes/fuel.md", None)]


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_a_blank_search_is_a_usage_error(
    store: HistoryStore, detail: CaseDetail, text: str
) -> None:
    with pytest.raises(InvalidInput):
        search_frozen_corpus(store, detail, text)
