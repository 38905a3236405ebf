"""The scan that finds words too short for trigrams, when a query has no others."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memcli.index.text_folding import fts_text, trigram_fold

_COLUMNS = ("path", "title", "heading", "body")
_SCAN = """
    SELECT f.rowid, u.ordinal, f.path, f.title, f.heading, f.body
    FROM search_units_fts f JOIN search_units u ON u.revision_id = ? AND u.unit_rowid = f.rowid
"""
_ANY_COLUMN = "(f.path || char(10) || f.title || char(10) || f.heading || char(10) || f.body)"


@dataclass(frozen=True, slots=True)
class _Found:
    unit_rowid: int
    ordinal: int
    words: int
    column: int


def scan_words(
    connection: sqlite3.Connection, revision_id: str, words: Sequence[str], limit: int
) -> list[int]:
    """Rowids of the units that hold any of ``words``, best first.

    An ASCII word counts as a whole word (no ASCII letter, digit or ``_`` beside
    it), any other as a substring; case is folded as FTS5 does. Ranked by the number of
    distinct words, the best column that holds one (path, title, heading, body),
    and unit order.
    """
    patterns = [_pattern(word) for word in dict.fromkeys(map(_folded, words)) if word]
    if not patterns:
        return []
    found = sorted(
        _matches(connection, revision_id, words, patterns),
        key=lambda each: (-each.words, each.column, each.ordinal),
    )
    return [each.unit_rowid for each in found[:limit]]


def _pattern(word: str) -> re.Pattern[str]:
    quoted = re.escape(word)
    return re.compile(rf"(?<![0-9a-z_]){quoted}(?![0-9a-z_])" if word.isascii() else quoted)


def _matches(
    connection: sqlite3.Connection,
    revision_id: str,
    words: Sequence[str],
    patterns: Sequence[re.Pattern[str]],
) -> Iterator[_Found]:
    condition, parameters = _prefilter(words)
    rows = connection.execute(_SCAN + condition, (revision_id, *parameters))
    for rowid, ordinal, *columns in rows:
        folded = [trigram_fold(column) for column in columns]
        holding = [
            [at for at, text in enumerate(folded) if pattern.search(text)] for pattern in patterns
        ]
        matched = [columns_with[0] for columns_with in holding if columns_with]
        if matched:
            yield _Found(rowid, ordinal, len(matched), min(matched))


def _folded(word: str) -> str:
    return trigram_fold(fts_text(word))


def _prefilter(words: Sequence[str]) -> tuple[str, list[str]]:
    """A condition that SQLite checks far faster than Python, where it can miss nothing.

    LIKE ignores the case of ASCII letters only, so that it serves words whose
    other characters have no case. Of those that fold into ASCII, NFC leaves one:
    the long s.
    """
    folded = [_folded(word) for word in words]
    if any(not each.isascii() and each.lower() != each.upper() for word in folded for each in word):
        return "", []
    wanted = [re.sub(r"([\\%_])", r"\\\1", word) for word in folded]
    if any("s" in word for word in folded):
        wanted.append("\u017f")
    tests = " OR ".join(rf"{_ANY_COLUMN} LIKE ? ESCAPE '\'" for _ in wanted)
    return f"WHERE {tests}", [f"%{word}%" for word in wanted]
