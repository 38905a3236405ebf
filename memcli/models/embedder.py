"""The embedder: passages and queries to unit vectors, and to the token vectors behind them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import orjson

from memcli.index.embedding import EmbeddedPassage, Float32, Int32, PassageInput
from memcli.models.loaded_model import MOST_SEQUENCES, LoadedModel, ShouldStop, never
from memcli.models.model_input import FittedPassage, fit_passage, fit_query
from memcli.models.profile import ModelProfile, Pooling

INPUT_VERSION = 1

# Attention is dense over all tokens packed together, so a batch gains from
# sharing the weights up to a few hundred tokens and then loses. Measured here:
# 256 is best for short sequences; a longer one simply has a batch of its own.
PACKED_TOKENS = 256

# llama.cpp's numbers for ``<architecture>.pooling_type``.
_FILE_POOLING: Mapping[int, Pooling] = {1: "mean", 2: "cls", 3: "last"}


@dataclass(frozen=True, slots=True)
class EncodedQuery:
    """A query after one forward pass.

    ``vector`` float32 [D] of unit length; ``token_ids`` int32 [T] and
    ``token_vectors`` float32 [T, D] (unit rows) without prefix and special tokens.
    """

    text: str
    vector: Float32
    token_ids: Int32
    token_vectors: Float32
    shortened: bool


class QueryEmbedder(Protocol):
    """What an activation needs of the embedder that a revision was built with."""

    @property
    def description(self) -> Mapping[str, Any]:
        """Profile and digest: what a Run records."""

    def embed_query(self, text: str, should_stop: ShouldStop = never) -> EncodedQuery:
        """One forward pass over a query; raises ``Aborted`` when told to stop."""


class GgufEmbedder:
    """An embedding GGUF run with pooling NONE; the pooled vector is computed here.

    So that one pass gives both the vector and the token vectors. Satisfies
    ``memcli.index.embedding.Embedder``.
    """

    def __init__(self, model: LoadedModel, should_stop: ShouldStop = never) -> None:
        self._model = model
        self._should_stop = should_stop
        self.profile: ModelProfile = model.profile
        self._pooling = self.profile.pooling
        if self._pooling == "file":
            self._pooling = _FILE_POOLING.get(model.header.pooling or 0, "mean")
        self._query_prefix = model.tokenize(self.profile.query_prefix.rstrip())
        self._passage_prefix = model.tokenize(self.profile.passage_prefix.rstrip())

    @property
    def dimension(self) -> int:
        return self._model.dimension

    @property
    def description(self) -> Mapping[str, Any]:
        fed = self.profile.description()
        return {**fed, "dimension": self.dimension, "input_version": INPUT_VERSION}

    @property
    def embedding_revision(self) -> str:
        return hashlib.sha256(
            orjson.dumps(self.description, option=orjson.OPT_SORT_KEYS)
        ).hexdigest()

    @property
    def device(self) -> str:
        return self._model.device.name

    def count_tokens(self, text: str) -> int:
        return self._model.count_tokens(text)

    @property
    def passage_budget(self) -> int:
        """Tokens that a passage's metadata and text may have together."""
        frame = len(self._model.begin) + len(self._passage_prefix) + len(self._model.end)
        return self._model.max_tokens - frame

    def fit(self, passage: PassageInput) -> FittedPassage:
        """The tokens of a passage that the model is given."""
        return fit_passage(self._model.tokenize, passage, self.passage_budget)

    def embed_passages(self, passages: Sequence[PassageInput]) -> Iterator[EmbeddedPassage]:
        """Longest first, several short ones a forward pass."""
        opening = [*self._model.begin, *self._passage_prefix]
        closing = self._model.end
        fitted = [self.fit(each).ids for each in passages]
        most = min(PACKED_TOKENS, self._model.batch_tokens)
        for batch in _batches([len(ids) + len(opening) + len(closing) for ids in fitted], most):
            sequences = [[*opening, *fitted[ordinal], *closing] for ordinal in batch]
            outputs = self._model.run(sequences, self._should_stop)
            for ordinal, output in zip(batch, outputs, strict=True):
                inner = output[len(opening) : len(opening) + len(fitted[ordinal])]
                yield EmbeddedPassage(
                    ordinal,
                    self._pool(output),
                    np.array(fitted[ordinal], dtype=np.int32),
                    _unit_rows(inner),
                )

    def embed_query(self, text: str, should_stop: ShouldStop = never) -> EncodedQuery:
        """Embed a query, cut to its first 128 tokens."""
        opening = [*self._model.begin, *self._query_prefix]
        closing = self._model.end
        fitted = fit_query(
            self._model.tokenize, text, self._model.max_tokens - len(opening) - len(closing)
        )
        output = self._model.run([[*opening, *fitted.ids, *closing]], should_stop)[0]
        inner = output[len(opening) : len(opening) + len(fitted.ids)]
        return EncodedQuery(
            text,
            self._pool(output),
            np.array(fitted.ids, dtype=np.int32),
            _unit_rows(inner),
            fitted.shortened,
        )

    def _pool(self, output: Float32) -> Float32:
        match self._pooling:
            case "cls":
                pooled = output[0]
            case "last":
                pooled = output[-1]
            case _:
                pooled = output.mean(axis=0)
        unit: Float32 = _unit_rows(pooled[None, :])[0]
        return unit

    def close(self) -> None:
        self._model.close()


def _unit_rows(matrix: Float32) -> Float32:
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: Float32 = matrix / np.maximum(norms, np.float32(1e-12))
    return unit


def _batches(lengths: list[int], most: int) -> Iterator[list[int]]:
    """Ordinals packed longest first, so that a batch holds sequences of like length."""
    batch: list[int] = []
    tokens = 0
    for ordinal in sorted(range(len(lengths)), key=lambda at: (-lengths[at], at)):
        full = tokens + lengths[ordinal] > most or len(batch) == MOST_SEQUENCES
        if batch and full:
            yield batch
            batch, tokens = [], 0
        batch.append(ordinal)
        tokens += lengths[ordinal]
    if batch:
        yield batch
