"""A small deterministic embedder for tests that are about something else than the model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from memcli.index.embedding import EmbeddedPassage, Float32, PassageInput
from memcli.models.embedder import EncodedQuery
from memcli.models.loaded_model import ShouldStop, never
from memcli.models.profile import Relevance
from memcli.models.reranker import RerankScore, TokenCorpus

WORD = re.compile(r"\w+|[^\w\s]")


class StandInEmbedder:
    """Each word has a fixed random direction; a text's vector is the mean of its words'."""

    def __init__(self, dimension: int = 32, name: str = "stand-in") -> None:
        self._dimension = dimension
        self._name = name
        self.embedded = 0

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def embedding_revision(self) -> str:
        return hashlib.sha256(f"{self._name}/{self._dimension}".encode()).hexdigest()

    @property
    def description(self) -> Mapping[str, Any]:
        digest = self.embedding_revision
        return {"profile": self._name, "sha256": digest, "dimension": self._dimension}

    def count_tokens(self, text: str) -> int:
        return len(WORD.findall(text))

    def token_id(self, word: str) -> int:
        return int.from_bytes(hashlib.sha256(word.lower().encode()).digest()[:3], "big")

    def token_vector(self, token_id: int) -> Float32:
        generator = np.random.default_rng(token_id)
        vector = generator.standard_normal(self._dimension).astype(np.float32)
        unit: Float32 = vector / np.float32(np.linalg.norm(vector))
        return unit

    def embed_text(self, text: str) -> EmbeddedPassage:
        ids = np.array([self.token_id(word) for word in WORD.findall(text)], dtype=np.int32)
        if not len(ids):
            ids = np.array([0], dtype=np.int32)
        tokens = np.stack([self.token_vector(int(token)) for token in ids])
        mean = tokens.mean(axis=0)
        norm = float(np.linalg.norm(mean)) or 1.0
        return EmbeddedPassage(0, (mean / np.float32(norm)).astype(np.float32), ids, tokens)

    def embed_query(self, text: str, should_stop: ShouldStop = never) -> EncodedQuery:
        one = self.embed_text(text)
        assert one.token_vectors is not None
        return EncodedQuery(text, one.vector, one.token_ids, one.token_vectors, False)

    def embed_passages(self, passages: Sequence[PassageInput]) -> Iterator[EmbeddedPassage]:
        for ordinal, passage in enumerate(passages):
            self.embedded += 1
            text = "\n".join([passage.path, " > ".join(passage.heading_path), passage.text])
            one = self.embed_text(text)
            yield EmbeddedPassage(ordinal, one.vector, one.token_ids, one.token_vectors)


class StandInReranker:
    """Scores a passage by the share of the query's words that it holds."""

    def __init__(self, floor: float = 0.3) -> None:
        self._floor = floor

    @property
    def relevance(self) -> Relevance:
        # The logistic of (share - 0.3) / 0.1: half the floor's way at a third of the words.
        return Relevance(middle=self._floor, width=0.1, floor=0.5)

    @property
    def description(self) -> Mapping[str, Any]:
        return {"profile": "stand-in-reranker", "sha256": "0" * 64}

    def score(
        self,
        query: EncodedQuery,
        passages: Sequence[PassageInput],
        corpus: TokenCorpus,
        should_stop: ShouldStop,
    ) -> list[RerankScore]:
        wanted = set(WORD.findall(query.text.lower()))
        scores = []
        for passage in passages:
            held = set(WORD.findall(f"{passage.path} {passage.text}".lower()))
            scores.append(RerankScore(len(wanted & held) / max(len(wanted), 1), truncated=False))
        return scores
