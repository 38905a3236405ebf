"""What is stored at one moment, in a form that is equal wherever the same work was done."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from soaking.ground import QUERIES, Ground, answer_of

Rows = frozenset[tuple[Any, ...]]
Answers = tuple[Any, ...]

# When something was done says nothing about whether it was done.
_TIMES = frozenset({"created_at", "completed_at", "applied_at", "timings_us"})
_CHANGING = frozenset({"updated_at", "last_seen", "process", "process_id"})
SCORES = frozenset(
    {
        *("bm25_score", "vector_score", "rrf_score", "rerank_score"),
        *("relevance", "final_score", "scores"),
    }
)
_IDS = ("run_id", "case_id")
_OWN_IDS = frozenset({"project_id", "revision_id"})
_OF_ONE_BUILD = ("revision_id", "unit_rowid", "vector", "row_digest")

# Digests are over ids and times too; whoever reads the rows verifies them.
_TABLES = """
SELECT name FROM sqlite_master
WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '%_digests'
"""
_READY = "SELECT revision_id FROM search_revisions WHERE status = 'ready'"
_RESOURCES = "SELECT * FROM search_resources WHERE revision_id = ? ORDER BY ordinal"
_UNITS = "SELECT * FROM search_units WHERE revision_id = ? ORDER BY ordinal"


@dataclass(frozen=True, slots=True)
class Stored:
    """All that is stored, in a form that is equal where the same work was done.

    ``history`` holds the rows of every table, without times; ids that did not
    exist before are ``new``, and Runs among those that did not succeed are left
    out. ``head`` and ``ready`` are digests of revisions' content. ``answers``
    are the head's, or the code by which they were refused.
    """

    history: Mapping[str, Rows]
    ids: frozenset[str]
    head: str | None
    ready: frozenset[str]
    exports: Mapping[str, bytes]
    answers: Answers


def stored(
    files: Ground,
    asked: Ground,
    known: frozenset[str] | None = None,
    without: frozenset[str] = frozenset(),
) -> Stored:
    """Read all of it from ``files``, and ask the program in ``asked``.

    ``known`` are the ids that existed before; all that exist where not given.
    Columns and fields ``without`` are left out.
    """
    history, ids = _history(files.home / "local.db", known, without)
    head, ready = _index(files.index / "search-index.sqlite")
    exports = {
        path.name: path.read_bytes()
        for path in sorted(files.exports.glob("*"))
        if not path.name.endswith(".tmp")
    }
    return Stored(history, ids, head, ready, exports, _answers(asked, without))


def _answers(ground: Ground, without: frozenset[str]) -> Answers:
    asked = b"".join(orjson.dumps({"query": query}) + b"\n" for query in QUERIES)
    ended = ground.memcli("activate", "--queries", "-", "--no-record", "--json", given=asked)
    documents = [orjson.loads(line) for line in ended.out.splitlines()]
    if ended.status:
        return tuple(document.get("error", {}).get("code") for document in documents)
    return tuple(comparable_answer(answer_of(document), without) for document in documents)


def comparable_answer(answer: dict[str, Any], without: frozenset[str]) -> dict[str, Any]:
    """An answer without ids of one project or build, and its fragments without some fields."""
    state = {key: value for key, value in answer["state"].items() if key != "project_id"}
    kept = {key: value for key, value in answer.items() if key not in _OWN_IDS}
    fragments = [
        {key: value for key, value in fragment.items() if key not in without}
        for fragment in answer["fragments"]
    ]
    return kept | {"state": state, "fragments": fragments}


def _history(
    path: Path, known: frozenset[str] | None, without: frozenset[str]
) -> tuple[dict[str, Rows], frozenset[str]]:
    if not path.exists():
        return {}, frozenset()
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        rows = {
            name: [dict(row) for row in connection.execute(f"SELECT * FROM {name}")]
            for (name,) in connection.execute(_TABLES).fetchall()
        }
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    ids = frozenset(
        row[name] for each in rows.values() for row in each for name in _IDS if name in row
    )
    known = ids if known is None else known
    unfinished = {
        row["run_id"] for row in rows["retrieval_runs"] if row["status"] != "succeeded"
    } - known
    found = {
        name: frozenset(
            _comparable(row, known, without) for row in each if row.get("run_id") not in unfinished
        )
        for name, each in rows.items()
    }
    return {**found, "layout": frozenset({(version,)})}, ids


def _comparable(
    row: Mapping[str, Any], known: frozenset[str], without: frozenset[str]
) -> tuple[Any, ...]:
    of_row = [name for name in _IDS if name in row]
    was_there = bool(of_row) and all(row[name] in known for name in of_row)
    dropped = _CHANGING if was_there else _CHANGING | _TIMES | _OWN_IDS
    return tuple(
        (key, "new" if key in _IDS and value not in known else value)
        for key, value in sorted(row.items())
        if key not in dropped and key not in without
    )


def _index(path: Path) -> tuple[str | None, frozenset[str]]:
    if not path.exists() or not path.stat().st_size:
        return None, frozenset()
    with closing(sqlite3.connect(path)) as connection:
        ready = {row[0]: _content(connection, row[0]) for row in connection.execute(_READY)}
        head = connection.execute("SELECT head FROM search_heads").fetchone()
        if head is None or head[0] is None:
            return None, frozenset(ready.values())
        return ready.get(head[0], "a head that is not ready"), frozenset(ready.values())


def _content(connection: sqlite3.Connection, revision_id: str) -> str:
    digest = hashlib.sha256()
    for statement in (_RESOURCES, _UNITS):
        cursor = connection.execute(statement, (revision_id,))
        names = [column[0] for column in cursor.description]
        for row in cursor:
            values = dict(zip(names, row, strict=True))
            for name in _OF_ONE_BUILD:
                values.pop(name, None)
            digest.update(repr(sorted(values.items())).encode())
    return digest.hexdigest()


def changed(one: Stored, other: Stored) -> list[str]:
    """Names of tables that differ."""
    names = one.history.keys() | other.history.keys()
    return sorted(name for name in names if one.history.get(name) != other.history.get(name))


def difference(rows: Rows, of: Rows) -> str:
    """Where two sets of rows differ, in a few words."""
    more = sorted(rows - of, key=repr)
    return f"{len(more)} rows more, {len(of - rows)} fewer; {repr(more)[:300]}"
