"""The rows of units and resources as SQL selects them and as plain data, each verified."""

from __future__ import annotations

from typing import Any

import orjson

from memcli.index.faults import index_damaged
from memcli.index.row_digests import is_whole
from memcli.index.stored import ManifestEntry, StoredUnit
from memcli.index.unit import Locator

_WHOLE_UNIT = is_whole("search_units", "u")
_WHOLE_RESOURCE = is_whole("search_resources", "r")
UNITS = f"""
    SELECT u.unit_rowid, u.ordinal, u.unit_key, u.position, u.heading_path, u.text,
        u.content_hash, u.token_count, u.start_line, u.end_line, u.start_char, u.end_char,
        u.input_hash, r.resource_id, r.resource_hash, r.scope, r.kind, r.path, r.title, r.file_path,
        {_WHOLE_UNIT} AND {_WHOLE_RESOURCE}
    FROM search_units u JOIN search_resources r USING (revision_id, resource_id)
    WHERE u.revision_id = ? AND u.unit_rowid IN ({{}})
"""
HASHES = f"""
    SELECT unit_key, content_hash, {_WHOLE_UNIT}
    FROM search_units u WHERE revision_id = ? AND unit_key IN ({{}})
"""
MANIFEST = f"""
    SELECT ordinal, resource_id, scope, kind, path, title, description, resource_hash,
        body_sha256, unit_count, file_path, body_first_line, description_line, {_WHOLE_RESOURCE}
    FROM search_resources r WHERE revision_id = ?
"""


def require(whole: int, name: str) -> bool:
    """True, or ``index_damaged`` for a row that is not what was written."""
    if not whole:
        raise index_damaged(f"{name} is not what was indexed")
    return True


def entry_of(row: tuple[Any, ...]) -> ManifestEntry:
    """A row of ``MANIFEST``."""
    require(row[-1], row[1])
    return ManifestEntry(*row[:-1])


def unit_of(row: tuple[Any, ...]) -> StoredUnit:
    """A row of ``UNITS``."""
    require(row[-1], row[2])
    try:
        heading_path = tuple(orjson.loads(row[4]))
    except ValueError as error:
        raise index_damaged(f"the heading path of {row[2]} is unreadable") from error
    rowid, ordinal, key, position = row[:4]
    text, content_hash, token_count = row[5:8]
    locator = Locator(*row[8:12])
    return StoredUnit(
        rowid, ordinal, key, position, heading_path, text, content_hash, token_count, locator,
        *row[12:-1],
    )  # fmt: skip
