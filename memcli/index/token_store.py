"""The derived store that keeps token vectors beside the index, up to a size."""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from memcli.index.connection import open_to_read, open_to_write
from memcli.index.embedding import Float32
from memcli.index.faults import is_damage
from memcli.index.storage import with_sidecars
from memcli.index.token_vectors import Codes, decode_token_vectors
from memcli.locations import private_file
from memcli.sqlite_files import transaction, user_version

STORE_VERSION = 1

_TABLES = (
    """CREATE TABLE token_vectors (
        input_hash TEXT NOT NULL, embedding_revision TEXT NOT NULL, token_count INTEGER NOT NULL,
        codes BLOB NOT NULL, scales BLOB NOT NULL, checksum INTEGER NOT NULL,
        PRIMARY KEY (input_hash, embedding_revision))""",
    # Models that give no token vectors, so that no build asks them again.
    "CREATE TABLE token_vector_absences (embedding_revision TEXT PRIMARY KEY)",
)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class TokenCodes:
    """A passage's encoded token vectors, with the key they are stored under."""

    input_hash: str
    embedding_revision: str
    codes: Codes
    scales: Float32

    @property
    def size(self) -> int:
        return self.codes.nbytes + self.scales.nbytes


class TokenVectorStore:
    """The builder's view. One process writes: the one that holds the build lock.

    A damaged or other-versioned file is deleted and made anew whenever that is
    noticed, for everything in it can be computed again.
    """

    def __init__(self, path: Path, limit_bytes: int) -> None:
        self._path = path
        self.limit_bytes = limit_bytes
        self._connection = _opened(path) or _created(path)

    def close(self) -> None:
        self._connection.close()

    def _run(self, action: Callable[[sqlite3.Connection], Result]) -> Result:
        try:
            return action(self._connection)
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
        self._connection.close()
        self._connection = _created(self._path)
        return action(self._connection)

    @property
    def used_bytes(self) -> int:
        """The size of the file without its free pages."""
        return self._run(_used_bytes)

    def held(self, embedding_revision: str) -> set[str]:
        """Input hashes whose token vectors are stored."""
        rows = self._run(
            lambda connection: connection.execute(
                "SELECT input_hash FROM token_vectors WHERE embedding_revision = ?",
                (embedding_revision,),
            ).fetchall()
        )
        return {input_hash for (input_hash,) in rows}

    def put(self, passages: Sequence[TokenCodes]) -> int:
        """Store those that fit, in order, and say how many did."""
        room = self.limit_bytes - self.used_bytes
        rows = []
        for passage in passages:
            room -= passage.size
            if room < 0:
                break
            rows.append(_row(passage))
        self._write("INSERT OR REPLACE INTO token_vectors VALUES (?, ?, ?, ?, ?, ?)", rows)
        return len(rows)

    def drop_unreferenced(self, referenced: Iterable[tuple[str, str]]) -> int:
        """Drop all but these (input hash, embedding revision); say how many were dropped."""
        wanted = set(referenced)
        return self._drop([key for key in self._keys() if key not in wanted])

    def drop_damaged(self) -> int:
        """Drop rows whose checksum is wrong; reads everything."""

        def damaged(connection: sqlite3.Connection) -> list[tuple[str, str]]:
            rows = connection.execute(
                "SELECT token_count, codes, scales, checksum, input_hash, embedding_revision"
                " FROM token_vectors"
            )
            return [(row[4], row[5]) for row in rows if not _is_intact(*row[:4])]

        return self._drop(self._run(damaged))

    def _keys(self) -> list[tuple[str, str]]:
        return self._run(
            lambda connection: connection.execute(
                "SELECT input_hash, embedding_revision FROM token_vectors"
            ).fetchall()
        )

    def _drop(self, keys: Sequence[tuple[str, str]]) -> int:
        self._write(
            "DELETE FROM token_vectors WHERE input_hash = ? AND embedding_revision = ?", keys
        )
        return len(keys)

    def gives_none(self, embedding_revision: str) -> bool:
        """Whether the model was seen to give no token vectors."""
        rows = self._run(
            lambda connection: connection.execute(
                "SELECT 1 FROM token_vector_absences WHERE embedding_revision = ?",
                (embedding_revision,),
            ).fetchall()
        )
        return bool(rows)

    def note_absence(self, embedding_revision: str) -> None:
        """Remember that the model gives no token vectors."""
        self._write(
            "INSERT OR IGNORE INTO token_vector_absences VALUES (?)", [(embedding_revision,)]
        )

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        def write(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                connection.executemany(statement, rows)

        if rows:
            self._run(write)


def _used_bytes(connection: sqlite3.Connection) -> int:
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _row(passage: TokenCodes) -> tuple[str, str, int, bytes, bytes, int]:
    codes, scales = passage.codes.tobytes(), passage.scales.astype("<f4").tobytes()
    checksum = zlib.crc32(scales, zlib.crc32(codes))
    key = (passage.input_hash, passage.embedding_revision)
    return (*key, len(passage.scales), codes, scales, checksum)


def _opened(path: Path) -> sqlite3.Connection | None:
    """A connection to a usable store, or ``None``."""
    if not path.exists():
        return None
    try:
        with contextlib.closing(open_to_read(path)) as connection:
            if user_version(connection) != STORE_VERSION:
                return None
        return open_to_write(path)
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        return None


def _created(path: Path) -> sqlite3.Connection:
    for leftover in with_sidecars(path):
        leftover.unlink(missing_ok=True)
    connection = open_to_write(private_file(path))
    with transaction(connection):
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {STORE_VERSION}")
    return connection


def stored_token_vectors(
    path: Path, embedding_revision: str, input_hashes: Sequence[str]
) -> dict[str, Float32]:
    """Decoded token vectors, float32 [T, D], of those passages that are stored intact.

    An absent or damaged store holds none: the caller computes what is missing.
    """
    found: dict[str, Float32] = {}
    if not path.exists():
        return found
    try:
        with contextlib.closing(open_to_read(path)) as connection:
            if user_version(connection) != STORE_VERSION:
                return found
            for input_hash in input_hashes:
                row = connection.execute(
                    "SELECT token_count, codes, scales, checksum FROM token_vectors"
                    " WHERE input_hash = ? AND embedding_revision = ?",
                    (input_hash, embedding_revision),
                ).fetchone()
                if row is not None and _is_intact(*row):
                    found[input_hash] = _decoded(*row[:3])
    except sqlite3.Error as error:
        if not is_damage(error) and "unable to open" not in str(error):
            raise
    return found


def _is_intact(count: Any, codes: Any, scales: Any, checksum: Any) -> bool:
    """Whatever a damaged row may hold: SQLite keeps any type in any column."""
    if not (isinstance(count, int) and isinstance(codes, bytes) and isinstance(scales, bytes)):
        return False
    whole = count > 0 and len(scales) == 4 * count and len(codes) % count == 0
    return whole and zlib.crc32(scales, zlib.crc32(codes)) == checksum


def _decoded(count: int, codes: bytes, scales: bytes) -> Float32:
    return decode_token_vectors(
        np.frombuffer(codes, dtype=np.uint8).reshape(count, -1),
        np.frombuffer(scales, dtype="<f4"),
    )
