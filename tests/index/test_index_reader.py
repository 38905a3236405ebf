"""What a reader gives, in which order, and that it never writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import numpy as np
import pytest
from index_support import build, memory_of, notes, resource
from root_powers import no_root_powers
from stand_in import StandInEmbedder

from memcli.errors import Failure, NotReady
from memcli.index.connection import open_to_read
from memcli.index.embedding import PassageInput
from memcli.index.reader import RevisionReader, open_head
from memcli.index.revisions import find_revision
from memcli.index.storage import IndexStorage
from memcli.index.text_folding import fold

READS = {
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_PRAGMA,
    sqlite3.SQLITE_TRANSACTION,
}
BODIES = {
    "a.md": "# Alpha\n\n" + "first " * 500 + "\n\n# Second\n\n" + "second " * 300,
    "docs/deploy.md": "# Deploying\n\nHow we deploy.\n",
    "docs/deployments/old.md": "# Old\n\nAn old way.\n",
    "z.md": "# Zed\n\nThe end.\n",
}


def keys(reader: RevisionReader, rowids: list[int]) -> list[str]:
    units = reader.units(rowids)
    return [units[rowid].unit_key for rowid in rowids]


def identity(storage: IndexStorage, query: str, prefix_limit: int = 20) -> list[tuple[str, int]]:
    with open_head(storage) as reader:
        hits = reader.identity_hits(fold(query), prefix_limit)
        named = keys(reader, [hit.unit_rowid for hit in hits])
        return [(key, hit.tier) for key, hit in zip(named, hits, strict=True)]


def test_nothing_built_is_index_not_ready(storage: IndexStorage) -> None:
    with pytest.raises(NotReady) as caught, open_head(storage):
        pass
    assert caught.value.code == "index_not_ready"
    assert not storage.directory.exists(), "reading creates nothing"


def test_units_come_with_their_resource_and_place(storage: IndexStorage) -> None:
    memory = memory_of(
        [resource("a.md", "# A\n\ntext\n", title="Title", description="About a", first_line=6)]
    )
    build(storage, memory)
    with open_head(storage) as reader:
        description, root = reader.units(reader.rowids_of_ordinals([0, 1])).values()
        assert description.text == "About a"
        assert (description.locator.start_line, description.locator.start_char) == (2, None)
        assert root.locator.start_line == 6
        assert (
            memory.resources[0].body[root.locator.start_char : root.locator.end_char] == root.text
        )
        assert (root.path, root.title, root.scope) == ("a.md", "Title", "project")
        assert root.resource_hash == memory.resources[0].resource_hash
        assert (root.position, root.ordinal) == (1, 1)


def test_resources_come_from_the_index_in_order(storage: IndexStorage) -> None:
    build(storage, BODIES)
    with open_head(storage) as reader:
        manifest = list(reader.manifest())
        assert [(entry.ordinal, entry.path) for entry in manifest] == list(
            enumerate(sorted(BODIES))
        )
        assert reader.body("z.md") == BODIES["z.md"]
        assert reader.body("none.md") is None
        assert reader.resource("z.md") == manifest[-1]
        assert reader.resource("none.md") is None
        assert reader.resource_count == 4
        assert reader.unit_count == sum(entry.unit_count for entry in manifest)


def test_vector_recall_alone(storage: IndexStorage) -> None:
    embedder = StandInEmbedder()
    build(storage, BODIES, embedder)
    query = embedder.embed_text("an old way").vector
    with open_head(storage) as reader:
        similarities = reader.vectors() @ query
        best = reader.rowids_of_ordinals([int(similarities.argmax())])
        assert keys(reader, best) == ["docs/deployments/old.md#root~0.0"]


def test_row_i_of_the_vectors_is_the_unit_with_ordinal_i(storage: IndexStorage) -> None:
    build(storage, notes(30))
    build(storage, notes(40, changed=[3]))
    with open_head(storage) as reader:
        rowids = reader.rowids_of_ordinals(range(40))
        units = reader.units(rowids)
        embedder = StandInEmbedder()
        for ordinal, rowid in enumerate(rowids):
            unit = units[rowid]
            assert unit.ordinal == ordinal
            passage = PassageInput(unit.path, (unit.title, *unit.heading_path), unit.text)
            expected = next(iter(embedder.embed_passages([passage]))).vector
            assert np.allclose(reader.vectors()[ordinal], expected, atol=0.3)


def test_an_equal_id_comes_before_an_equal_path_or_title_and_these_before_a_prefix(
    storage: IndexStorage,
) -> None:
    build(
        storage,
        memory_of(
            [
                resource("1.md", "one\n", title="runbook and more"),
                resource("2.md", "two\n", title="Runbook"),
                resource("3.md", "three\n", resource_id="runbook"),
                resource("4.md", "four\n", resource_id="runbook-2"),
                resource("5.md", "five\n", resource_id="RunBook"),
                resource("6.md", "six\n", title="a runbook"),
            ]
        ),
    )
    assert identity(storage, "RUNBOOK") == [
        ("runbook#root~0.0", 1),
        ("RunBook#root~0.0", 1),
        ("2.md#root~0.0", 2),
        ("1.md#root~0.0", 3),
        ("runbook-2#root~0.0", 3),
    ]


def test_a_hit_stands_for_all_units_of_the_resource_ordered_by_position(
    storage: IndexStorage,
) -> None:
    long = "# H\n\n" + "word " * 300 + "\n\n# I\n\n" + "word " * 300
    build(
        storage,
        memory_of([resource(f"{n}.md", long, title="Same", description="d") for n in range(3)]),
    )
    found = identity(storage, "same")
    assert [key for key, _ in found] == [
        f"{n}.md#{part}" for part in ("description~0.0", "/h~0.0", "/i~0.0") for n in range(3)
    ]
    assert {tier for _, tier in found} == {2}


def test_prefix_hits_take_at_most_so_many_places(storage: IndexStorage) -> None:
    build(storage, notes(50))
    assert [key for key, _ in identity(storage, "notes/", 20)] == [
        f"notes/{n:04}.md#root~0.0" for n in range(20)
    ]
    assert len(identity(storage, "notes/0007.md")) == 1
    assert identity(storage, "") == []
    assert identity(storage, "otes") == []


def test_identity_ignores_case_and_unicode_form(storage: IndexStorage) -> None:
    build(storage, memory_of([resource("Straße/Ñandú.md", "text\n", title="ΣΊΣΥΦΟΣ")]))
    for query in ("STRASSE/ñandú.MD", "straße/n\u0303andu\u0301.md", "σίσυφος", "STRAS"):
        assert len(identity(storage, query)) == 1, query


@pytest.mark.parametrize("query", ["%", "_", "'", '"', "a' OR 1=1 --", "\U0010ffff", "\ud83d"[:0]])
def test_a_query_is_never_a_pattern(storage: IndexStorage, query: str) -> None:
    build(storage, notes(3))
    assert identity(storage, query) == []


def test_equal_scores_come_in_unit_order(storage: IndexStorage) -> None:
    build(storage, memory_of([resource(f"{n}.md", "same words here\n", title="t") for n in "cab"]))
    build(
        storage,
        memory_of([resource(f"{n}.md", "same words here\n", title="t") for n in "xcaby"]),
    )
    with open_head(storage) as reader:
        for find in (reader.bm25, reader.fts_bm25):
            for limit in (2, 5):
                found = find('"same" OR "words"', limit)
                assert [key[0] for key in keys(reader, [hit.unit_rowid for hit in found])] == list(
                    "xcaby"
                )[:limit]


def scan(storage: IndexStorage, *words: str, limit: int = 60) -> list[str]:
    with open_head(storage) as reader:
        return [key.partition("#")[0] for key in keys(reader, reader.scan_words(words, limit))]


def test_short_words_are_found_by_a_scan(storage: IndexStorage) -> None:
    build(
        storage,
        memory_of(
            [
                resource("1.md", "it is not okay\n", title="t"),
                resource("2.md", "all is OK, go on\n", title="t"),
                resource("3.md", "# The OK list\n\n" + "x " * 390, title="t"),
                resource("4.md", "nothing\n", title="ok"),
                resource("5/ok.md", "nothing\n", title="t"),
                resource("6.md", "go and say ok\n", title="t"),
                resource("7.md", "我们部署了服务 ok_not v1\n", title="t"),
                resource("8.md", "用ok命令\n", title="t"),
            ]
        ),
    )
    assert scan(storage, "ok") == ["5/ok.md", "4.md", "3.md", "2.md", "6.md", "8.md"]
    assert scan(storage, "Ok", "GO") == ["2.md", "6.md", "5/ok.md", "4.md", "3.md", "8.md"]
    assert scan(storage, "ok", limit=2) == ["5/ok.md", "4.md"]
    assert scan(storage, "部署") == ["7.md"]
    assert scan(storage, "v1", "zz") == ["7.md"]
    assert scan(storage, "zz") == []


def test_a_scan_folds_case_beyond_ascii(storage: IndexStorage) -> None:
    build(storage, {"1.md": "ДА, конечно\n", "2.md": "да\n", "3.md": "нет\n"})
    assert scan(storage, "Да") == ["1.md", "2.md"]


def test_keys_present_says_which_units_the_revision_has(storage: IndexStorage) -> None:
    build(storage, notes(3))
    with open_head(storage) as reader:
        asked = [f"notes/{n:04}.md#root~0.0" for n in range(2, 5)]
        found = reader.keys_present([*asked, *(f"other-{n}" for n in range(900))])
        unit = reader.units(reader.rowids_of_ordinals([2]))
        assert found == {asked[0]: next(iter(unit.values())).content_hash}


def test_document_frequencies_count_units_not_occurrences(storage: IndexStorage) -> None:
    build(storage, {"a.md": "rare common common\n", "b.md": "common\n"})
    build(storage, {"a.md": "rare common common\n", "b.md": "common\n", "c.md": "other\n"})
    embedder = StandInEmbedder()
    ids = np.array([embedder.token_id(word) for word in ("rare", "common", "never", "md")])
    with open_head(storage) as reader:
        assert reader.document_frequencies(ids.astype(np.int32)).tolist() == [1, 2, 0, 3]


def ask_often(reader: RevisionReader) -> None:
    for _ in range(50):
        reader.fts_bm25('"deploy" OR "note" OR "the"', 10)


def test_the_deadline_interrupts_a_query(storage: IndexStorage) -> None:
    build(storage, notes(400))
    expired = False
    with open_head(storage, interrupt_check=lambda: expired) as reader:
        reader.fts_bm25('"deploy" OR "note" OR "the"', 10)
        expired = True
        with pytest.raises(Failure) as caught:
            ask_often(reader)
        assert caught.value.code == "activation_deadline"
        reader.lift_deadline()
        ask_often(reader)


def read_everything(reader: RevisionReader) -> None:
    reader.identity_hits("a.md", 20)
    reader.fts_bm25('"deploy"', 60)
    reader.bm25('"deploy"', 60)
    reader.scan_words(["ok"], 60)
    reader.units(reader.rowids_of_ordinals(range(reader.unit_count)))
    reader.vectors()
    reader.keys_present(["a"])
    list(reader.manifest())
    reader.document_frequencies(np.array([1], dtype=np.int32))


def test_a_reader_does_no_ddl_and_no_write(storage: IndexStorage) -> None:
    summary = build(storage, BODIES)
    statements: list[str] = []
    written: list[tuple[object, ...]] = []

    def authorize(action: int, table: str | None, *rest: object) -> int:
        if action not in READS and table not in ("sqlite_master", "x"):
            written.append((action, table, *rest))
        return sqlite3.SQLITE_OK

    connection = open_to_read(storage.database)
    connection.set_authorizer(authorize)
    connection.set_trace_callback(statements.append)
    revision = find_revision(connection, summary.revision_id)
    assert revision is not None
    read_everything(RevisionReader(connection, storage, revision))
    assert not written
    assert statements
    # FTS5 declares its table's shape, as "x", when it connects: that is no DDL on the file.
    words = {text.lstrip("- ").split()[0] for text in statements if "TABLE x(" not in text}
    assert words <= {"SELECT", "WITH", "PRAGMA"}, words
    assert not connection.in_transaction


def test_reading_changes_no_byte_of_the_database(storage: IndexStorage) -> None:
    build(storage, BODIES)
    before = storage.database.read_bytes()
    with open_head(storage) as reader:
        read_everything(reader)
    assert storage.database.read_bytes() == before
    log = storage.database.with_name("search-index.sqlite-wal")
    assert not log.exists() or log.stat().st_size == 0


def test_a_reading_connection_cannot_write(storage: IndexStorage) -> None:
    build(storage, notes(2))
    with pytest.raises(sqlite3.OperationalError):
        open_to_read(storage.database).execute("DELETE FROM search_heads")


def test_everything_is_read_from_one_snapshot(storage: IndexStorage) -> None:
    first = build(storage, notes(5))
    with open_head(storage) as reader:
        for seed in range(1, 5):
            build(storage, notes(9, seed=seed))
        assert reader.revision.revision_id == first.revision_id
        assert len(reader.fts_bm25('"note"', 100)) == 5
        assert len(reader.bm25('"note"', 100)) == 5
        assert reader.vectors().shape == (5, 32)
        assert len(reader.units(reader.rowids_of_ordinals(range(5)))) == 5
    with open_head(storage) as reader:
        assert reader.unit_count == 9


@pytest.fixture
def damaged(storage: IndexStorage) -> Iterator[sqlite3.Connection]:
    build(storage, notes(5))
    connection = sqlite3.connect(storage.database, isolation_level=None)
    yield connection
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE search_units SET heading_path = 'not json'",
        "UPDATE search_units SET text = CAST(x'ff' AS TEXT)",
        "DELETE FROM search_units WHERE ordinal = 1",
        "UPDATE search_units SET vector = x'00'",
        "UPDATE search_revisions SET document_frequencies = x'00'",
        "UPDATE search_revisions SET document_frequencies = NULL",
        "DELETE FROM search_revisions",
        "DELETE FROM search_resources",
        "DROP TABLE search_units",
        "UPDATE search_revisions SET status = 'failed'",
    ],
)
def test_whatever_is_inconsistent_is_index_damaged(
    storage: IndexStorage, damaged: sqlite3.Connection, statement: str
) -> None:
    damaged.execute(statement)
    for path in storage.directory.glob("vectors-*"):
        path.unlink()
    with pytest.raises(NotReady) as caught, open_head(storage) as reader:
        read_everything(reader)
    assert caught.value.code == "index_damaged"


def test_a_project_that_cannot_be_written_can_be_read(storage: IndexStorage) -> None:
    build(storage, notes(5))
    storage.directory.chmod(0o500)
    try:
        with no_root_powers(), open_head(storage) as reader:
            assert len(reader.bm25('"note"', 10)) == 5
    finally:
        storage.directory.chmod(0o700)
