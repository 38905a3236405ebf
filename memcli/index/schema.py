"""How the file of a project's search index comes into being, and which schemas are refused."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memcli.errors import Failure
from memcli.index.connection import open_to_write
from memcli.index.faults import index_damaged, is_damage
from memcli.index.storage import with_sidecars
from memcli.index.tables import (
    CACHE_COLUMNS,
    CREATE_FTS,
    HEAD_COLUMNS,
    INDEXES,
    RESOURCE_COLUMNS,
    REVISION_COLUMNS,
    SCHEMA_VERSION,
    UNIT_COLUMNS,
)
from memcli.locations import private_file, sync_directory, temporary_beside
from memcli.sqlite_files import user_version

if TYPE_CHECKING:
    from sqlite_utils import Database


def open_index(path: Path) -> sqlite3.Connection:
    """Open the index to write, created when absent.

    Raises ``Failure`` ``store_too_new``, and ``NotReady`` ``index_damaged`` for
    an older or damaged file, which the caller may then replace.
    """
    if not path.exists():
        create_index(path)
    try:
        connection = open_to_write(path)
    except sqlite3.Error as error:
        if is_damage(error):
            raise index_damaged(str(error)) from error
        raise
    try:
        check_version(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def check_version(connection: sqlite3.Connection) -> None:
    """Refuse a newer index, report an older one as damaged: it is rebuilt, never migrated."""
    version = user_version(connection)
    if version > SCHEMA_VERSION:
        raise Failure(
            "store_too_new",
            f"the search index has schema {version}; this memcli knows {SCHEMA_VERSION}",
            "Upgrade memcli, or delete .memcli/search-index.sqlite and build again.",
        )
    if version < SCHEMA_VERSION:
        raise index_damaged(f"it has schema {version} instead of {SCHEMA_VERSION}")


def create_index(
    path: Path, fill: Callable[[sqlite3.Connection], None] = lambda connection: None
) -> None:
    """Put an index with no revisions at ``path``, replacing any file there in one step.

    It is made beside, given to ``fill`` and renamed, so that no reader ever
    sees half a schema.
    """
    temporary = private_file(temporary_beside(path))
    try:
        connection = open_to_write(temporary)
        try:
            _create_tables(connection)
            fill(connection)
        finally:
            connection.close()
        # A log left by the file that is replaced would be played into the new one.
        for leftover in with_sidecars(path)[1:]:
            leftover.unlink(missing_ok=True)
        os.replace(temporary, path)
    finally:
        for leftover in with_sidecars(temporary):
            with contextlib.suppress(FileNotFoundError):
                leftover.unlink()
    sync_directory(path.parent)


def _create_tables(connection: sqlite3.Connection) -> None:
    database = utilities(connection)
    with database.atomic():
        database.table("search_revisions").create(
            REVISION_COLUMNS, pk="revision_id", not_null={"status", "effective_hash", "recipe"}
        )
        database.table("search_heads").create(HEAD_COLUMNS, pk="slot")
        database.table("search_resources").create(
            RESOURCE_COLUMNS,
            pk=("revision_id", "resource_id"),
            not_null=set(RESOURCE_COLUMNS) - {"description_line", "first_heading"},
        )
        database.table("search_units").create(
            UNIT_COLUMNS,
            pk=("revision_id", "unit_rowid"),
            not_null=set(UNIT_COLUMNS) - {"start_char", "end_char", "vector"},
        )
        database.table("search_vector_cache").create(
            CACHE_COLUMNS,
            pk=("input_hash", "embedding_revision"),
            not_null=set(CACHE_COLUMNS),
        )
        for table, columns, unique in INDEXES:
            database.table(table).create_index(columns, unique=unique)
        connection.execute(CREATE_FTS)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def utilities(connection: sqlite3.Connection) -> Database:
    """sqlite-utils over an open connection; imported late, since readers do without it."""
    from sqlite_utils import Database

    return Database(connection, recursive_triggers=False, execute_plugins=False)


def insert_rows(
    connection: sqlite3.Connection,
    table: str,
    columns: dict[str, type],
    rows: list[tuple[Any, ...]],
) -> None:
    """Insert ``rows``, given in the order of ``columns``, inside the caller's transaction."""
    if rows:
        utilities(connection).table(table).insert_all([tuple(columns), *rows])
