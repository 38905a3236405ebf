"""The tables of a project's search index, schema 7: their columns, keys and indexes."""

from __future__ import annotations

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
    "row_digest": bytes,
}
"""``status`` is building, ready or failed. ``document_frequencies``: sorted int32 token ids,
then as many int32 counts of units that hold them, little endian, signed. ``row_digest``
here and below: see ``row_digests``; a revision has one when it is ready."""

HEAD_COLUMNS: dict[str, type] = {
    "slot": int,
    "head": str,
    "previous": str,
    "changed_at": str,
    "fts_content": bytes,
    "fts_index": bytes,
    "row_digest": bytes,
}
"""``fts_content`` and ``fts_index``: digests of the full-text table, see ``fts_digests``."""

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
    "row_digest": bytes,
    "body": str,
}
"""Units of a resource have the ordinals ``first_unit`` to ``first_unit + unit_count - 1``.
The body is last: what stands behind it would be read through all of it."""

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
    "row_digest": bytes,
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

INDEXES = (
    ("search_resources", ("revision_id", "ordinal"), True),
    ("search_resources", ("revision_id", "folded_id", "ordinal", "unit_count"), False),
    ("search_resources", ("revision_id", "folded_path", "ordinal", "unit_count"), False),
    ("search_resources", ("revision_id", "folded_title", "ordinal", "unit_count"), False),
    ("search_units", ("revision_id", "ordinal", "unit_rowid"), True),
    ("search_units", ("revision_id", "unit_key"), True),
)

COLUMNS = {
    "search_revisions": REVISION_COLUMNS,
    "search_heads": HEAD_COLUMNS,
    "search_resources": RESOURCE_COLUMNS,
    "search_units": UNIT_COLUMNS,
    "search_vector_cache": CACHE_COLUMNS,
}
