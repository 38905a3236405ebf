"""The scan that finds words too short for trigrams, when a query has no others."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence

from memcli.index.text_folding import fts_text, trigram_fold

# Best column first.
_ROWS = "SELECT rowid, path, title, heading, body FROM search_units_fts"
_UNIT_ORDER = "SELECT unit_rowid FROM search_units WHERE revision_id = ? ORDER BY ordinal"


def scan_words(
    connection: sqlite3.Connection, revision_id: str, words: Sequence[str], limit: int
) -> list[int]:
    """Rowids of the units that hold any of ``words``, best first.

    An ASCII word counts as a whole word (no ASCII letter, digit or ``_`` beside
    it), any other as a substring; case is folded as FTS5 does. Ranked by the
    number of distinct words, the best column that holds one (path, title,
    heading, body), and unit order.
    """
    folded = list(dict.fromkeys(trigram_fold(fts_text(word)) for word in words if word))
    if not folded:
        return []
    found = {rowid: (-matched, column) for rowid, matched, column in _matches(connection, folded)}
    if not found:
        return []
    in_order = [rowid for (rowid,) in connection.execute(_UNIT_ORDER, (revision_id,))]
    # Sorting is stable, so that equals stay in unit order.
    ranked = sorted((rowid for rowid in in_order if rowid in found), key=found.__getitem__)
    return ranked[:limit]


def _matches(
    connection: sqlite3.Connection, words: Sequence[str]
) -> Iterator[tuple[int, int, int]]:
    """(rowid, distinct words found, number of the best column that holds one)."""
    tests = [(word, _whole_word(word) if word.isascii() else None) for word in words]
    for rowid, *columns in connection.execute(_ROWS):
        texts = [trigram_fold(column) for column in columns]
        best = [
            next(
                # The plain test is far cheaper than the pattern, and mostly says no.
                (at for at, text in enumerate(texts)
                 if word in text and (pattern is None or pattern.search(text))),
                None,
            )
            for word, pattern in tests
        ]  # fmt: skip
        columns_with = [at for at in best if at is not None]
        if columns_with:
            yield rowid, len(columns_with), min(columns_with)


def _whole_word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![0-9a-z_]){re.escape(word)}(?![0-9a-z_])")
