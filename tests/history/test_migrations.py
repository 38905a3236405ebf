"""The ladder of the central store: an older layout of our own comes up with all its data."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memcli.errors import Failure
from memcli.history import migrations
from memcli.history.clearing import clear_runs
from memcli.history.documents import run_document
from memcli.history.inspection import inspect_store
from memcli.history.projects import CentralRegistry
from memcli.history.runs import get_run, list_runs
from memcli.history.schema import SCHEMA_VERSION
from memcli.history.store import HistoryStore
from memcli.history.traces import candidate_text
from memcli.locations import private_directory, private_file

LAYOUT_41 = Path(__file__).with_name("data") / "local-41.sql"
BODIES = (
    "# Mooring\n\nBerth three takes ships up to 80 m at night.\n",
    "# Tariff\n\nPrices are frozen while a snapshot loads.\n",
    "# Tariff\n\nPrices are frozen while a snapshot loads, and logged.\n",
    "# 靠泊\n\n夜间第三泊位可停靠八十米以下的船。\n",
)

Worker = Callable[..., "subprocess.Popen[str]"]


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture
def old_store(store: HistoryStore) -> HistoryStore:
    private_directory(store.home)
    private_file(store.path)
    with closing(sqlite3.connect(store.path)) as connection:
        connection.executescript(LAYOUT_41.read_text(encoding="utf-8"))
        connection.execute("PRAGMA journal_mode = WAL")
        hashes = [row[0] for row in connection.execute("SELECT sha256 FROM retrieval_corpus_blobs")]
    by_length = {len(body.encode()): body for body in BODIES}
    for sha256, length in rows(store.path, "SELECT sha256, length FROM retrieval_corpus_blobs"):
        store.blobs.write([(sha256, by_length[length].encode())])
    assert len(hashes) == len(BODIES)
    return store


def backups(store: HistoryStore) -> list[Path]:
    return sorted(store.home.glob("local.db.backup-*"))


def test_a_store_of_layout_41_keeps_all_its_data(old_store: HistoryStore) -> None:
    store = old_store
    store = HistoryStore(store.home, store.now, store.lock_wait_seconds)
    runs = list_runs(store, project_id="p-harbor")
    assert [run.run_id[:2] for run in runs] == ["a5", "a4", "a3", "a2", "a1"]
    assert [run.status for run in runs] == ["failed", "failed"] + ["succeeded"] * 3
    assert runs[0].error is not None
    assert runs[0].error.code == "retrieval_interrupted"
    assert runs[1].error is not None
    assert runs[1].error.summary == "There is no ready revision."
    assert runs[4].case is not None
    assert (runs[4].case.status, runs[4].case.version) == ("ready", 2)
    assert runs[4].pinned
    assert not runs[3].pinned

    for run_id, project, resources in (
        ("a1", "p-harbor", 2),
        ("a3", "p-harbor", 2),
        ("b1", "p-qinghe", 1),
    ):
        detail = get_run(store, run_id, project_id=project)
        assert detail.corpus_is_complete
        assert len(detail.resources) == resources
        assert candidate_text(store.blobs, detail.candidates[0], detail.resources) in BODIES
        assert run_document(detail)["candidates"][0]["relevance"] == 0.9
    registry = CentralRegistry(store)
    assert registry.id_of_root("/srv/清河") == "p-qinghe"
    report = inspect_store(store, thorough=True)
    assert report.problems == ()
    assert (report.layout, report.runs, report.cases, report.bodies) == (42, 6, 1, 4)


def test_a_manifest_is_shared_and_evidence_is_unique_after_the_step(
    old_store: HistoryStore,
) -> None:
    list_runs(old_store, project_id=None)
    stored = rows(
        old_store.path, "SELECT effective_hash, count(*) FROM retrieval_run_resources GROUP BY 1"
    )
    assert sorted(count for _, count in stored) == [1, 2, 2]
    evidence = rows(old_store.path, "SELECT resource_id, unit_key FROM evaluation_evidence")
    assert sorted(evidence, key=str) == [("mooring", "mooring#root~0.0"), ("mooring", None)]
    with (
        closing(sqlite3.connect(old_store.path)) as connection,
        pytest.raises(sqlite3.IntegrityError),
    ):
        connection.execute(
            "INSERT INTO evaluation_evidence VALUES ('c1000000000000c1', 'mooring', NULL)"
        )


def test_the_step_has_its_record_and_a_complete_private_backup(old_store: HistoryStore) -> None:
    before = rows(old_store.path, "SELECT run_id, query FROM retrieval_runs ORDER BY run_id")
    list_runs(old_store, project_id=None)
    records = rows(old_store.path, "SELECT version, name FROM schema_migrations ORDER BY version")
    assert records == [(41, "created"), (42, "share manifests, pin runs")]
    [backup] = backups(old_store)
    assert backup.name.startswith("local.db.backup-41-20")
    assert rows(backup, "PRAGMA user_version") == [(41,)]
    assert rows(backup, "SELECT run_id, query FROM retrieval_runs ORDER BY run_id") == before
    assert backup.stat().st_mode & 0o777 == 0o600
    list_runs(old_store, project_id=None)
    assert backups(old_store) == [backup]


def test_a_migrated_store_has_the_same_layout_as_a_new_one(
    old_store: HistoryStore, tmp_path: Path
) -> None:
    list_runs(old_store, project_id=None)
    new = HistoryStore(tmp_path / "new", old_store.now)
    with new.writing():
        pass

    def layout(path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, kind in rows(path, "SELECT name, type FROM sqlite_master WHERE sql IS NOT NULL"):
            if kind == "table":
                columns = rows(path, f"PRAGMA table_info({name})")
                # Declared types of real columns differ by name only: REAL and FLOAT.
                found[name] = {
                    (column[1], column[2].replace("FLOAT", "REAL"), bool(column[3]), column[5])
                    for column in columns
                }
                found[f"{name} refers"] = {
                    key[2:5] for key in rows(path, f"PRAGMA foreign_key_list({name})")
                }
            else:
                found[name] = rows(path, f"PRAGMA index_xinfo({name})")
                found[name] = [(part[2], part[3]) for part in found[name]]
        return found

    old, fresh = layout(old_store.path), layout(new.path)
    assert old.keys() == fresh.keys()
    for name in fresh:
        assert old[name] == fresh[name], name


def test_names_of_the_past_are_in_no_table(old_store: HistoryStore) -> None:
    list_runs(old_store, project_id=None)
    every_word = " ".join(
        str(sql) for (sql,) in rows(old_store.path, "SELECT sql FROM sqlite_master")
    )
    for word in ("judg" + "ment", "missed", "grade"):
        assert word not in every_word


def test_a_step_that_fails_leaves_the_store_as_it_was(old_store: HistoryStore) -> None:
    with closing(sqlite3.connect(old_store.path)) as connection:
        connection.execute("CREATE TABLE retrieval_runs_running (unexpected TEXT)")
    with pytest.raises(Failure, match="could not be brought from layout 41 to 42") as caught:
        list_runs(old_store, project_id=None)
    assert caught.value.code == "store_damaged"
    assert rows(old_store.path, "PRAGMA user_version") == [(41,)]
    assert len(rows(old_store.path, "SELECT * FROM retrieval_run_resources")) == 7
    assert backups(old_store) == []


def test_a_layout_without_a_step_is_refused(old_store: HistoryStore) -> None:
    with closing(sqlite3.connect(old_store.path)) as connection:
        connection.execute("PRAGMA user_version = 17")
    with pytest.raises(Failure, match="layout 17, which no release can read"):
        list_runs(old_store, project_id=None)
    assert backups(old_store) == []


def test_processes_that_meet_an_old_store_at_once_all_succeed(
    old_store: HistoryStore, worker: Worker
) -> None:
    processes = [worker("list", old_store.home) for _ in range(3)]
    processes += [worker("record", old_store.home, "p-harbor", 1) for _ in range(3)]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, "")
    assert len(backups(old_store)) == 1
    assert inspect_store(old_store, thorough=True).runs == 9


def test_a_migration_killed_at_any_moment_is_made_up_for(
    old_store: HistoryStore, worker: Worker, tmp_path: Path
) -> None:
    counted = worker("list", copied(old_store, tmp_path / "count").home, env={"KILL_AT": "0"})
    points = int(counted.communicate(timeout=60)[0].splitlines()[-1])
    assert points > 20
    for turn, point in enumerate(random.Random(41).sample(range(1, points + 1), 8)):
        store = copied(old_store, tmp_path / f"turn-{turn}")
        process = worker("list", store.home, env={"KILL_AT": str(point)})
        process.communicate(timeout=60)
        assert process.returncode == -9, point
        assert len(list_runs(store, project_id=None)) == 6, point
        assert len(backups(store)) == 1, "one copy, however often it was tried"
        report = inspect_store(store, thorough=True)
        assert (report.layout, report.cases, report.problems) == (42, 1, ()), point
        assert clear_runs(store, project_id=None).runs == 5


def copied(store: HistoryStore, home: Path) -> HistoryStore:
    import shutil

    shutil.copytree(store.home, home)
    return HistoryStore(home, store.now, store.lock_wait_seconds)


def test_every_number_up_to_the_current_one_has_one_step() -> None:
    reached = [step.reaches for step in migrations.STEPS]
    assert reached == list(range(42, SCHEMA_VERSION + 1))


def test_the_old_layout_is_text_that_sqlite_reads(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        connection.executescript(LAYOUT_41.read_text(encoding="utf-8"))
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("PRAGMA user_version").fetchone() == (41,)
    assert os.path.getsize(tmp_path / "old.db") > 0
