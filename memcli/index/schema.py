"""The tables of a project's search index, schema 7, and how the file comes into being."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memcli.errors import Failure
from memcli.index.connection import open_to_write, user_version
from memcli.index.faults import index_damaged, is_damage
from memcli.index.storage import with_sidecars
from memcli.locations import private_file, sync_directory

if TYPE_CHECKING:
    from sqlite_utils import Database

SCHEMA_VERSION = 7

REVISION_COLUMNS: dict[str, type] = {
    "revision_id": str,
    "status": str,
    "effective_hash": str,
    "recipe_hash": str,
    "recipe": str,
    "embedding_revision": str,
    "dimension": int,
    "resource_count": int,
    "unit_count": int,
    "token_count": int,
    "created_at": str,
    "ready_at": str,
    "error_code": str,
    "error": str,
    "kept": int,
    "builder_pid": int,
    "builder_host": str,
    "document_frequencies": bytes,
}
"""``status`` is building, ready or failed. ``document_frequencies``: sorted int32 token ids,
then as many int32 counts of units that hold them, little endian."""

HEAD_COLUMNS: dict[str, type] = {
    "slot": int,
    "head": str,
    "previous": str,
    "changed_at": str,
}

RESOURCE_COLUMNS: dict[str, type] = {
    "revision_id": str,
    "ordinal": int,
    "resource_id": str,
    "scope": str,
    "kind": str,
    "path": str,
    "title": str,
    "description": str,
    "body_sha256": str,
    "resource_hash": str,
    "body_first_line": int,
    "description_line": int,
    "file_path": str,
    "first_heading": str,
    "first_unit": int,
    "unit_count": int,
    "folded_id": str,
    "folded_path": str,
    "folded_title": str,
    "body": str,
}
"""Units of a resource have the ordinals ``first_unit`` to ``first_unit + unit_count - 1``."""

UNIT_COLUMNS: dict[str, type] = {
    "revision_id": str,
    "unit_rowid": int,
    "ordinal": int,
    "unit_key": str,
    "resource_id": str,
    "position": int,
    "heading_path": str,
    "content_hash": str,
    "token_count": int,
    "start_line": int,
    "end_line": int,
    "start_char": int,
    "end_char": int,
    "input_hash": str,
    "text": str,
    "vector": bytes,
}
"""``heading_path`` is a JSON list, ``vector`` float32 little endian; ``unit_rowid`` is internal."""

CACHE_COLUMNS: dict[str, type] = {
    "input_hash": str,
    "embedding_revision": str,
    "vector": bytes,
    "token_ids": bytes,
    "checksum": int,
}
"""``token_ids``: the distinct token ids of the passage, sorted int32 little endian.
``checksum``: CRC-32 of the other four, so that rows can be saved out of a damaged file."""

CREATE_FTS = (
    "CREATE VIRTUAL TABLE search_units_fts USING fts5("
    "revision_id UNINDEXED, unit_key UNINDEXED, path, title, heading, body, "
    "tokenize='trigram case_sensitive 0')"
)

_INDEXES = (
    ("search_resources", ("revision_id", "ordinal"), True),
    ("search_resources", ("revision_id", "folded_id", "ordinal", "unit_count"), False),
    ("search_resources", ("revision_id", "folded_path", "ordinal", "unit_count"), False),
    ("search_resources", ("revision_id", "folded_title", "ordinal", "unit_count"), False),
    ("search_units", ("revision_id", "ordinal", "unit_rowid"), True),
    ("search_units", ("revision_id", "unit_key"), True),
)


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
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    private_file(temporary)
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
        for table, columns, unique in _INDEXES:
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
