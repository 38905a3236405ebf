"""A swap that exchanges many full-text rows: they are put beside first, and nobody waits."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime, timezone

import pytest
from index_support import build, notes

from memcli.index import fts
from memcli.index.build_report import BuildProgress
from memcli.index.inspection import inspect_index
from memcli.index.locking import exchange_lock, unless_exchanging
from memcli.index.reader import open_head
from memcli.index.storage import IndexStorage
from memcli.index.swap import swap_head

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty rows count as many, and are put beside in several transactions."""
    monkeypatch.setattr(fts, "MANY", 20)
    monkeypatch.setattr(fts, "_BATCH", 7)


def tables(storage: IndexStorage) -> set[str]:
    with closing(sqlite3.connect(storage.database)) as connection:
        rows = connection.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE '%_fts_%'")
        return {name for (name,) in rows}


def assert_rows_are_the_heads(storage: IndexStorage, revision_id: str) -> None:
    with closing(sqlite3.connect(storage.database)) as connection:
        wanted = connection.execute(
            "SELECT unit_rowid, revision_id FROM search_units WHERE revision_id = ? ORDER BY 1",
            (revision_id,),
        ).fetchall()
        held = connection.execute(
            "SELECT rowid, revision_id FROM search_units_fts ORDER BY rowid"
        ).fetchall()
        assert held == wanted
        connection.execute(
            "INSERT INTO search_units_fts(search_units_fts, rank) VALUES('integrity-check', 0)"
        )
    assert fts.BESIDE not in tables(storage)
    with open_head(storage) as reader:
        assert reader.revision.revision_id == revision_id
        assert reader.fts_bm25('"note"', 100) == reader.bm25('"note"', 100)


def can_write(storage: IndexStorage) -> bool:
    """Whether another writer gets the lock at once."""
    with closing(sqlite3.connect(storage.database, isolation_level=None, timeout=0)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        other.execute("ROLLBACK")
        return True


def test_others_can_write_while_the_rows_of_a_build_are_put_beside(
    storage: IndexStorage,
) -> None:
    build(storage, notes(30, seed=1))
    could_write = []

    def look(step: BuildProgress) -> None:
        if step.stage == "swap" and step.done < step.total:
            could_write.append(can_write(storage))

    second = build(storage, notes(30, seed=2), progress=look)
    assert could_write == [True] * 5
    assert_rows_are_the_heads(storage, second.revision_id)


def test_a_head_swap_between_unlike_revisions_takes_the_rows_put_beside(
    storage: IndexStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build(storage, notes(30, seed=1))
    second = build(storage, notes(30, seed=2))
    put: list[str] = []
    put_beside = fts.put_beside

    def counted(connection: sqlite3.Connection, revision_id: str, told: fts.Told) -> None:
        put.append(revision_id)
        put_beside(connection, revision_id, told)

    monkeypatch.setattr(fts, "put_beside", counted)
    for target in (first, second, first):
        swap_head(storage, target.revision_id, False, lambda: NOW)
        assert_rows_are_the_heads(storage, target.revision_id)
    assert put == [each.revision_id for each in (first, second, first)]


def test_few_changed_rows_are_exchanged_in_place(
    storage: IndexStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("nothing is to be put beside")

    build(storage, notes(30, seed=1))
    monkeypatch.setattr(fts, "put_beside", never)
    second = build(storage, notes(30, seed=1, changed=[4, 5]))
    assert_rows_are_the_heads(storage, second.revision_id)


def test_a_build_that_is_stopped_meanwhile_leaves_the_old_head_and_no_table(
    storage: IndexStorage,
) -> None:
    first = build(storage, notes(30, seed=1))

    def stop(step: BuildProgress) -> None:
        if step.stage == "swap" and step.done > 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(storage, notes(30, seed=2), progress=stop)
    assert_rows_are_the_heads(storage, first.revision_id)
    second = build(storage, notes(30, seed=2))
    assert_rows_are_the_heads(storage, second.revision_id)


@pytest.fixture
def left_beside(storage: IndexStorage) -> tuple[str, str]:
    """The head, and another revision whose rows a killed process has left beside, but for one."""
    other = build(storage, notes(30, seed=2))
    head = build(storage, notes(30, seed=1))
    with closing(sqlite3.connect(storage.database, isolation_level=None)) as connection:
        fts.put_beside(connection, other.revision_id, lambda done, total: None)
        connection.execute(
            f"DELETE FROM {fts.BESIDE} WHERE rowid = (SELECT max(rowid) FROM {fts.BESIDE})"
        )
    return head.revision_id, other.revision_id


def test_half_a_table_that_was_left_is_never_taken(
    storage: IndexStorage, left_beside: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fts, "MANY", 1000)
    _, other = left_beside
    swap_head(storage, other, False, lambda: NOW)
    with open_head(storage) as reader:
        assert len(reader.fts_bm25('"note"', 100)) == 30


def test_the_next_build_removes_a_table_that_was_left(
    storage: IndexStorage, left_beside: tuple[str, str]
) -> None:
    head, _ = left_beside
    assert fts.BESIDE in tables(storage)
    assert not build(storage, notes(30, seed=1)).created
    assert_rows_are_the_heads(storage, head)


def test_a_build_leaves_alone_what_a_head_swap_is_putting_beside(
    storage: IndexStorage, left_beside: tuple[str, str]
) -> None:
    with exchange_lock(storage, lambda: None):
        build(storage, notes(30, seed=1))
        assert fts.BESIDE in tables(storage)
        with unless_exchanging(storage) as nobody_is:
            assert not nobody_is
    build(storage, notes(30, seed=1))
    assert fts.BESIDE not in tables(storage)


def test_waiting_for_another_exchange_can_be_cancelled(storage: IndexStorage) -> None:
    build(storage, notes(30, seed=1))

    def stop(step: BuildProgress) -> None:
        if step.stage == "swap":
            raise KeyboardInterrupt

    with exchange_lock(storage, lambda: None), pytest.raises(KeyboardInterrupt):
        build(storage, notes(30, seed=2), progress=stop)


def test_a_swap_whose_digests_are_not_noted_yet_is_no_damage(storage: IndexStorage) -> None:
    """With many rows that takes seconds, in which another process may look."""
    build(storage, notes(30, seed=1))
    with closing(sqlite3.connect(storage.database)) as connection, connection:
        connection.execute("UPDATE search_heads SET fts_content = NULL, fts_index = NULL")
    condition = inspect_index(storage, building=False)
    assert (condition.faults, condition.gaps) == ((), ())
    summary = build(storage, notes(30, seed=1))
    assert_rows_are_the_heads(storage, summary.revision_id)
