"""The fixture: self-contained, the same bytes for the same set, refused when it was touched."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from evaluation.factory import BODIES, PROJECT, corpus, make_case, record_run, trace

from memcli.errors import Failure, NotReady
from memcli.evaluation.cases import Case, get_case
from memcli.evaluation.fixture import write_fixture
from memcli.evaluation.fixture_reader import read_fixture, report_from_fixture
from memcli.evaluation.report import report_bytes, report_document
from memcli.evaluation.resolve import resolve_case
from memcli.evaluation.stored_set import stored_set
from memcli.history.store import HistoryStore

Edit = Callable[[dict[str, Any]], None]


def fixture_of(store: HistoryStore, references: list[str] | None = None) -> bytes:
    written = bytearray()
    with stored_set(store, project_id=PROJECT, references=references) as source:
        summary = write_fixture(source, written.extend)
    assert summary.bytes == len(written)
    return bytes(written)


def ready(store: HistoryStore, *evidence: str, **changes: Any) -> Case:
    case = make_case(store, **changes)
    return resolve_case(
        store,
        case.case_id,
        project_id=PROJECT,
        expected_version=1,
        evidence=evidence or ("rank:1",),
    )


@pytest.fixture
def filled(store: HistoryStore) -> HistoryStore:
    """Three ready Cases over two corpora, and two that are left out."""
    ready(store, "rank:2", "resource:docs/moor")
    ready(store, "resource:notes/fuel")
    searched = corpus(**{"extra/中文": "# 部署\n\n先备份。\u2028 \x00 [/b]\n"})
    ready(store, "rank:5", searched=searched, candidates=trace(searched))
    make_case(store)
    none = make_case(store)
    resolve_case(store, none.case_id, project_id=PROJECT, expected_version=1, none_matched=True)
    return store


def with_own_hash(document: dict[str, Any]) -> bytes:
    """A fixture of that content whose last hash is right, as a careful forger would write it."""
    content = {name: value for name, value in document.items() if name != "sha256"}
    line = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    sha256 = hashlib.sha256(line).hexdigest()
    return line[:-1] + b',"sha256":"' + sha256.encode() + b'"}\n'


def test_a_fixture_is_one_line_of_sorted_json_with_everything_in_it(filled: HistoryStore) -> None:
    data = fixture_of(filled)
    document = orjson.loads(data)
    assert data == orjson.dumps(document, option=orjson.OPT_SORT_KEYS) + b"\n"
    assert data == with_own_hash(document)
    assert document["schema"] == "memcli.fixture.v1"
    assert document["counts"] == {
        "bodies": 5,
        "cases": 3,
        "corpora": 2,
        "evidence": 4,
        "excluded": 2,
        "resources": 9,
    }
    assert {hashlib.sha256(body.encode()).hexdigest() for body in BODIES.values()} < set(
        document["bodies"]
    )
    assert all(case["corpus_hash"] in document["corpora"] for case in document["cases"])
    assert [case["case_id"] for case in document["cases"]] == sorted(
        case["case_id"] for case in document["cases"]
    )
    assert {one["status"] for one in document["excluded"]} == {"draft", "needs_evidence"}
    assert "report" not in document


def test_the_same_set_gives_the_same_bytes(filled: HistoryStore, tmp_path: Path) -> None:
    first = fixture_of(filled)
    copy = HistoryStore(tmp_path / "moved", filled.now, 5.0)
    filled.home.rename(copy.home)
    record_run(copy)
    assert fixture_of(copy) == first
    with stored_set(copy, project_id=PROJECT) as source:
        names = [case.case_id for case in source.frozen_cases()]
    chosen = fixture_of(copy, names[::-1])
    assert chosen == fixture_of(copy, names)
    assert chosen != first


def test_evidence_given_in_another_order_gives_the_same_bytes(store: HistoryStore) -> None:
    case = ready(store, "rank:1", "rank:2", "resource:docs/moor")
    first = orjson.loads(fixture_of(store))["cases"][0]["evidence"]
    resolve_case(
        store,
        case.case_id,
        project_id=PROJECT,
        expected_version=2,
        evidence=["resource:docs/moor", "rank:2", "rank:1"],
    )
    assert orjson.loads(fixture_of(store))["cases"][0]["evidence"] == first


def test_a_fixture_tells_nothing_of_when_and_where_it_was_written(filled: HistoryStore) -> None:
    data = fixture_of(filled)
    for word in (str(filled.home), str(Path.home()), "version_of_memcli", "exported_at"):
        assert word.encode() not in data
    run = orjson.loads(data)["cases"][0]["run"]
    assert "process" not in run
    assert "project_root" not in run


def test_the_report_of_a_fixture_is_that_of_the_store_byte_for_byte(
    filled: HistoryStore, tmp_path: Path
) -> None:
    data = fixture_of(filled)
    with stored_set(filled, project_id=PROJECT) as source:
        expected = report_bytes(report_document(source))
    assert report_bytes(report_from_fixture(data)) == expected
    path = tmp_path / "alone.json"
    path.write_bytes(data)
    assert report_bytes(report_from_fixture(path)) == expected


def test_a_set_read_from_a_fixture_writes_the_same_fixture(filled: HistoryStore) -> None:
    data = fixture_of(filled)
    written = bytearray()
    write_fixture(read_fixture(data), written.extend)
    assert bytes(written) == data


def test_a_case_comes_back_from_a_fixture_as_it_is_stored(filled: HistoryStore) -> None:
    for case in read_fixture(fixture_of(filled)).frozen_cases():
        detail = get_case(filled, case.case_id, project_id=PROJECT)
        assert case.candidates == detail.candidates
        assert case.run == detail.run
        assert case.evidence == tuple(one.item for one in detail.evidence)


def test_a_fixture_of_no_ready_case_can_be_read_and_its_report_says_why(
    store: HistoryStore,
) -> None:
    make_case(store)
    data = fixture_of(store)
    assert read_fixture(data).case_count == 0
    with pytest.raises(NotReady, match="it has not been resolved yet"):
        report_from_fixture(data)


def refusal(data: bytes) -> str:
    with pytest.raises(Failure) as caught:
        read_fixture(data)
    assert caught.value.code == "fixture_invalid"
    return str(caught.value.message)


def test_a_truncated_fixture_is_refused_wherever_it_was_cut(filled: HistoryStore) -> None:
    data = fixture_of(filled)
    for length in [*range(12, len(data) - 1, 997), len(data) - 2]:
        assert "cut short or damaged" in refusal(data[:length])
    assert "empty" in refusal(b"")
    assert "empty" in refusal(b" \n")
    assert read_fixture(data.rstrip(b"\n")).case_count == 3


def test_a_fixture_with_any_byte_changed_is_refused(filled: HistoryStore) -> None:
    data = fixture_of(filled)
    for at in range(1, len(data) - 2, 211):
        changed = bytearray(data)
        changed[at] ^= 0x01
        assert refusal(bytes(changed))


def edited(data: bytes, edit: Edit) -> bytes:
    document = orjson.loads(data)
    edit(document)
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS) + b"\n"


def first_body(document: dict[str, Any]) -> str:
    body: str = next(iter(document["bodies"]))
    return body


def change_body(document: dict[str, Any]) -> None:
    document["bodies"][first_body(document)] += " "


def drop_body(document: dict[str, Any]) -> None:
    del document["bodies"][first_body(document)]


def change_manifest(document: dict[str, Any]) -> None:
    next(iter(document["corpora"].values()))["resources"][0]["title"] = "Another"


def drop_corpus(document: dict[str, Any]) -> None:
    del document["corpora"][document["cases"][0]["corpus_hash"]]


def change_rank(document: dict[str, Any]) -> None:
    document["cases"][0]["candidates"][2]["rerank_rank"] = 1


def drop_case(document: dict[str, Any]) -> None:
    del document["cases"][1]


def drop_excluded(document: dict[str, Any]) -> None:
    document["excluded"].clear()


def repeat_case(document: dict[str, Any]) -> None:
    document["cases"][1] = document["cases"][0]


def drop_evidence(document: dict[str, Any]) -> None:
    document["cases"][0]["evidence"].clear()


def repeat_evidence(document: dict[str, Any]) -> None:
    document["cases"][0]["evidence"] *= 2


def rename_evidence(document: dict[str, Any]) -> None:
    document["cases"][0]["evidence"][0] = {"resource_id": "ghost", "unit_key": None}


def add_name(document: dict[str, Any]) -> None:
    document["cases"][0]["candidates"][0]["relevance_grade"] = 3


def drop_name(document: dict[str, Any]) -> None:
    del document["cases"][0]["run"]["timings_us"]


def change_kind(document: dict[str, Any]) -> None:
    document["cases"][0]["run"]["timings_us"]["lexical"] = "fast"


EDITS: list[tuple[Edit, str]] = [
    (change_body, "body [0-9a-f]{12} is not what its hash says"),
    (drop_body, "the body of .* is missing"),
    (change_manifest, "manifest [0-9a-f]{12} is not what its hash says"),
    (drop_corpus, "names a corpus that is missing"),
    (drop_case, "not hold as many cases"),
    (drop_excluded, "not hold as many cases"),
    (repeat_case, "a case twice"),
    (drop_evidence, "no evidence"),
    (repeat_evidence, "some of it twice"),
    (rename_evidence, "neither its trace nor its corpus has"),
    (add_name, "unknown name 'relevance_grade'"),
    (drop_name, "lacks 'timings_us'"),
    (change_kind, "timings_us is not of its kind"),
]


@pytest.mark.parametrize(("edit", "why"), [*EDITS, (change_rank, "its content is not what")])
def test_a_fixture_edited_by_hand_is_refused(filled: HistoryStore, edit: Edit, why: str) -> None:
    message = refusal(edited(fixture_of(filled), edit))
    assert "edited" in message or "missing" in message


@pytest.mark.parametrize(("edit", "why"), EDITS)
def test_an_edited_fixture_with_a_renewed_hash_is_refused_for_what_does_not_fit(
    filled: HistoryStore, edit: Edit, why: str
) -> None:
    document = orjson.loads(fixture_of(filled))
    edit(document)
    with pytest.raises(Failure, match=why) as caught:
        read_fixture(with_own_hash(document))
    assert caught.value.code == "fixture_invalid"


def test_a_formatted_fixture_is_refused(filled: HistoryStore) -> None:
    document = orjson.loads(fixture_of(filled))
    assert "edited or formatted" in refusal(orjson.dumps(document, option=orjson.OPT_INDENT_2))


def test_a_newer_fixture_is_refused_as_newer_whatever_else_is_in_it(filled: HistoryStore) -> None:
    document = orjson.loads(fixture_of(filled))
    document["schema"] = "memcli.fixture.v2"
    document["cases"] = {"another": "shape"}
    with pytest.raises(Failure, match="version 2; this memcli reads up to 1") as caught:
        read_fixture(with_own_hash(document))
    assert caught.value.code == "fixture_too_new"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"# notes\n", "not JSON"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b"[]", "no fixture of memcli"),
        (b"null", "no fixture of memcli"),
        (b'{"schema": 7}', "no fixture of memcli"),
        (b'{"schema": "memcli.fixture.v0"}', "no fixture version 0"),
        (b'{"schema": "memcli.fixture.v1"}', "lacks 'bodies'"),
        (b'{"schema": "memcli.report.v1"}', "it is a report"),
    ],
)
def test_what_is_no_fixture_is_refused_for_what_it_is(data: bytes, why: str) -> None:
    assert why in refusal(data)


def test_a_fixture_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"gone\.json cannot be read: No such file"):
        read_fixture(tmp_path / "gone.json")
