"""kill -9 at any moment of a build: the old head answers, and the next build goes on from there."""

from __future__ import annotations

import random
import signal
import sqlite3
import time

import pytest
from index_support import Revisions, build, notes, outcome, start_build
from stand_in import StandInEmbedder

from memcli.index.reader import open_head
from memcli.index.storage import IndexStorage
from memcli.index.swap import list_revisions


def assert_whole(storage: IndexStorage) -> None:
    with sqlite3.connect(storage.database) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.execute(
            "INSERT INTO search_units_fts (search_units_fts) VALUES ('integrity-check')"
        )
        head = connection.execute("SELECT head FROM search_heads").fetchone()[0]
        in_table, of_head = (
            connection.execute(statement).fetchall()
            for statement in (
                "SELECT rowid FROM search_units_fts ORDER BY 1",
                f"SELECT unit_rowid FROM search_units WHERE revision_id = '{head}' ORDER BY 1",
            )
        )
        assert in_table == of_head


@pytest.mark.parametrize("seed", range(12))
def test_a_build_killed_at_any_moment_leaves_the_old_head_and_its_vectors(
    storage: IndexStorage, seed: int
) -> None:
    old, new = notes(150, seed=1), notes(150, seed=2)
    first = build(storage, old, new_revision_id=Revisions("a"))
    generator = random.Random(seed)
    process = start_build(storage, new, seconds=0.002)
    assert process.stdout is not None
    # From the start of the process to after its end, denser where the writing is.
    for _ in range(generator.choice([0, 1, 63, 64, 65, 128, 149, 150])):
        process.stdout.readline()
    time.sleep(generator.random() * 0.12)
    process.send_signal(signal.SIGKILL)
    process.communicate()

    assert_whole(storage)
    with open_head(storage) as reader:
        serves_new = reader.revision.revision_id != first.revision_id
        expected = new if serves_new else old
        assert reader.unit_count == 150
        units = reader.units([hit.unit_rowid for hit in reader.bm25('"note"', 200)])
        assert {it.path: it.text for it in units.values()}.keys() == expected.keys()
        assert len(reader.vectors()) == 150
    with sqlite3.connect(storage.database) as connection:
        cached = connection.execute("SELECT count(*) FROM search_vector_cache").fetchone()[0]

    embedder = StandInEmbedder()
    summary = build(storage, new, embedder, new_revision_id=Revisions("z"))
    assert summary.embedded == 300 - cached, "what was computed is not computed again"
    assert summary.token_vectors_missing == 0
    assert_whole(storage)
    assert {it.status for it in list_revisions(storage)} == {"ready"}
    assert not list(storage.directory.glob(".*tmp*"))
    with open_head(storage) as reader:
        assert reader.revision.revision_id == summary.revision_id


@pytest.mark.parametrize("seed", range(4))
def test_a_first_build_killed_at_any_moment_is_simply_built_again(
    storage: IndexStorage, seed: int
) -> None:
    process = start_build(storage, notes(80), seconds=0.002)
    time.sleep(0.15 + random.Random(seed).random() * 0.4)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert outcome(start_build(storage, notes(80)))["units"] == 80
    assert_whole(storage)


def test_a_killed_build_keeps_vectors_at_least_every_64_passages(storage: IndexStorage) -> None:
    process = start_build(storage, notes(150), seconds=0.001)
    assert process.stdout is not None
    for _ in range(140):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    embedder = StandInEmbedder()
    build(storage, notes(150), embedder)
    assert embedder.embedded <= 150 - 64
