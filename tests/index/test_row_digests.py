"""A row that is not what a build wrote is never served, and a plain build puts it right."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_support import build, memory_of, resource

from memcli.errors import NotReady
from memcli.index import fts_digests
from memcli.index.connection import open_to_read
from memcli.index.identity_recall import identity_hits
from memcli.index.inspection import inspect_index
from memcli.index.reader import open_head
from memcli.index.resource_names import read_names
from memcli.index.row_digests import COVERED
from memcli.index.storage import IndexStorage
from memcli.index.swap import head_info, keep_revision, list_revisions
from memcli.index.text_folding import fold
from memcli.memory.resource import EffectiveMemory


def memory() -> EffectiveMemory:
    return memory_of(
        [
            resource("a.md", "# Alpha\n\nfirst text\n\n# Beta\n\nsecond ok\n", description="of a"),
            resource("docs/deploy.md", "# Deploying\n\nHow we deploy.\n", title="Deploying"),
            resource("docs/deploy/old.md", "# Old\n\nAn old way.\n", title="docs/deploy.md"),
        ]
    )


def change(storage: IndexStorage, statement: str) -> None:
    with closing(sqlite3.connect(storage.database)) as connection:
        assert connection.execute(statement).rowcount > 0, statement
        connection.commit()


def everything(storage: IndexStorage) -> list[Any]:
    """All that an activation may read of the head."""
    with open_head(storage) as reader:
        rowids = reader.rowids_of_ordinals(range(reader.unit_count))
        units = list(reader.units(rowids).values())
        manifest = list(reader.manifest())
        bodies = [reader.body(each.resource_id) for each in manifest]
        keys = reader.keys_present([unit.unit_key for unit in units])
        hits = reader.identity_hits(fold("docs/deploy.md"), 20)
        scanned = reader.scan_words(["ok"], 20)
        return [units, manifest, bodies, keys, hits, scanned, reader.vectors().tolist()]


def without_rowids(answers: list[Any]) -> list[Any]:
    units, manifest, bodies, keys, hits, scanned, vectors = answers
    place = {unit.unit_rowid: unit.unit_key for unit in units}
    return [
        [(unit.unit_key, unit.text, unit.locator, unit.heading_path) for unit in units],
        manifest,
        bodies,
        keys,
        [(place[hit.unit_rowid], hit.tier) for hit in hits],
        [place[rowid] for rowid in scanned],
        vectors,
    ]


def damaged_values() -> Iterator[tuple[str, str]]:
    for table in ("search_units", "search_resources"):
        for column in COVERED[table]:
            if column != "revision_id":
                yield table, column
    yield "search_resources", "body"


@pytest.mark.parametrize(("table", "column"), list(damaged_values()))
def test_a_changed_value_is_never_served_and_a_plain_build_puts_it_right(
    storage: IndexStorage, table: str, column: str
) -> None:
    build(storage, memory())
    before = without_rowids(everything(storage))
    # SQLite keeps any type in any column: a flipped bit may change the type as well.
    change(storage, f"UPDATE {table} SET {column} = x'31' WHERE ordinal = 1")
    with contextlib.suppress(NotReady):
        assert without_rowids(everything(storage)) == before
    found = inspect_index(storage, building=False)
    assert found.faults or found.gaps
    assert build(storage, memory()).recreated
    assert without_rowids(everything(storage)) == before


def read_pointers(storage: IndexStorage) -> None:
    with open_head(storage) as reader:
        reader.document_frequencies(np.array([1], dtype=np.int32))
    head_info(storage)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE search_revisions SET effective_hash = 'x'",
        "UPDATE search_revisions SET unit_count = unit_count - 1",
        "UPDATE search_revisions SET document_frequencies = x'0000000000000000'",
        "UPDATE search_revisions SET kept = 1",
        "UPDATE search_revisions SET status = 'reedy', row_digest = NULL",
        "UPDATE search_heads SET changed_at = '1999'",
        "UPDATE search_heads SET previous = 'ghost'",
    ],
)
def test_the_rows_of_revision_and_head_are_verified_too(
    storage: IndexStorage, statement: str
) -> None:
    build(storage, memory())
    change(storage, statement)
    with pytest.raises(NotReady) as caught:
        read_pointers(storage)
    assert caught.value.code == "index_damaged"
    build(storage, memory())
    everything(storage)


def test_what_the_program_itself_changes_is_sealed_again(storage: IndexStorage) -> None:
    summary = build(storage, memory())
    keep_revision(storage, summary.revision_id, True)
    keep_revision(storage, summary.revision_id, False)
    moved = [resource("a.md", memory().resources[0].body, description="of a", first_line=7)]
    again = build(storage, memory_of([*moved, *memory().resources[1:]]))
    assert not again.created, "lines enter no hash"
    assert not inspect_index(storage, building=False).faults
    assert [each.kept for each in list_revisions(storage)] == [False]


def test_rows_that_are_gone_are_missed_by_a_plain_build(storage: IndexStorage) -> None:
    build(storage, memory())
    before = without_rowids(everything(storage))
    change(storage, "DELETE FROM search_units WHERE ordinal = 1")
    assert build(storage, memory()).recreated
    assert without_rowids(everything(storage)) == before


def test_a_damaged_row_is_not_copied_into_a_new_revision(storage: IndexStorage) -> None:
    build(storage, memory())
    change(storage, "UPDATE search_units SET text = 'spoilt' WHERE ordinal = 1")
    grown = memory_of([*memory().resources, resource("new.md", "# New\n\nnew\n")])
    build(storage, grown)
    assert "spoilt" not in repr(everything(storage))


def test_changed_full_text_rows_are_noticed_by_the_scan_and_made_anew(
    storage: IndexStorage,
) -> None:
    build(storage, memory())
    before = without_rowids(everything(storage))
    change(storage, "UPDATE search_units_fts_content SET c5 = 'second no' WHERE c5 LIKE '%ok%'")
    with pytest.raises(NotReady) as caught:
        everything(storage)
    assert caught.value.code == "index_damaged"
    assert inspect_index(storage, building=False).gaps
    assert not build(storage, memory()).recreated, "the full-text table alone is made anew"
    assert without_rowids(everything(storage)) == before


def test_the_inverted_index_is_verified_by_builds(storage: IndexStorage) -> None:
    build(storage, memory())
    change(storage, "UPDATE search_units_fts_data SET block = block || x'00' WHERE id > 10")
    with closing(open_to_read(storage.database)) as connection:
        assert not fts_digests.hold(connection)
    build(storage, memory())
    with closing(open_to_read(storage.database)) as connection:
        assert fts_digests.hold(connection)


NAMES = st.text(alphabet="ab/é部\n", min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(NAMES, NAMES, st.integers(0, 2)), max_size=8, unique_by=lambda it: it[0]),
    NAMES,
    st.integers(1, 4),
    st.integers(1, 6),
)
def test_names_are_found_as_the_database_finds_them(
    notes: list[tuple[str, str, int]],
    query: str,
    prefix_limit: int,
    limit: int,
) -> None:
    bodies = {0: "", 1: "text\n", 2: "text\n\n# Two\n\n" + "word " * 500}
    with TemporaryDirectory() as folder:
        storage = IndexStorage.of_project(Path(folder))
        build(
            storage,
            memory_of(
                [resource(path, bodies[units], title=title) for path, title, units in notes],
            ),
        )
        with open_head(storage) as reader:
            revision = reader.revision.revision_id
            names = read_names(storage, revision)
            assert names is not None
            hits = names.hits(fold(query), prefix_limit, limit)
            rowids = reader.rowids_of_ordinals([ordinal for ordinal, _ in hits])
        with closing(open_to_read(storage.database)) as connection:
            expected = identity_hits(connection, revision, fold(query), prefix_limit, limit)
        assert [(it.unit_rowid, it.tier) for it in expected] == [
            (rowid, tier) for rowid, (_, tier) in zip(rowids, hits, strict=True)
        ]
