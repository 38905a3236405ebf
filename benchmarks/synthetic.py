"""Synthetic memories of any size: Zipf-distributed words, random vectors, real names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memcli.index.embedding import EmbeddedPassage, PassageInput
from memcli.memory.hashing import body_sha256, effective_hash, resource_hash
from memcli.memory.resource import EffectiveMemory, Scope, SourceResource
from memcli.models.embedder import GgufEmbedder

SYLLABLES = ["ba", "con", "der", "fi", "gra", "ing", "lo", "man", "ne", "or", "pre", "qui", "re",
             "sta", "ter", "un", "ver", "wal", "xe", "zo"]  # fmt: skip
COMMON = ["the", "of", "and", "to", "in", "is", "for", "that", "with", "how", "this", "are", "on",
          "deploy", "service", "config", "error", "index", "query", "server"]  # fmt: skip


def vocabulary(size: int = 30_000, seed: int = 7) -> list[str]:
    """Common English words first, then made-up ones of two to four syllables."""
    random = np.random.default_rng(seed)
    words = dict.fromkeys(COMMON)
    while len(words) < size:
        picks = random.integers(0, len(SYLLABLES), random.integers(2, 5))
        words["".join(SYLLABLES[at] for at in picks)] = None
    return list(words)


class Texts:
    """Texts of about ``words`` words each, drawn by Zipf's law."""

    def __init__(self, words: int, seed: int = 11) -> None:
        self._vocabulary = np.array(vocabulary())
        ranks = np.arange(1, len(self._vocabulary) + 1)
        self._weights = (1 / ranks) / (1 / ranks).sum()
        self._random = np.random.default_rng(seed)
        self._words = words

    def one(self) -> str:
        picks = self._random.choice(self._vocabulary, self._words, p=self._weights)
        return " ".join(picks.tolist())


def memory_of(units: int, words: int, sections: int = 4) -> EffectiveMemory:
    """Resources of ``sections`` sections each, one unit a section."""
    texts = Texts(words)
    resources = []
    for number in range(units // sections):
        path = f"docs/area-{number % 50:02d}/note-{number:06d}.md"
        body = "".join(
            f"## Part {part} of {number}\n\n{texts.one()}\n\n" for part in range(sections)
        )
        resources.append(resource_of(path, f"Note {number}", body))
    return memory_from(resources)


def resource_of(path: str, title: str, body: str) -> SourceResource:
    """A resource as synthesis would make it."""
    fields: dict[str, Any] = {
        "resource_id": path, "scope": Scope.PROJECT, "kind": "note", "path": path,
        "title": title, "description": "", "body": body,
    }  # fmt: skip
    return SourceResource(
        **fields,
        body_sha256=body_sha256(body),
        resource_hash=resource_hash(
            resource_id=path, scope=Scope.PROJECT, kind="note", path=path, title=title,
            description="", body=body,
        ),
        body_first_line=1,
        description_line=None,
        file_path=path,
    )  # fmt: skip


def memory_from(resources: Sequence[SourceResource]) -> EffectiveMemory:
    """Effective Memory of these resources."""
    hashes = [(each.resource_id, each.resource_hash) for each in resources]
    return EffectiveMemory(tuple(resources), effective_hash(hashes), (), (), ())


class SyntheticEmbedder:
    """Random vectors that carry the real embedder's identity, so that a real query can be asked.

    Counts a token a word and a half, and gives four token vectors a passage.
    """

    def __init__(self, real: GgufEmbedder, tokens: int = 4) -> None:
        self._real = real
        self._tokens = tokens
        self.embedded = 0

    @property
    def dimension(self) -> int:
        return self._real.dimension

    @property
    def embedding_revision(self) -> str:
        return self._real.embedding_revision

    @property
    def description(self) -> Mapping[str, Any]:
        return self._real.description

    def count_tokens(self, text: str) -> int:
        return (text.count(" ") + 1) * 3 // 2

    def embed_passages(self, passages: Sequence[PassageInput]) -> Iterator[EmbeddedPassage]:
        for ordinal, passage in enumerate(passages):
            self.embedded += 1
            digest = hashlib.sha256(passage.text.encode()).digest()
            random = np.random.default_rng(int.from_bytes(digest[:8], "big"))
            tokens = random.standard_normal((self._tokens + 1, self.dimension), dtype=np.float32)
            tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
            ids = random.integers(5, 100_000, self._tokens).astype(np.int32)
            yield EmbeddedPassage(ordinal, tokens[0], ids, tokens[1:])


def fresh_project(root: Path) -> Path:
    """An empty project directory with its storage."""
    from memcli.memory.project import create_storage

    root.mkdir(parents=True, exist_ok=True)
    (root / "memcli.toml").write_text('id = "synthetic"\n')
    create_storage(root)
    return root
