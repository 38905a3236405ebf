"""Opens the central store: created on the first write, migrated once, refused when unsound.

Readers open read-only, run no DDL and take no write lock. The one exception is
a store of an older layout, which whatever command comes first brings up.
Creation and migration happen under ``local.db.lock``; a new store is built
under another name and renamed, so that no half-made one is ever seen.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from memcli.errors import Failure
from memcli.history.blobs import BlobStore
from memcli.history.clocks import stamp
from memcli.history.damage import BUSY, damaged, reporting_faults, require_sound_file, too_new
from memcli.history.locks import file_lock
from memcli.history.migrations import RECORD, climb
from memcli.history.schema import SCHEMA_VERSION, create_layout
from memcli.locations import private_directory, private_file, sync_directory, temporary_beside
from memcli.sqlite_files import connect, transaction, user_version

STORE_FILE = "local.db"
LOCK_FILE = "local.db.lock"
CORPORA_DIRECTORY = "evaluation-corpora"


@dataclass(frozen=True, slots=True)
class HistoryStore:
    """The central store in ``home``. ``lock_wait_seconds`` bounds every wait for another process.

    ``now`` gives the moments that are stored.
    """

    home: Path
    now: Callable[[], datetime]
    lock_wait_seconds: float = 30.0

    @property
    def path(self) -> Path:
        return self.home / STORE_FILE

    @property
    def blobs(self) -> BlobStore:
        return BlobStore(self.home / CORPORA_DIRECTORY, self.lock_wait_seconds)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """A read-only connection, or ``None`` where no store was made yet.

        Raises:
            Conflict: ``busy``.
            Failure: ``store_damaged``, ``store_too_new``.
        """
        with reporting_faults(self.path):
            connection = self._open_to_read()
            if connection is None:
                yield None
                return
            with closing(connection):
                yield connection

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """A connection that can write, for use with :func:`transaction`; makes the store if needed.

        ``durable`` commits survive a power loss; others may be lost by one, but
        never in part.

        Raises:
            Conflict: ``busy``.
            Failure: ``store_damaged``, ``store_too_new``, ``history_write_failed``.
        """
        with (
            reporting_faults(self.path),
            closing(self.open_to_write(durable=durable)) as connection,
        ):
            yield connection

    def open_to_write(self, *, durable: bool) -> sqlite3.Connection:
        """What :meth:`writing` gives, for a caller who closes it and turns errors himself."""
        try:
            private_directory(self.home)
            if not require_sound_file(self.path):
                self._create()
        except OSError as error:
            raise Failure(
                "history_write_failed",
                f"the history in {self.path} cannot be made: {error.strerror or error}",
                "Set MEMCLI_HOME to a directory that can be written.",
            ) from error
        connection = self._connect_to_current_layout(self._connect_to_write)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        return connection

    def _open_to_read(self) -> sqlite3.Connection | None:
        if not require_sound_file(self.path):
            return None
        connection = self._connect_to_current_layout(self._connect_to_read)
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _connect_to_current_layout(
        self, connect: Callable[[], sqlite3.Connection]
    ) -> sqlite3.Connection:
        """Connect, and migrate an older store first."""
        connection = connect()
        try:
            version = user_version(connection)
            if 0 < version < SCHEMA_VERSION:
                connection.close()
                self._migrate(version)
                connection = connect()
                version = user_version(connection)
            if version == 0:
                raise damaged(self.path, "is an SQLite database, but none that memcli made")
            if version > SCHEMA_VERSION:
                raise too_new(self.path, version, SCHEMA_VERSION)
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, version: int) -> None:
        try:
            with file_lock(self.home / LOCK_FILE, wait_seconds=self.lock_wait_seconds):
                self._remove_leftovers()
                climb(self.path, self.now, self.lock_wait_seconds)
        except OSError as error:
            raise Failure(
                "history_write_failed",
                f"the history in {self.path} has layout {version} and cannot be brought to"
                f" {SCHEMA_VERSION}: {error.strerror or error}",
                "Check the rights of its directory and the free space. Nothing was changed.",
            ) from error

    def _create(self) -> None:
        with file_lock(self.home / LOCK_FILE, wait_seconds=self.lock_wait_seconds):
            if require_sound_file(self.path):
                return
            self._remove_leftovers()
            temporary = private_file(temporary_beside(self.path))
            with closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
                with transaction(connection):
                    create_layout(connection)
                    connection.execute(RECORD, (SCHEMA_VERSION, "created", stamp(self.now())))
                    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                connection.execute("PRAGMA journal_mode = WAL")
            temporary.replace(self.path)
            sync_directory(self.home)

    def _remove_leftovers(self) -> None:
        """Under ``local.db.lock``, nobody is at work on these half-made stores and copies."""
        for leftover in self.home.glob(f".{STORE_FILE}.*.tmp*"):
            leftover.unlink(missing_ok=True)

    def _connect(self, mode: Literal["ro", "rw"], *, immutable: bool = False) -> sqlite3.Connection:
        connection = connect(self.path, mode, self.lock_wait_seconds, immutable=immutable)
        connection.row_factory = sqlite3.Row
        # Text that is none any more is damage to its row, which a digest tells: not to the store.
        connection.text_factory = _readable
        return connection

    def _connect_to_write(self) -> sqlite3.Connection:
        return self._connect("rw")

    def _connect_to_read(self) -> sqlite3.Connection:
        """Read-only, also where SQLite may not make its ``-shm`` beside the file.

        ``immutable`` would miss what is still in a journal, so it is the last
        resort, for a store without one in a directory that nobody here can write.
        """
        connection = self._connect("ro")
        try:
            user_version(connection)
        except sqlite3.OperationalError as error:
            connection.close()
            wal = self.path.with_name(self.path.name + "-wal")
            is_busy = any(phrase in str(error) for phrase in BUSY)
            if is_busy or (wal.exists() and wal.stat().st_size):
                raise
            return self._connect("ro", immutable=True)
        except BaseException:
            connection.close()
            raise
        return connection


def _readable(data: bytes) -> str:
    return data.decode("utf-8", "replace")
