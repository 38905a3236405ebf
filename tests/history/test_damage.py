"""A store that cannot be used is reported with what can be done, and never written over."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from history.factory import numbered_corpus

from memcli.errors import Conflict, Failure
from memcli.history.best_effort import HistoryWarning, record_or_warn
from memcli.history.clearing import clear_runs
from memcli.history.inspection import inspect_store
from memcli.history.pinning import pin_run
from memcli.history.recording import RunRecorder
from memcli.history.runs import get_run, list_runs
from memcli.history.store import HistoryStore
from memcli.locations import private_directory, private_file
from memcli.retrieval.activation import ActivationLimits

Record = Callable[..., str]
Worker = Callable[..., "subprocess.Popen[str]"]


def make_garbage(path: Path) -> None:
    path.write_bytes(b"<html>Please sign in to the network</html>" * 400)


def cut_to_half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def cut_inside_the_header(path: Path) -> None:
    os.truncate(path, 60)


def make_empty(path: Path) -> None:
    os.truncate(path, 0)


def overwrite_the_middle(path: Path) -> None:
    with path.open("r+b") as stream:
        size = path.stat().st_size
        stream.seek(4096)
        stream.write(b"\xa5" * (size - 4096))


def make_another_programs(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")


def drop_a_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE retrieval_runs")


@pytest.mark.parametrize(
    "damage",
    [
        make_garbage,
        cut_to_half,
        cut_inside_the_header,
        make_empty,
        overwrite_the_middle,
        make_another_programs,
        drop_a_table,
    ],
)
def test_a_damaged_store_is_reported_and_not_written_over(
    store: HistoryStore, record: Record, damage: Callable[[Path], None]
) -> None:
    record(numbered_corpus(40))
    damage(store.path)
    before = store.path.read_bytes()
    for use in (
        lambda: list_runs(store, project_id=None),
        lambda: get_run(store, "last", project_id="harbor"),
        lambda: pin_run(store, "last", project_id="harbor"),
        lambda: clear_runs(store, project_id=None),
    ):
        with pytest.raises(Failure) as caught:
            use()
        assert caught.value.code == "store_damaged"
        assert str(store.path) in caught.value.message
        assert ".recover" in caught.value.hint
    with RunRecorder(store) as recorder:
        warning = record_or_warn(
            store, lambda: recorder.begin("harbor", "how?", None, ActivationLimits())
        )
    assert isinstance(warning, HistoryWarning)
    assert warning.code == "history_write_failed"
    assert "history_write_failed" in (store.home / "memcli.log").read_text()
    assert inspect_store(store, thorough=True).problems
    assert store.path.read_bytes() == before


def test_a_missing_store_beside_its_bodies_is_damage_and_not_a_new_one(
    store: HistoryStore, record: Record
) -> None:
    record(numbered_corpus(3))
    store.path.unlink()
    with pytest.raises(Failure, match="is missing, though evaluation-corpora/blobs is there"):
        list_runs(store, project_id=None)
    with pytest.raises(Failure) as caught:
        record(numbered_corpus(3))
    assert caught.value.code == "store_damaged"
    assert not store.path.exists()
    assert len(list(store.blobs.blobs.glob("*/*"))) == 3


def test_an_empty_file_that_never_held_data_is_a_new_store(
    store: HistoryStore, record: Record
) -> None:
    private_directory(store.home)
    private_file(store.path)
    assert list_runs(store, project_id=None) == []
    assert store.path.stat().st_size == 0
    record(numbered_corpus(2))
    assert len(list_runs(store, project_id=None)) == 1


def test_a_journal_without_its_store_is_not_replayed_into_a_new_one(store: HistoryStore) -> None:
    private_directory(store.home)
    (store.home / "local.db-wal").write_bytes(b"left behind")
    with pytest.raises(Failure, match=r"local\.db-wal"):
        list_runs(store, project_id=None)


def test_the_hint_names_the_backup_copy_that_is_there(store: HistoryStore, record: Record) -> None:
    record(numbered_corpus(2))
    copy = store.home / "local.db.backup-41-20260101T000000.000000Z"
    copy.write_bytes(store.path.read_bytes())
    make_garbage(store.path)
    with pytest.raises(Failure) as caught:
        list_runs(store, project_id=None)
    assert copy.name in caught.value.hint


def test_a_newer_store_is_refused_and_left_alone(store: HistoryStore, record: Record) -> None:
    record(numbered_corpus(2))
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("PRAGMA user_version = 43")
    before = store.path.read_bytes()
    for use in (
        lambda: list_runs(store, project_id=None),
        lambda: record(numbered_corpus(2)),
        lambda: clear_runs(store, project_id=None),
    ):
        with pytest.raises(Failure, match="layout 43; this memcli knows up to 42") as caught:
            use()
        assert caught.value.code == "store_too_new"
    assert store.path.read_bytes() == before


def test_a_locked_store_is_waited_for_and_then_called_busy(
    store: HistoryStore, record: Record
) -> None:
    record(numbered_corpus(2))
    short = HistoryStore(store.home, store.now, lock_wait_seconds=0.1)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert len(list_runs(short, project_id=None)) == 1
        with pytest.raises(Conflict) as caught:
            pin_run(short, "last", project_id="harbor")
        assert caught.value.code == "busy"
        assert "database is locked" not in caught.value.message
        with RunRecorder(short) as recorder:
            warning = record_or_warn(
                short, lambda: recorder.begin("harbor", "how?", None, ActivationLimits())
            )
    assert isinstance(warning, HistoryWarning)
    assert "database is locked" not in warning.message
    assert "another memcli process" in warning.message


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that other users can reach, for tests that lay down root's powers."""
    with TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield directory


def hand_over(home: Path, directory_mode: int, file_mode: int) -> None:
    for path in [home, *home.rglob("*")]:
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
    for path in [*home.rglob("*"), home]:
        path.chmod(directory_mode if path.is_dir() else file_mode)


def outcome(process: subprocess.Popen[str]) -> dict[str, list[object]]:
    output, errors = process.communicate(timeout=60)
    assert errors == ""
    result: dict[str, list[object]] = json.loads(output)
    return result


def test_a_read_only_store_is_read_and_recording_into_it_only_warns(
    open_directory: Path, worker: Worker, record: Record, store: HistoryStore
) -> None:
    record(numbered_corpus(2))
    home = open_directory / "home"
    store.home.rename(home)
    hand_over(home, 0o500, 0o400)
    try:
        result = outcome(worker("try-to-record", home, "nobody"))
    finally:
        hand_over(home, 0o700, 0o600)
    assert result["listed"] == [["succeeded", None]]
    [warning] = result["warnings"]
    assert "read-only" in str(warning)


def test_a_store_in_a_directory_that_may_not_be_written_only_warns(
    open_directory: Path, worker: Worker
) -> None:
    result = outcome(worker("try-to-record", open_directory / "home", "nobody"))
    if os.geteuid() == 0:
        [warning] = result["warnings"]
        assert "cannot be made" in str(warning)
        assert result["listed"] == []


def test_a_file_in_the_place_of_the_home_only_warns(tmp_path: Path, worker: Worker) -> None:
    (tmp_path / "home").write_text("not a directory")
    result = outcome(worker("try-to-record", tmp_path / "home", "as-is"))
    assert len(result["warnings"]) == 1


def test_a_full_disk_only_warns(tmp_path: Path, worker: Worker, record: Record) -> None:
    result = outcome(worker("try-to-record", tmp_path / "new", "small-files", 8192))
    assert len(result["warnings"]) == 1
    assert result["listed"] == []


def test_a_disk_full_while_bodies_are_written_ends_the_run_as_history_write_failed(
    store: HistoryStore, worker: Worker, record: Record
) -> None:
    result = outcome(worker("try-to-record", store.home, "small-files", 500_000))
    [warning] = result["warnings"]
    assert "File too large" in str(warning)
    assert result["listed"] == [["failed", "history_write_failed"]]
    assert not list(store.blobs.blobs.rglob("*.tmp"))
    assert inspect_store(store, thorough=True).problems == ()
