"""The full-text table: it holds the head's rows only, exchanged inside the swap transaction.

Where much is to be exchanged, the new head's rows are put beside it first, in
short transactions: the swap then only drops the one table and renames the other.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import orjson

from memcli.index.tables import CREATE_FTS
from memcli.index.text_folding import fts_text
from memcli.sqlite_files import transaction

WEIGHTS = {"path": 8, "title": 6, "heading": 4, "body": 1}
BM25 = "bm25(search_units_fts, 0.0, 0.0, 8.0, 6.0, 4.0, 1.0)"

TABLE, BESIDE = "search_units_fts", "next_units_fts"

_ROWIDS = "SELECT unit_rowid FROM search_units WHERE revision_id = ?"
_ROWS = """
    SELECT u.unit_rowid, u.unit_key, r.path, r.title, u.heading_path, u.text
    FROM search_units u JOIN search_resources r USING (revision_id, resource_id)
    WHERE u.revision_id = ?
"""
_BATCH_OF_ROWS = f"{_ROWS} AND u.ordinal >= ? AND u.ordinal < ? ORDER BY u.ordinal"
_UNIT_COUNT = "SELECT count(*) FROM search_units WHERE revision_id = ?"
_INSERT = """
    INSERT INTO {} (rowid, revision_id, unit_key, path, title, heading, body)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_IS_THERE = "SELECT 1 FROM sqlite_master WHERE name = ?"
_TOLD_EVERY = 500
# Others may write between two batches; a row takes about a third of a millisecond.
_BATCH = 500
MANY = 2000
"""From so many rows on, a swap would keep other writers waiting for too long."""

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

    Runs in the caller's transaction. What ``put_beside`` has made is taken if it
    is whole. Else, rows of equal rowid being equal, only the others are exchanged;
    when that is most of the table, it is made anew, as it is on demand (``anew``),
    which relies on nothing that the table holds.
    """
    if _take_beside(connection, new):
        told(1, 1)
        return
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
    connection.executemany(_INSERT.format(TABLE), _told(rows, new, len(missing), told))
    _stamp(connection, new)


def is_much(connection: sqlite3.Connection, old: str | None, new: str, anew: bool) -> bool:
    """Whether to exchange the rows would take long, so that they had better be put beside."""
    wanted = {rowid for (rowid,) in connection.execute(_ROWIDS, (new,))}
    if anew:
        return len(wanted) >= MANY
    present = {rowid for (rowid,) in connection.execute(_ROWIDS, (old,))}
    exchanged = len(wanted ^ present)
    return exchanged >= MANY and exchanged * 4 > len(wanted)


def put_beside(connection: sqlite3.Connection, revision_id: str, told: Told) -> None:
    """Make the table that ``exchange_rows`` will take, in short transactions of its own.

    The caller sees to it that nobody else does the same.
    """
    drop_beside(connection)
    with transaction(connection):
        connection.execute(CREATE_FTS.replace(TABLE, BESIDE))
    total = _unit_count(connection, revision_id)
    for first in range(0, total, _BATCH):
        told(first, total)
        # Read to its end: a statement at work would hold a snapshot that forbids to write.
        rows = connection.execute(_BATCH_OF_ROWS, (revision_id, first, first + _BATCH)).fetchall()
        with transaction(connection):
            connection.executemany(
                _INSERT.format(BESIDE), (_values(_row(row), revision_id) for row in rows)
            )
    told(total, total)


def drop_beside(connection: sqlite3.Connection) -> None:
    """Remove what an earlier ``put_beside`` left."""
    if connection.execute(_IS_THERE, (BESIDE,)).fetchone():
        with transaction(connection):
            connection.execute(f"DROP TABLE IF EXISTS {BESIDE}")


def _take_beside(connection: sqlite3.Connection, revision_id: str) -> bool:
    if connection.execute(_IS_THERE, (BESIDE,)).fetchone() is None:
        return False
    if not _is_whole(connection, BESIDE, revision_id, _unit_count(connection, revision_id)):
        return False
    connection.execute(f"DROP TABLE {TABLE}")
    connection.execute(f"ALTER TABLE {BESIDE} RENAME TO {TABLE}")
    return True


def _told(
    rows: Iterator[LexicalRow], revision_id: str, total: int, told: Told
) -> Iterator[tuple[int, str, str, str, str, str, str]]:
    for done, row in enumerate(rows):
        if done % _TOLD_EVERY == 0:
            told(done, total)
        yield _values(row, revision_id)
    told(total, total)


def _values(row: LexicalRow, revision_id: str) -> tuple[int, str, str, str, str, str, str]:
    key, path = row.unit_key, row.path
    return row.unit_rowid, revision_id, key, path, row.title, row.heading, row.body


def holds(connection: sqlite3.Connection, revision_id: str, unit_count: int) -> bool:
    """Whether the table has as many rows as the revision has units, and they are its own."""
    return _is_whole(connection, TABLE, revision_id, unit_count)


def _is_whole(
    connection: sqlite3.Connection, table: str, revision_id: str, unit_count: int
) -> bool:
    stamped = connection.execute(f"SELECT revision_id FROM {table} LIMIT 1").fetchone()
    return _row_count(connection, table) == unit_count and stamped in (None, (revision_id,))


def _unit_count(connection: sqlite3.Connection, revision_id: str) -> int:
    count: int = connection.execute(_UNIT_COUNT, (revision_id,)).fetchone()[0]
    return count


def _row_count(connection: sqlite3.Connection, table: str = TABLE) -> int:
    count: int = connection.execute(f"SELECT count(*) FROM {table}_docsize").fetchone()[0]
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
