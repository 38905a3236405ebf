"""A digest in every row of the index, by which a reader knows that the row is what a build wrote.

SQLite has no checksums: a bit that flips on the disk is served as it is. The
digest covers every column but a body, which has its SHA-256 beside it, and the
token counts of a revision, which end with a digest of their own. It is no
protection from a person, who can compute it as well.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from memcli.index.tables import COLUMNS
from memcli.interrupts import called_by_sqlite

DIGEST_BYTES = 8
DIGEST = "row_digest"
_UNCOVERED = frozenset((DIGEST, "body", "document_frequencies", "fts_content", "fts_index"))
COVERED = {
    table: tuple(name for name in columns if name not in _UNCOVERED)
    for table, columns in COLUMNS.items()
    if DIGEST in columns
}
_BODIES = "SELECT count(*) FROM search_resources WHERE body_sha256 IS NOT text_sha256(body)"


def packed(values: Sequence[Any]) -> bytes:
    """Values of SQLite's types as bytes, other values as others; never raises for those."""
    if type(values[-1]) is bytes:  # a vector, nearly always: no need to turn it into text
        return orjson.dumps(values[:-1], default=bytes.hex) + values[-1]
    return orjson.dumps(values, default=bytes.hex)


@called_by_sqlite
def row_digest(*values: Any) -> bytes:
    """The first 8 bytes of SHA-256 over the values in order."""
    return hashlib.sha256(packed(values)).digest()[:DIGEST_BYTES]


@called_by_sqlite
def _text_sha256(text: Any) -> str | None:
    return hashlib.sha256(text.encode()).hexdigest() if isinstance(text, str) else None


def define_digests(connection: sqlite3.Connection) -> None:
    """Let SQL of this connection call ``row_digest`` and ``text_sha256``."""
    connection.create_function(DIGEST, -1, row_digest, deterministic=True)
    connection.create_function("text_sha256", 1, _text_sha256, deterministic=True)


def digest_of(table: str, row: dict[str, Any]) -> bytes:
    """The digest for a new row, given by column."""
    return row_digest(*(row[name] for name in COVERED[table]))


def is_whole(table: str, alias: str) -> str:
    """An SQL expression: whether the row is as it was sealed."""
    return f"{alias}.{DIGEST} IS {computed(table, alias)}"


def seal(table: str, condition: str) -> str:
    """An SQL statement that gives rows the digest of what they hold now."""
    return f"UPDATE {table} SET {DIGEST} = {computed(table, table)} WHERE {condition}"


def computed(table: str, alias: str) -> str:
    """An SQL expression: the digest of what the row holds now."""
    return f"{DIGEST}({', '.join(f'{alias}.{name}' for name in COVERED[table])})"


def damaged_rows(connection: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with the rows, in phrases; walks the tables themselves, not their indexes."""
    for table in COVERED:
        condition = f"NOT ({is_whole(table, 'it')})"
        if table == "search_revisions":
            condition += f" AND (it.{DIGEST} IS NOT NULL OR it.status = 'ready')"
        statement = f"SELECT count(*) FROM {table} AS it NOT INDEXED WHERE {condition}"
        if found := connection.execute(statement).fetchone()[0]:
            yield f"{found} rows of {table} are not what was written"
    if found := connection.execute(_BODIES).fetchone()[0]:
        yield f"{found} bodies are not what was indexed"


def signed(blob: bytes) -> bytes:
    """A blob with its digest behind it."""
    return blob + row_digest(blob)


def unsigned(blob: Any) -> bytes | None:
    """What ``signed`` was given; ``None`` where that is not what is there."""
    if not isinstance(blob, bytes) or len(blob) < DIGEST_BYTES:
        return None
    content = blob[:-DIGEST_BYTES]
    return content if blob == signed(content) else None
