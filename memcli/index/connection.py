"""Connections to the index: one kind that only reads, one that writes in explicit transactions."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from memcli.index.row_digests import define_digests
from memcli.locations import refuse_odd_file
from memcli.sqlite_files import connect, user_version

BUSY_SECONDS = 30.0
WRITER_CACHE_KIB = 64 * 1024
# A database can come with a cloned project: its views and triggers may call nothing with an effect.
_DISTRUST = "PRAGMA trusted_schema = OFF"
# What SQLite says where it cannot make the log's index.
_NO_ROOM = ("disk is full", "disk I/O error", "unable to open", "readonly")


def open_to_read(path: Path) -> sqlite3.Connection:
    """A connection that can neither write nor run DDL; the file must exist.

    To read a WAL database SQLite makes the log's index beside it, which it
    cannot in a directory that is read-only or on a full disk. Where there is no
    log to be read, it is then told that the file is immutable: nobody else can
    write there either.
    """
    refuse_odd_file(path)
    effective = os.access in os.supports_effective_ids
    writable = os.access(path.parent, os.W_OK, effective_ids=effective)
    if not writable and not _has_log(path):
        return _read_only(path, immutable=True)
    connection = _read_only(path)
    try:
        user_version(connection)
    except sqlite3.OperationalError as error:
        if _has_log(path) or not any(why in str(error) for why in _NO_ROOM):
            return connection  # the caller meets it again, and knows what to say
        connection.close()
        return _read_only(path, immutable=True)
    except sqlite3.Error:
        pass  # likewise: damage is found by whoever reads
    return connection


def _read_only(path: Path, *, immutable: bool = False) -> sqlite3.Connection:
    connection = connect(path, "ro", BUSY_SECONDS, immutable=immutable)
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute(_DISTRUST)
        define_digests(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _has_log(path: Path) -> bool:
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def open_to_write(path: Path) -> sqlite3.Connection:
    """A writing connection in WAL mode; the file must exist, so that its mode is ours.

    NORMAL means that a power loss may take the last commits, but never the
    consistency of what remains: enough for a cache. A link is refused, for a
    cloned project may have brought it to have another file written.
    """
    refuse_odd_file(path)
    connection = connect(path, "rw", BUSY_SECONDS)
    try:
        connection.execute(_DISTRUST)
        define_digests(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KIB}")
        # Deleted notes are overwritten wherever that costs no extra writes.
        connection.execute("PRAGMA secure_delete = FAST")
    except BaseException:
        connection.close()
        raise
    return connection
