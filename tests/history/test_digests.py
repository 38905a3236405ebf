"""What is not what was recorded is never shown as if it were; everything else can be used."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from history.factory import numbered_corpus

from memcli.errors import Failure
from memcli.history.clearing import clear_runs, delete_run
from memcli.history.digests import (
    RUN_COLUMNS,
    TRACE_COLUMNS,
    DamagedRecord,
    is_whole_run,
    list_damaged_runs,
)
from memcli.history.inspection import inspect_store
from memcli.history.pinning import pin_run, unpin_run
from memcli.history.recording import RunRecorder
from memcli.history.runs import get_run, list_runs, name_run
from memcli.history.schema import MANIFEST_COLUMNS
from memcli.history.store import HistoryStore
from memcli.retrieval.activation import ActivationFault, ActivationLimits

Record = Callable[..., str]

DIGEST_TABLES = (
    "retrieval_run_digests", "retrieval_manifest_digests", "evaluation_case_digests",
)  # fmt: skip


def change(store: HistoryStore, statement: str, *values: str) -> None:
    with store.writing() as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        assert connection.execute(statement, values).rowcount > 0, statement


def refused(store: HistoryStore, run_id: str) -> Failure:
    with pytest.raises(DamagedRecord) as caught:
        get_run(store, run_id, project_id="harbor")
    assert caught.value.code == "store_damaged"
    assert run_id in caught.value.message
    return caught.value


@pytest.mark.parametrize("column", [name for name in RUN_COLUMNS if name != "run_id"])
def test_a_run_whose_row_was_changed_is_named_and_not_shown(
    store: HistoryStore, record: Record, column: str
) -> None:
    damaged, other = record(numbered_corpus(3)), record(numbered_corpus(3))
    change(store, f"UPDATE retrieval_runs SET {column} = x'31' WHERE run_id = ?", damaged)
    refused(store, damaged)
    assert [run.run_id for run in list_runs(store, project_id=None)] == [other]
    assert list_damaged_runs(store) == [damaged]
    assert inspect_store(store, thorough=True).problems
    assert get_run(store, other, project_id="harbor").corpus_is_complete


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("retrieval_run_candidates", [name for name in TRACE_COLUMNS if name != "run_id"]),
        ("retrieval_run_resources", list(MANIFEST_COLUMNS)),
    ],
)
def test_a_run_whose_trace_or_manifest_was_changed_is_not_shown(
    store: HistoryStore, record: Record, table: str, columns: list[str]
) -> None:
    run_id = record(numbered_corpus(3))
    for column in columns:
        with store.reading() as connection:
            assert connection is not None
            (kept,) = connection.execute(
                f"SELECT {column} FROM {table} WHERE ordinal = 1"
            ).fetchone()
        change(store, f"UPDATE {table} SET {column} = 77 WHERE ordinal = 1")
        refused(store, run_id)
        where = "ordinal = 77" if column == "ordinal" else "ordinal = 1"
        change(store, f"UPDATE {table} SET {column} = ? WHERE {where}", kept)
        get_run(store, run_id, project_id="harbor")


def test_a_damaged_run_can_be_deleted_as_its_error_says(
    store: HistoryStore, record: Record
) -> None:
    run_id = record(numbered_corpus(3))
    change(store, "UPDATE retrieval_runs SET query = 'what?', models = 'no JSON'")
    assert f"memcli runs delete {run_id}" in (refused(store, run_id).hint or "")
    assert name_run(store, "last", project_id="harbor").run_id == run_id
    delete_run(store, run_id, project_id="harbor")
    assert list_damaged_runs(store) == []


def test_asking_again_mends_a_damaged_manifest(store: HistoryStore, record: Record) -> None:
    corpus = numbered_corpus(3)
    run_id = record(corpus)
    change(store, "UPDATE retrieval_run_resources SET title = 'other' WHERE ordinal = 1")
    refused(store, run_id)
    again = record(corpus)
    for each in (run_id, again):
        assert get_run(store, each, project_id="harbor").resources == corpus.resources


def test_pins_and_interruptions_are_no_damage(store: HistoryStore, record: Record) -> None:
    run_id = record(numbered_corpus(2))
    pin_run(store, run_id, project_id="harbor")
    unpin_run(store, run_id, project_id="harbor")
    with RunRecorder(store) as recorder:
        failed = recorder.begin("harbor", "how?", None, ActivationLimits())
        assert get_run(store, failed, project_id="harbor").run.status == "running"
        recorder.fail(failed, ActivationFault("open", "index_not_ready", "nothing built"))
    for each in (run_id, failed):
        get_run(store, each, project_id="harbor")
    assert list_damaged_runs(store) == []
    assert inspect_store(store, thorough=True).problems == ()


def test_digests_go_with_what_they_are_about(store: HistoryStore, record: Record) -> None:
    record(numbered_corpus(2))
    clear_runs(store, project_id=None)
    with store.reading() as connection:
        assert connection is not None
        for table in DIGEST_TABLES:
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0


def test_a_store_from_before_there_were_digests_is_read_and_gains_them(
    store: HistoryStore, record: Record
) -> None:
    old = record(numbered_corpus(2))
    with store.writing() as connection:
        for table in DIGEST_TABLES:
            connection.execute(f"DROP TABLE {table}")
    get_run(store, old, project_id="harbor")
    assert list_damaged_runs(store) == []
    assert inspect_store(store, thorough=True).problems == ()
    new = record(numbered_corpus(3))
    change(store, "UPDATE retrieval_runs SET query = 'what?'")
    refused(store, new)
    with store.reading() as reading:
        assert reading is not None
        assert is_whole_run(reading, old), "nobody knows what it was"


def lose_index_entries(store: HistoryStore, index: str) -> None:
    """Empty an index behind SQLite's back, as a zeroed page of it would."""
    with store.writing() as connection:
        connection.execute("PRAGMA writable_schema = ON")
        (sql,) = connection.execute(
            "SELECT sql FROM sqlite_master WHERE name = ?", (index,)
        ).fetchone()
        # A partial index that holds nothing; then the definition of the whole one again.
        connection.execute(f"DROP INDEX {index}")
        connection.execute(f"{sql} WHERE 0")
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, index))
        connection.execute("PRAGMA writable_schema = RESET")


def test_an_index_that_lost_its_entries_hides_no_run_and_deletes_no_source_of_a_case(
    store: HistoryStore, record: Record, make_case: Callable[[str], str]
) -> None:
    source, other = record(numbered_corpus(2)), record(numbered_corpus(3))
    make_case(source)
    for index in (
        "retrieval_runs_by_project",
        "evaluation_cases_by_run",
        "retrieval_run_resources_by_body",
        "retrieval_runs_by_corpus",
        "evaluation_corpus_resources_by_body",
    ):
        lose_index_entries(store, index)
    assert [run.run_id for run in list_runs(store, project_id="harbor")] == [other, source]
    assert get_run(store, source, project_id="harbor").run.case is not None
    assert get_run(store, "last", project_id="harbor").run.run_id == other
    with contextlib.suppress(Failure):  # SQLite misses the entries when it is to delete them
        clear_runs(store, project_id=None)
    detail = get_run(store, source, project_id="harbor")
    assert detail.corpus_is_complete
    for resource in detail.resources:
        store.blobs.read(resource.body_sha256)


@pytest.mark.parametrize("column", ["models", "query", "status", "project_id", "lexical"])
def test_text_that_is_none_any_more_damages_its_run_alone(
    store: HistoryStore, record: Record, column: str
) -> None:
    damaged, other = record(numbered_corpus(3)), record(numbered_corpus(3))
    change(
        store,
        f"UPDATE retrieval_runs SET {column} = CAST(x'7bff80' AS TEXT) WHERE run_id = ?",
        damaged,
    )
    assert [run.run_id for run in list_runs(store, project_id=None)] == [other]
    assert list_damaged_runs(store) == [damaged]
    delete_run(store, damaged, project_id="harbor")
    assert list_damaged_runs(store) == []
