"""Pins Runs by hand, so that neither retention nor ``clear`` takes them."""

from __future__ import annotations

import sqlite3

from memcli.history.clearing import refuse_source_of_case
from memcli.history.interruption import settle_interrupted
from memcli.history.runs import find_run
from memcli.history.store import HistoryStore
from memcli.sqlite_files import transaction

SET_PIN = "UPDATE retrieval_runs SET pinned = ? WHERE run_id = ?"


def pin_run(store: HistoryStore, reference: str, *, project_id: str) -> str:
    """Keep a Run until it is unpinned; its id.

    Raises:
        Failure: ``run_not_found``, ``store_damaged``. Conflict: ``busy``.
    """
    with store.writing() as connection, transaction(connection):
        return _set_pin(connection, store, reference, project_id, pinned=True)


def unpin_run(store: HistoryStore, reference: str, *, project_id: str) -> str:
    """Let retention and ``clear`` have a Run again; its id.

    Raises:
        Failure: ``run_not_found``, ``store_damaged``. Conflict:
            ``evaluation_case_conflict`` for the source of a Case; ``busy``.
    """
    with store.writing() as connection, transaction(connection):
        run_id = find_run(connection, reference, project_id)
        refuse_source_of_case(connection, run_id, "stays pinned")
        return _set_pin(connection, store, run_id, project_id, pinned=False)


def _set_pin(
    connection: sqlite3.Connection,
    store: HistoryStore,
    reference: str,
    project_id: str,
    *,
    pinned: bool,
) -> str:
    settle_interrupted(connection, store.now())
    run_id = find_run(connection, reference, project_id)
    connection.execute(SET_PIN, (pinned, run_id))
    return run_id
