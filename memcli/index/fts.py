"""The full-text table: it holds the head's rows only, exchanged inside the swap transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import orjson

from memcli.index.schema import CREATE_FTS
from memcli.index.text_folding import fts_text

WEIGHTS = {"path": 8, "title": 6, "heading": 4, "body": 1}
BM25 = "bm25(search_units_fts, 0.0, 0.0, 8.0, 6.0, 4.0, 1.0)"

_ROWIDS = "SELECT unit_rowid FROM search_units WHERE revision_id = ?"
_ROWS = """
    SELECT u.unit_rowid, u.unit_key, r.path, r.title, u.heading_path, u.text
    FROM search_units u JOIN search_resources r USING (revision_id, resource_id)
    WHERE u.revision_id = ?
"""
_INSERT = """
    INSERT INTO search_units_fts (rowid, revision_id, unit_key, path, title, heading, body)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_TOLD_EVERY = 500

Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class LexicalRow:
    """What the full-text table holds of a unit."""

    unit_rowid: int
    unit_key: str
    path: str
    title: str
    heading: str
    body: str


def lexical_rows(connection: sqlite3.Connection, revision_id: str) -> Iterator[LexicalRow]:
    """All rows of a revision in unit order."""
    for row in connection.execute(f"{_ROWS} ORDER BY u.ordinal", (revision_id,)):
        yield _row(row)


def lexical_row(connection: sqlite3.Connection, revision_id: str, unit_rowid: int) -> LexicalRow:
    found = connection.execute(f"{_ROWS} AND u.unit_rowid = ?", (revision_id, unit_rowid))
    return _row(found.fetchone())


def _row(row: tuple[int, str, str, str, str, str]) -> LexicalRow:
    rowid, key, path, title, heading_path, text = row
    heading = " > ".join(orjson.loads(heading_path))
    return LexicalRow(rowid, key, *(fts_text(each) for each in (path, title, heading, text)))


def exchange_rows(
    connection: sqlite3.Connection,
    old: str | None,
    new: str,
    told: Told = lambda done, total: None,
    anew: bool = False,
) -> None:
    """Make the full-text table hold the units of ``new`` instead of those of ``old``.

    Runs in the caller's transaction. Rows of equal rowid are equal, so only the
    others are exchanged; when that is most of the table, it is made anew, as it
    is on demand (``anew``), which relies on nothing that the table holds.
    """
    wanted = {rowid for (rowid,) in connection.execute(_ROWIDS, (new,))}
    present = {rowid for (rowid,) in connection.execute(_ROWIDS, (old,))}
    few_stay = len(wanted & present) * 2 < max(len(wanted), len(present))
    if anew or few_stay or _row_count(connection) != len(present):
        present = set()
        _recreate(connection)
    connection.executemany(
        "DELETE FROM search_units_fts WHERE rowid = ?", [(rowid,) for rowid in present - wanted]
    )
    missing = sorted(wanted - present)
    rows = (
        lexical_rows(connection, new)
        if len(missing) == len(wanted)
        else (lexical_row(connection, new, rowid) for rowid in missing)
    )
    connection.executemany(_INSERT, _told(rows, new, len(missing), told))
    _stamp(connection, new)


def _told(
    rows: Iterator[LexicalRow], revision_id: str, total: int, told: Told
) -> Iterator[tuple[int, str, str, str, str, str, str]]:
    for done, row in enumerate(rows):
        if done % _TOLD_EVERY == 0:
            told(done, total)
        yield (
            row.unit_rowid, revision_id, row.unit_key, row.path, row.title, row.heading, row.body
        )  # fmt: skip
    told(total, total)


def holds(connection: sqlite3.Connection, revision_id: str, unit_count: int) -> bool:
    """Whether the table has as many rows as the revision has units, and they are its own."""
    stamped = connection.execute("SELECT revision_id FROM search_units_fts LIMIT 1").fetchone()
    return _row_count(connection) == unit_count and stamped in (None, (revision_id,))


def _row_count(connection: sqlite3.Connection) -> int:
    count: int = connection.execute("SELECT count(*) FROM search_units_fts_docsize").fetchone()[0]
    return count


def _recreate(connection: sqlite3.Connection) -> None:
    connection.execute("DROP TABLE search_units_fts")
    connection.execute(CREATE_FTS)


def _stamp(connection: sqlite3.Connection, revision_id: str) -> None:
    """Name the new revision in rows that were kept.

    ``revision_id`` is UNINDEXED: it is in the content table (as ``c0``) and in no
    index, and changing it there saves tokenising each kept row twice. A SQLite
    in defensive mode forbids that, and takes the long way.
    """
    try:
        connection.execute(
            "UPDATE search_units_fts_content SET c0 = ?1 WHERE c0 <> ?1", (revision_id,)
        )
    except sqlite3.OperationalError as error:
        if "may not be modified" not in str(error):
            raise
        connection.execute(
            "UPDATE search_units_fts SET revision_id = ?1 WHERE revision_id <> ?1", (revision_id,)
        )
