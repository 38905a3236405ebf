"""The scan that finds words too short for trigrams, when a query has no others."""

from __future__ import annotations

import sqlite3
import string
from collections.abc import Iterator, Sequence

from memcli.index.faults import index_damaged
from memcli.index.fts_digests import ROWS, ContentDigest, kept_content_digest
from memcli.index.text_folding import fts_text, trigram_fold

_INSIDE = frozenset(string.ascii_lowercase + string.digits + "_")
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
    digest, kept = ContentDigest(), kept_content_digest(connection)
    for row in connection.execute(ROWS):
        digest.add(row)
        rowid, *columns = row
        if not all(isinstance(column, str) for column in columns):
            raise index_damaged("the full-text table holds something else than text")
        # No word holds a line feed, so that none is found over the edge of a column.
        whole = trigram_fold("\n".join(columns))
        if not any(word in whole for word in words):
            continue
        texts = [trigram_fold(column) for column in columns]
        best = [
            next((at for at, text in enumerate(texts) if _holds(text, word)), None)
            for word in words
        ]
        columns_with = [at for at in best if at is not None]
        if columns_with:
            yield rowid, len(columns_with), min(columns_with)
    if kept not in (None, digest.digest):
        raise index_damaged("the rows of the full-text table are not what was written")


def _holds(text: str, word: str) -> bool:
    if not word.isascii():
        return word in text
    # A pattern with a look-behind would be tried at every character.
    at = text.find(word)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(word) : at + len(word) + 1]
        if before not in _INSIDE and after not in _INSIDE:
            return True
        at = text.find(word, at + 1)
    return False
