"""The full-text table across swaps, and the lexicon that repeats its numbers."""

from __future__ import annotations

import random
import sqlite3
import unicodedata
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from index_support import VOCABULARY, build, memory_of, notes, resource

from memcli.index import fts
from memcli.index.fts import LexicalRow, lexical_rows
from memcli.index.lexicon import best_ordinals, quoted_phrases
from memcli.index.lexicon_build import lexicon_of
from memcli.index.reader import LexicalHit, open_head
from memcli.index.storage import IndexStorage
from memcli.index.swap import swap_head
from memcli.index.tables import CREATE_FTS
from memcli.index.text_folding import PIECE, fts_text, trigram_fold

NOW = datetime(2025, 1, 1, tzinfo=timezone.utc)
QUERIES = (
    '"deploy"',
    '"deploy" OR "ledger" OR "the"',
    '"LOY" OR "Ocker-Com" OR "C++"',
    '"naïve" OR "ber" OR "Прив"',
    '"部署" OR "回滚" OR "note"',
    '"absent word" OR "and"',
    '"a""b" OR "x+y"',
)


def hits(storage: IndexStorage, match: str) -> list[LexicalHit]:
    with open_head(storage) as reader:
        return reader.fts_bm25(match, 1000)


def keyed(storage: IndexStorage, match: str) -> list[tuple[str, float]]:
    with open_head(storage) as reader:
        found = reader.fts_bm25(match, 1000)
        units = reader.units([hit.unit_rowid for hit in found])
        return [(units[hit.unit_rowid].unit_key, hit.score) for hit in found]


def test_fts5_recall_alone(storage: IndexStorage) -> None:
    build(
        storage, {"a.md": "# Cooking\n\nOnions and butter.\n", "b.md": "# Deploys\n\nRoll back.\n"}
    )
    with open_head(storage) as reader:
        found = reader.fts_bm25('"onion"', 60)
        assert [it.path for it in reader.units([hit.unit_rowid for hit in found]).values()] == [
            "a.md"
        ]
        assert found[0].score > 0


def test_path_title_heading_and_body_weigh_8_6_4_1(storage: IndexStorage) -> None:
    filler = "nothing else is said here " * 3
    build(
        storage,
        memory_of(
            [
                resource("zebra.md", f"# Some\n\n{filler}", title="one"),
                resource("d.md", f"# Some\n\n{filler}", title="zebra"),
                resource("e.md", f"# Some\n\n{filler} zebra", title="two"),
                *[resource(f"x{n}.md", f"# Some\n\n{filler}", title="three") for n in range(20)],
            ]
        ),
    )
    assert [key.partition("#")[0] for key, _ in keyed(storage, '"zebra"')] == [
        "zebra.md",
        "d.md",
        "e.md",
    ]
    assert tuple(fts.WEIGHTS.values()) == (8, 6, 4, 1)


def test_nfc_and_nfd_forms_find_each_other(storage: IndexStorage) -> None:
    build(storage, {"a.md": unicodedata.normalize("NFD", "Über naïve Köche\n"), "b.md": "none\n"})
    assert len(hits(storage, '"naïve"')) == 1
    with open_head(storage) as reader:
        unit = next(iter(reader.units([1]).values()))
        assert unit.text == unicodedata.normalize("NFD", "Über naïve Köche\n").strip("\n") or (
            unit.text == unicodedata.normalize("NFD", "Über naïve Köche\n")
        )


def test_text_after_a_nul_is_found(storage: IndexStorage) -> None:
    build(storage, {"a.md": "before\0 afterwards\n", "b.md": "none\n"})
    assert len(hits(storage, '"afterwards"')) == 1


def fresh_scores(storage: IndexStorage, match: str) -> list[tuple[str, float]]:
    """What a table built from nothing says of the head's rows."""
    with open_head(storage) as reader:
        source = sqlite3.connect(storage.database)
        rows = list(lexical_rows(source, reader.revision.revision_id))
        source.close()
    fresh = sqlite3.connect(":memory:")
    fresh.execute(CREATE_FTS)
    fresh.executemany(
        "INSERT INTO search_units_fts (rowid, unit_key, path, title, heading, body)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [(n, it.unit_key, it.path, it.title, it.heading, it.body) for n, it in enumerate(rows)],
    )
    return fresh.execute(
        f"SELECT unit_key, -{fts.BM25} FROM search_units_fts"
        " WHERE search_units_fts MATCH ? ORDER BY 2 DESC, rowid",
        (match,),
    ).fetchall()


def test_bm25_after_many_incremental_swaps_equals_a_freshly_built_table(
    storage: IndexStorage,
) -> None:
    generator = random.Random(7)
    current = notes(60)
    build(storage, current)
    for step in range(12):
        for path in generator.sample(sorted(current), 4):
            current.pop(path)
        for number in range(4):
            current[f"notes/new-{step}-{number}.md"] = " ".join(
                generator.choices(VOCABULARY, k=generator.randrange(5, 90))
            )
        changed = generator.choice(sorted(current))
        current[changed] += f"\n\nmore {step} deploy\n"
        build(storage, current)
        for match in QUERIES:
            assert keyed(storage, match) == fresh_scores(storage, match)


def rowids_in_table(storage: IndexStorage) -> list[tuple[int, str]]:
    with sqlite3.connect(storage.database) as connection:
        return connection.execute(
            "SELECT rowid, revision_id FROM search_units_fts ORDER BY rowid"
        ).fetchall()


def test_the_table_holds_the_heads_rows_only_and_names_the_head(storage: IndexStorage) -> None:
    first = build(storage, notes(20))
    second = build(storage, notes(20, changed=[3, 4]))
    kept = build(storage, notes(20, changed=[9]), swap=False)
    for expected in (second, first, kept, second):
        swap_head(storage, expected.revision_id, False, lambda: NOW)
        with sqlite3.connect(storage.database) as connection:
            wanted = connection.execute(
                "SELECT unit_rowid, revision_id FROM search_units WHERE revision_id = ? ORDER BY 1",
                (expected.revision_id,),
            ).fetchall()
        assert rowids_in_table(storage) == wanted


def test_an_unchanged_unit_keeps_its_rowid_and_a_changed_one_never_does(
    storage: IndexStorage,
) -> None:
    def rowids(revision: str) -> dict[str, int]:
        with sqlite3.connect(storage.database) as connection:
            return dict(
                connection.execute(
                    "SELECT unit_key, unit_rowid FROM search_units WHERE revision_id = ?",
                    (revision,),
                ).fetchall()
            )

    sections = "\n\n".join(f"# S{n}\n\n" + f"word{n} " * 300 for n in range(4))
    first = rowids(build(storage, {"a.md": sections, "b.md": "b\n"}).revision_id)
    edited = sections.replace("word2 ", "other ", 1)
    second = rowids(build(storage, {"a.md": edited, "b.md": "b\n"}).revision_id)
    assert first.keys() == second.keys()
    changed = {key for key in first if first[key] != second[key]}
    assert changed
    assert all("s2" in key for key in changed)
    assert not set(second.values()) - set(first.values()) & set(first.values())
    # The same text under another path is another row.
    third = rowids(build(storage, {"c.md": edited, "b.md": "b\n"}).revision_id)
    assert third["b.md#root~0.0"] == second["b.md#root~0.0"]
    assert not {it for key, it in third.items() if key.startswith("c.md")} & set(second.values())


def test_a_table_that_is_not_the_heads_is_made_anew_by_the_next_build(
    storage: IndexStorage,
) -> None:
    build(storage, notes(10))
    expected = keyed(storage, '"note"')
    with sqlite3.connect(storage.database) as connection:
        connection.execute("DELETE FROM search_units_fts WHERE rowid % 2")
    assert not build(storage, notes(10)).created
    assert keyed(storage, '"note"') == expected


@pytest.mark.parametrize("match", QUERIES)
def test_the_lexicon_gives_the_numbers_of_fts5(storage: IndexStorage, match: str) -> None:
    build(storage, notes(80))
    build(storage, notes(80, changed=range(5)))
    with open_head(storage) as reader:
        assert reader.lexicon() is not None
        for limit in (1, 7, 60, 1000):
            expected = reader.fts_bm25(match, limit)
            found = reader.bm25(match, limit)
            assert [hit.unit_rowid for hit in found] == [hit.unit_rowid for hit in expected]
            assert np.allclose(
                [hit.score for hit in found], [hit.score for hit in expected], rtol=1e-12, atol=0
            )


def test_the_lexicon_is_what_answers_for_words_of_its_alphabet(storage: IndexStorage) -> None:
    build(storage, notes(80))
    with open_head(storage) as reader:
        lexicon = reader.lexicon()
        assert lexicon is not None
        assert lexicon.scores(["deploy", "C++", "naïve", "При"]) is not None
        assert lexicon.scores(["deploy", "部署v"]) is None
        assert lexicon.scores(["two words"]) is None
        assert lexicon.scores(["ok"]) is None


@pytest.mark.parametrize("damage", ["absent", "header", "vocabulary", "postings", "truncated"])
def test_a_damaged_lexicon_changes_no_answer(storage: IndexStorage, damage: str) -> None:
    summary = build(storage, notes(80))
    with open_head(storage) as reader:
        expected = reader.bm25('"deploy" OR "ledger"', 20)
    path = storage.lexicon(summary.revision_id)
    content = bytearray(path.read_bytes())
    if damage == "absent":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(content[: len(content) // 2])
    else:
        at = {"header": 40, "vocabulary": content.index(b"deploy"), "postings": len(content) - 900}
        start = at[damage]
        for place in range(start, min(start + 400, len(content))):
            content[place] ^= 0x55
        path.write_bytes(content)
    with open_head(storage) as reader:
        assert reader.bm25('"deploy" OR "ledger"', 20) == expected
    build(storage, notes(80))
    with open_head(storage) as reader:
        lexicon = reader.lexicon()
        assert lexicon is not None
        assert lexicon.scores(["deploy", "ledger"]) is not None


def rows_of(texts: Sequence[tuple[str, str]]) -> list[LexicalRow]:
    return [
        LexicalRow(n + 1, f"k{n}", f"p{n}.md", fts_text(title), "", fts_text(body))
        for n, (title, body) in enumerate(texts)
    ]


def table_of(rows: Sequence[LexicalRow]) -> sqlite3.Connection:
    table = sqlite3.connect(":memory:")
    table.execute(CREATE_FTS)
    table.executemany(
        "INSERT INTO search_units_fts (rowid, path, title, heading, body) VALUES (?, ?, ?, ?, ?)",
        [(row.unit_rowid, row.path, row.title, row.heading, row.body) for row in rows],
    )
    return table


PARTS = [
    "aab",
    "aaa",
    "Ab",
    "b-c",
    "C++",
    "é",
    "É",
    "ß",
    "ς",
    "Σας",
    "İi",
    "ſs",
    "部署",
    " ",
    "\n",
    ".",
    "'",
    "x",
]
TEXT = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)
TERM = (
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=3)
    .map("".join)
    .filter(lambda term: len(unicodedata.normalize("NFC", term)) >= 3)
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8), st.lists(TERM, min_size=1, max_size=4)
)
def test_the_lexicon_agrees_with_fts5_on_any_text(
    texts: list[tuple[str, str]], terms: list[str]
) -> None:
    rows = rows_of(texts)
    terms = [unicodedata.normalize("NFC", term) for term in terms]
    match = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
    assert quoted_phrases(match) == terms
    rowids = np.array([row.unit_rowid for row in rows])
    lexicon = lexicon_of(rowids, lambda rowid: rows[rowid - 1], None)
    assert lexicon is not None
    scores = lexicon.scores(terms)
    if not all(PIECE.fullmatch(trigram_fold(term)) for term in terms):
        assert scores is None
        return
    assert scores is not None
    expected = dict(
        table_of(rows).execute(
            f"SELECT rowid, -{fts.BM25} FROM search_units_fts WHERE search_units_fts MATCH ?",
            (match,),
        )
    )
    found = {int(rowids[at]): float(scores[at]) for at in best_ordinals(scores, 100)}
    assert found.keys() == expected.keys()
    for rowid, score in expected.items():
        assert found[rowid] == pytest.approx(score, rel=1e-12)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(TEXT, min_size=1, max_size=10),
    st.lists(st.booleans(), min_size=10, max_size=10),
    st.lists(TEXT, max_size=4),
)
def test_a_lexicon_made_from_the_one_before_equals_one_made_from_nothing(
    old: list[str], stays: list[bool], new: list[str]
) -> None:
    rows = rows_of([("title", text) for text in [*old, *new]])
    before = lexicon_of(np.arange(1, len(old) + 1), lambda rowid: rows[rowid - 1], None)
    kept = [row.unit_rowid for row, stay in zip(rows[: len(old)], stays, strict=False) if stay]
    added = [row.unit_rowid for row in rows[len(old) :]]
    # New units come in between the old ones.
    after = np.array([*added[:2], *kept, *added[2:]], dtype=np.int64)
    asked: list[int] = []

    def row_of(rowid: int) -> LexicalRow:
        asked.append(rowid)
        return rows[rowid - 1]

    merged = lexicon_of(after, row_of, before)
    assert sorted(asked) == sorted(added)
    anew = lexicon_of(after, lambda rowid: rows[rowid - 1], None)
    assert merged is not None
    assert anew is not None
    assert merged.rowids.tolist() == anew.rowids.tolist()
    assert merged.lengths.tolist() == anew.lengths.tolist()
    for term in ("aab", "aaa", "b-c", "c++", "titl"):
        left, right = merged.scores([term]), anew.scores([term])
        assert left is not None
        assert right is not None
        assert left.tolist() == right.tolist()


def test_a_unit_that_repeats_a_word_too_often_to_count_is_left_to_fts5(tmp_path: Path) -> None:
    row = LexicalRow(1, "k", "p", "t", "", "again " * 70_000)
    assert lexicon_of(np.array([1]), lambda rowid: row, None) is None
