"""The recipe of an index: everything but the memory that shapes it; and the hash of an input."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memcli.index.chunking import CHUNK_LIMITS, CHUNKER_VERSION
from memcli.index.embedding import Embedder, PassageInput
from memcli.index.markdown_blocks import PARSER_VERSION
from memcli.index.tables import SCHEMA_VERSION
from memcli.memory.hashing import canonical_json

INPUT_VERSION = "path, title and headings, text/1"
FTS_VERSION = "fts5 trigram, NFC/1"


@dataclass(frozen=True, slots=True)
class Recipe:
    """The recipe as canonical JSON, and its SHA-256."""

    canonical: str
    recipe_hash: str


def recipe_of(embedder: Embedder) -> Recipe:
    """The recipe that an index built now with ``embedder`` has."""
    content = canonical_json(
        {
            "schema": SCHEMA_VERSION,
            "parser": PARSER_VERSION,
            "chunker": CHUNKER_VERSION,
            "chunk_limits": dict(CHUNK_LIMITS),
            "input": INPUT_VERSION,
            "fts": FTS_VERSION,
            "embedder": {
                **_plain(embedder.description),
                "embedding_revision": embedder.embedding_revision,
            },
        }
    )
    return Recipe(content.decode(), hashlib.sha256(content).hexdigest())


def input_hash(passage: PassageInput) -> str:
    """SHA-256 of the canonical JSON of path, model heading path and text."""
    content = canonical_json([passage.path, list(passage.heading_path), passage.text])
    return hashlib.sha256(content).hexdigest()


def _plain(description: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings of any kind as dictionaries, which is all that orjson takes."""
    return {
        name: _plain(value) if isinstance(value, Mapping) else value
        for name, value in description.items()
    }
