"""Who looks for damage while a Case is being resolved sees the Case of one moment."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from evaluation.factory import PROJECT, record_run

from memcli.evaluation.cases import list_damaged_cases
from memcli.evaluation.creation import create_case
from memcli.evaluation.resolve import resolve_case
from memcli.history.inspection import inspect_store
from memcli.history.store import HistoryStore


class DisturbedStore(HistoryStore):
    """Whenever a reader has read the digest of a Case, somebody else resolves the Case."""

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        with super().reading() as connection:
            assert connection is not None
            at_work = False

            def disturb(statement: str) -> None:
                nonlocal at_work
                if at_work or "FROM evaluation_cases AS it" not in statement:
                    return
                at_work = True
                resolve_next(HistoryStore(self.home, self.now))
                at_work = False

            connection.set_trace_callback(disturb)
            yield connection


def resolve_next(store: HistoryStore) -> None:
    with store.reading() as connection:
        assert connection is not None
        case_id, version = connection.execute(
            "SELECT case_id, version FROM evaluation_cases"
        ).fetchone()
    resolve_case(store, case_id, project_id=PROJECT, expected_version=version, evidence=["rank:1"])


def test_a_case_that_is_resolved_meanwhile_is_not_called_damaged(store: HistoryStore) -> None:
    create_case(store, record_run(store), project_id=PROJECT)
    resolve_next(store)
    disturbed = DisturbedStore(store.home, store.now)
    assert list_damaged_cases(disturbed) == []
    assert inspect_store(disturbed, thorough=True).problems == ()
    with store.reading() as connection:
        assert connection is not None
        versions = connection.execute("SELECT version FROM evaluation_cases").fetchall()
    assert [row[0] for row in versions] == [4], "it was resolved in the midst of both"
