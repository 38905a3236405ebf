"""Keep the token vectors of a ready revision complete, as far as the store may grow."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import orjson

from memcli.index.build_context import BuildContext
from memcli.index.chunking import model_heading_path
from memcli.index.embedding import PassageInput
from memcli.index.passage_embedding import embed_missing

# Path and headings have tokens too; what they have more than this is stored if it fits.
_METADATA_TOKENS = 64

_PASSAGES = """
    SELECT u.input_hash, u.token_count FROM search_units u
    WHERE u.revision_id = ? ORDER BY u.ordinal
"""
_INPUTS = """
    SELECT u.input_hash, r.path, r.title, u.heading_path, u.text
    FROM search_units u JOIN search_resources r USING (revision_id, resource_id)
    WHERE u.revision_id = ? ORDER BY u.ordinal
"""
_REFERENCED = """
    SELECT DISTINCT u.input_hash, r.embedding_revision
    FROM search_units u JOIN search_revisions r USING (revision_id)
"""


@dataclass(frozen=True, slots=True)
class TokenCoverage:
    """Distinct passages of a revision that have token vectors stored, and that have not."""

    stored: int
    missing: int


def make_room(
    context: BuildContext, token_counts: Mapping[str, int], protected: Iterable[str]
) -> bool:
    """Whether the store can take any more, after dropping what no revision needs if it is full.

    ``token_counts``: tokens by input hash of the passages that are about to come;
    ``protected``: input hashes that the revision being built needs.
    """
    needed = sum(_size(context, tokens) for tokens in token_counts.values())
    store = context.tokens
    if store.used_bytes + needed > store.limit_bytes:
        revision = context.embedder.embedding_revision
        needed_now = {(input_hash, revision) for input_hash in protected}
        store.drop_unreferenced(needed_now | set(context.connection.execute(_REFERENCED)))
    return store.used_bytes < store.limit_bytes


def fill_token_vectors(
    context: BuildContext, revision_id: str, told: Callable[[int, int], None]
) -> TokenCoverage:
    """Compute and store what is missing and fits, in unit order."""
    embedding_revision = context.embedder.embedding_revision
    wanted = dict(context.connection.execute(_PASSAGES, (revision_id,)).fetchall())
    held = context.tokens.held(embedding_revision)
    missing = {each: tokens for each, tokens in wanted.items() if each not in held}
    if missing and not context.tokens.gives_none(embedding_revision):
        make_room(context, missing, protected=wanted)
        fitting = set(_fitting(context, missing))
        if fitting:
            inputs = dict(_inputs(context.connection, revision_id, fitting))
            embed_missing(context, inputs, told, keep_tokens=True)
    stored = len(wanted.keys() & context.tokens.held(embedding_revision))
    return TokenCoverage(stored, len(wanted) - stored)


def _fitting(context: BuildContext, missing: Mapping[str, int]) -> Iterator[str]:
    room = context.tokens.limit_bytes - context.tokens.used_bytes
    for input_hash, tokens in missing.items():
        room -= _size(context, tokens)
        if room < 0:
            return
        yield input_hash


def _size(context: BuildContext, tokens: int) -> int:
    return (tokens + _METADATA_TOKENS) * ((context.embedder.dimension + 1) // 2 + 4)


def _inputs(
    connection: sqlite3.Connection, revision_id: str, wanted: set[str]
) -> Iterator[tuple[str, PassageInput]]:
    rows = connection.execute(_INPUTS, (revision_id,))
    for input_hash, path, title, headings, text in rows:
        if input_hash in wanted:
            heading_path = model_heading_path(title, orjson.loads(headings))
            yield input_hash, PassageInput(path, heading_path, text)
