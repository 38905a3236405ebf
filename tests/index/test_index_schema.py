"""The store itself: tables, version, modes, and what becomes of damaged and foreign files."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from index_support import build, notes, outcome, start_build
from stand_in import StandInEmbedder

from memcli.errors import Failure, MemcliError, NotReady
from memcli.index.reader import open_head
from memcli.index.storage import IndexStorage
from memcli.index.swap import head_info, list_revisions, swap_head

TABLES = {
    "search_revisions",
    "search_heads",
    "search_resources",
    "search_units",
    "search_units_fts",
    "search_vector_cache",
}


def table_sql(storage: IndexStorage) -> dict[str, str]:
    with sqlite3.connect(storage.database) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        return dict(rows.fetchall())


def test_the_store_has_exactly_the_tables_of_schema_7(storage: IndexStorage) -> None:
    build(storage, notes(3))
    shadows = {f"search_units_fts_{it}" for it in ("data", "idx", "content", "docsize", "config")}
    assert set(table_sql(storage)) == TABLES | shadows
    with sqlite3.connect(storage.database) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (7,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_the_full_text_table_is_a_case_insensitive_trigram_table(storage: IndexStorage) -> None:
    build(storage, notes(3))
    sql = table_sql(storage)["search_units_fts"]
    assert "tokenize='trigram case_sensitive 0'" in sql
    assert "revision_id UNINDEXED, unit_key UNINDEXED, path, title, heading, body" in sql


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_files_are_the_owners_alone_whatever_the_umask(storage: IndexStorage, umask: int) -> None:
    outcome(start_build(storage, notes(3), umask=umask))
    before = os.umask(umask)
    try:
        # An open reader and writer: the log and its index exist beside both databases.
        with open_head(storage), sqlite3.connect(storage.token_vectors) as tokens:
            tokens.execute("CREATE TABLE probe (a)")
            names = {path.name for path in storage.directory.iterdir()}
            modes = {
                path.name: stat.S_IMODE(path.stat().st_mode) for path in storage.directory.iterdir()
            }
    finally:
        os.umask(before)
    assert {"search-index.sqlite-wal", "search-index.sqlite-shm"} <= names
    assert {"token-vectors.sqlite-wal", "token-vectors.sqlite-shm"} <= names
    assert any(name.startswith("vectors-") for name in names)
    assert any(name.startswith("lexicon-") for name in names)
    assert set(modes.values()) == {0o600}, modes
    assert stat.S_IMODE(storage.directory.stat().st_mode) == 0o700


def zero_bytes(path: Path) -> None:
    path.write_bytes(b"")


def garbage(path: Path) -> None:
    path.write_bytes(b"this was never a database\n" * 400)


def truncated(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.truncate(path.stat().st_size // 3 // 4096 * 4096)


def zeroed_middle(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as stream:
        stream.seek(4096)
        stream.write(bytes(size - 8192))


def older(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 6")


def without_a_table(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE search_units")


DAMAGES = [zero_bytes, garbage, truncated, zeroed_middle, older, without_a_table]


def ask(storage: IndexStorage) -> list[int]:
    with open_head(storage) as reader:
        hits = reader.fts_bm25('"deploy"', 10)
        reader.units([hit.unit_rowid for hit in hits])
        return [len(reader.vectors()), len(hits)]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_older_index_is_reported_and_build_recreates_it(
    storage: IndexStorage, damage: Callable[[Path], None]
) -> None:
    build(storage, notes(40))
    expected = ask(storage)
    bystander = storage.directory / "project-id"
    bystander.write_text("kept\n")
    damage(storage.database)
    with pytest.raises(NotReady) as caught:
        ask(storage)
    assert caught.value.code == "index_damaged"
    assert "memcli index build" in caught.value.hint
    summary = build(storage, notes(40))
    assert summary.recreated
    assert summary.created
    assert ask(storage) == expected
    assert bystander.read_text() == "kept\n"


def test_a_build_that_has_nothing_to_do_still_notices_a_damaged_page(storage: IndexStorage) -> None:
    build(storage, notes(200))
    size = storage.database.stat().st_size
    with storage.database.open("r+b") as stream:
        stream.seek(size // 2 // 4096 * 4096)
        stream.write(b"\xff" * 4096 * 8)
    assert build(storage, notes(200)).recreated
    assert not build(storage, notes(200)).recreated


def test_vectors_are_saved_out_of_a_damaged_index(storage: IndexStorage) -> None:
    build(storage, notes(300))
    with sqlite3.connect(storage.database) as connection:
        root = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'search_units'"
        ).fetchone()[0]
        connection.execute(
            "UPDATE search_vector_cache SET vector = zeroblob(length(vector)) WHERE rowid = 7"
        )
    with storage.database.open("r+b") as stream:
        stream.seek((root - 1) * 4096)
        stream.write(bytes(4096))
    embedder = StandInEmbedder()
    summary = build(storage, notes(300), embedder)
    assert summary.recreated
    assert embedder.embedded == 1, "all but the one that is not intact"


def test_a_newer_index_is_refused_and_left_alone(storage: IndexStorage) -> None:
    build(storage, notes(3))
    with sqlite3.connect(storage.database) as connection:
        connection.execute("PRAGMA user_version = 8")
    actions: list[Callable[[], object]] = [
        lambda: ask(storage),
        lambda: build(storage, notes(3)),
        lambda: list_revisions(storage),
        lambda: swap_head(storage, None, False, lambda: pytest.fail("nothing is swapped")),
    ]
    for action in actions:
        with pytest.raises(Failure) as caught:
            action()
        assert caught.value.code == "store_too_new"
    with sqlite3.connect(storage.database) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (8,)
        assert connection.execute("SELECT count(*) FROM search_units").fetchone() == (3,)


def test_a_deleted_directory_is_built_anew(storage: IndexStorage) -> None:
    build(storage, notes(3))
    shutil.rmtree(storage.directory)
    assert list_revisions(storage) == []
    assert head_info(storage).head is None
    assert build(storage, notes(3)).created


def test_the_log_of_a_replaced_file_is_not_played_into_the_new_one(storage: IndexStorage) -> None:
    build(storage, notes(5))
    writer = sqlite3.connect(storage.database, isolation_level=None)
    writer.execute("PRAGMA wal_autocheckpoint = 0")
    writer.execute("UPDATE search_revisions SET effective_hash = 'old log'")
    saved = storage.database.with_name("saved-wal")
    shutil.copy(storage.database.with_name("search-index.sqlite-wal"), saved)
    writer.close()
    garbage(storage.database)
    saved.rename(storage.database.with_name("search-index.sqlite-wal"))
    build(storage, notes(5))
    with open_head(storage) as reader:
        assert reader.revision.effective_hash != "old log"


def test_errors_are_memcli_errors(storage: IndexStorage) -> None:
    storage.directory.parent.mkdir(parents=True)
    storage.directory.write_text("a file where the directory should be")
    with pytest.raises(MemcliError) as caught:
        build(storage, notes(1))
    assert caught.value.code == "storage_unwritable"


def test_any_directory_name_will_do(tmp_path: Path) -> None:
    storage = IndexStorage.of_project(tmp_path / "we?ird #1 %41 'päth'")
    build(storage, notes(3))
    assert ask(storage)[0] == 3
    assert not build(storage, notes(3)).created
