"""Queries as terms: any text is a query, and none of it is FTS5 syntax (F7, F8, F9, F11)."""

from __future__ import annotations

import itertools
import sqlite3

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memcli.retrieval.query_terms import MOST_WINDOWS, parse_query


@pytest.mark.parametrize(
    ("query", "terms", "skipped"),
    [
        ("roll back a deploy", ("roll", "back", "deploy"), ("a",)),
        ("C++", ("C++",), ()),
        ("C#", (), ("C#",)),
        ("what's", ("what",), ("s",)),
        ("docker-compose", ("docker-compose",), ()),
        ("a:b", ("a:b",), ()),
        ("ray.init() fails.", ("ray.init", "fails"), ()),
        ("see docs/deploy.md, please", ("see", "docs/deploy.md", "please"), ()),
        ("*", (), ()),
        ('"', (), ()),
        ("NEAR(", ("NEAR",), ()),
        ("--help", ("help",), ()),
        ("!!! ???", (), ()),
        ("ok", (), ("ok",)),
        ("A B", (), ("A", "B")),
        ("部署", (), ("部署",)),
        ("怎么回滚", ("怎么回", "么回滚"), ()),
        ("Redis集群", ("Red", "edi", "dis", "is集", "s集群"), ()),
        ("ab cd ef gh", (), ("ab", "cd", "ef", "gh")),
        ("Deploy deploy DEPLOY", ("Deploy",), ()),
    ],
)
def test_words_become_terms_windows_or_are_listed_as_skipped(
    query: str, terms: tuple[str, ...], skipped: tuple[str, ...]
) -> None:
    parsed = parse_query(query)
    assert parsed.terms == terms
    assert parsed.skipped == skipped


def test_long_chinese_query_spreads_32_windows_evenly_from_start_to_end() -> None:
    text = "".join(chr(0x4E00 + at) for at in range(300))
    terms = parse_query(text).terms
    assert len(terms) == MOST_WINDOWS
    assert terms[0] == text[:3]
    assert terms[-1] == text[-3:]
    gaps = [text.index(b) - text.index(a) for a, b in itertools.pairwise(terms)]
    assert max(gaps) - min(gaps) <= 1


def test_composed_and_decomposed_forms_are_one_query() -> None:
    assert parse_query("cafe\u0301 menu") == parse_query("caf\u00e9 menu")


@given(st.text(max_size=200))
@example('NEAR( "a b" * ^ : - AND OR NOT {path} : x')
@example("\x00\x00abc\x00")
@example("a" * 10_000)
@settings(max_examples=300)
def test_no_query_text_can_raise_an_fts5_error(query: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='trigram')")
    connection.execute("INSERT INTO t VALUES ('some body text to be matched')")
    parsed = parse_query(query.encode("utf-8", "replace").decode())
    if parsed.terms:
        connection.execute("SELECT rowid FROM t WHERE t MATCH ?", (parsed.match_expression,))
    for term in parsed.terms:
        assert len(term) >= 3
    assert all(0 < len(word) < 3 for word in parsed.skipped)
    assert sum(not term.isascii() for term in parsed.terms) <= MOST_WINDOWS


def test_a_ten_kilobyte_query_gives_terms_that_sqlite_takes() -> None:
    query = " ".join(f"word{at}" for at in range(1_500))
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='trigram')")
    connection.execute("INSERT INTO t VALUES ('the last is word1499')")
    rows = connection.execute(
        "SELECT rowid FROM t WHERE t MATCH ?", (parse_query(query).match_expression,)
    ).fetchall()
    assert rows == [(1,)]
