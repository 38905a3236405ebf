"""A history that cannot be written gives one warning, in the log as well."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from memcli.errors import Failure
from memcli.history.best_effort import LOG_BYTES, HistoryWarning, record_or_warn
from memcli.history.store import HistoryStore


def failing(error: Exception) -> Callable[[], None]:
    def write() -> None:
        raise error

    return write


@pytest.mark.parametrize(
    "error",
    [
        Failure("store_damaged", "the history is damaged", "restore it"),
        sqlite3.OperationalError("disk I/O error"),
        PermissionError(13, "Permission denied"),
        OSError(28, "No space left on device"),
    ],
)
def test_every_fault_of_storage_becomes_a_warning_and_a_line_in_the_log(
    store: HistoryStore, error: Exception
) -> None:
    warning = record_or_warn(store, failing(error))
    assert isinstance(warning, HistoryWarning)
    assert warning.code == "history_write_failed"
    [line] = (store.home / "memcli.log").read_text().splitlines()
    assert "history_write_failed: " in line
    assert warning.message in line


def test_what_was_written_comes_back(store: HistoryStore) -> None:
    assert record_or_warn(store, lambda: "run-id") == "run-id"
    assert not (store.home / "memcli.log").exists()


def test_an_error_that_is_none_of_the_storage_is_not_hidden(store: HistoryStore) -> None:
    with pytest.raises(KeyError):
        record_or_warn(store, failing(KeyError("a bug")))


def test_the_log_is_bounded_and_one_line_a_warning(store: HistoryStore) -> None:
    for _ in range(1500):
        record_or_warn(store, failing(OSError("two\nlines " + "x" * 2000)))
    log = store.home / "memcli.log"
    assert log.stat().st_size <= LOG_BYTES
    assert log.with_name("memcli.log.1").stat().st_size <= LOG_BYTES
    assert {path.name for path in store.home.iterdir()} == {"memcli.log", "memcli.log.1"}
    assert all("history_write_failed" in line for line in log.read_text().splitlines())
