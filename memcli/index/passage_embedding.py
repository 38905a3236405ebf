"""Embed what is missing, and keep it as it comes, so that an ended process loses little."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from memcli.errors import NotReady
from memcli.index.build_context import BuildContext
from memcli.index.embedding import EmbeddedPassage, PassageInput
from memcli.index.token_store import TokenCodes
from memcli.index.token_vectors import encode_token_vectors
from memcli.index.vector_cache import CacheRow, cache_row, store_vectors

FLUSH_PASSAGES = 64
FLUSH_SECONDS = 2.0


def embed_missing(
    context: BuildContext,
    passages: Mapping[str, PassageInput],
    told: Callable[[int, int], None],
    *,
    keep_tokens: bool,
) -> None:
    """Embed ``passages`` (by input hash); vectors go to the cache, token vectors to their store.

    Whatever ends it, an exception or a cancellation, what was computed is kept.
    Raises ``NotReady`` ``model_unsuitable`` for a vector that is none.
    """
    hashes = list(passages)
    embedding = _Embedding(context, hashes, keep_tokens)
    try:
        told(0, len(hashes))
        for done, embedded in enumerate(
            context.embedder.embed_passages(list(passages.values())), start=1
        ):
            embedding.take(embedded)
            told(done, len(hashes))
    except BaseException:
        # Where the store itself is the fault, that fault is already on its way.
        with contextlib.suppress(sqlite3.Error):
            embedding.flush()
        raise
    embedding.flush()


class _Embedding:
    """Collects passages and writes them every two seconds or 64 passages."""

    def __init__(self, context: BuildContext, hashes: Sequence[str], keep_tokens: bool) -> None:
        self._context = context
        self._hashes = hashes
        self._revision = context.embedder.embedding_revision
        self._keep_tokens = keep_tokens
        self._vectors: list[CacheRow] = []
        self._tokens: list[TokenCodes] = []
        self._flushed_at = context.clock()

    def take(self, embedded: EmbeddedPassage) -> None:
        dimension = self._context.embedder.dimension
        if embedded.vector.shape != (dimension,) or not np.isfinite(embedded.vector).all():
            raise NotReady(
                "model_unsuitable",
                f"the embedder did not give {dimension} finite numbers for a passage",
                "Choose another embedding model; see `memcli models list`.",
            )
        input_hash = self._hashes[embedded.ordinal]
        self._vectors.append(cache_row(input_hash, self._revision, embedded))
        if self._keep_tokens and embedded.token_vectors is None:
            self._context.tokens.note_absence(self._revision)
            self._keep_tokens = False
        if self._keep_tokens and embedded.token_vectors is not None:
            codes, scales = encode_token_vectors(embedded.token_vectors)
            self._tokens.append(TokenCodes(input_hash, self._revision, codes, scales))
        waited = self._context.clock() - self._flushed_at
        if len(self._vectors) >= FLUSH_PASSAGES or waited >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        vectors, self._vectors = self._vectors, []
        tokens, self._tokens = self._tokens, []
        if vectors:
            store_vectors(self._context.connection, vectors)
        if tokens and self._context.tokens.put(tokens) < len(tokens):
            # The store is full: the others are computed when a query needs them.
            self._keep_tokens = False
        self._flushed_at = self._context.clock()
