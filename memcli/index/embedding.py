"""What the index needs of an embedding model; ``memcli.models`` provides it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Float32 = npt.NDArray[np.float32]
Int32 = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class PassageInput:
    """What a model is given of a unit: path, heading path (title first where it adds), text."""

    path: str
    heading_path: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class EmbeddedPassage:
    """One passage's outputs, special and prefix tokens left out of the token arrays.

    ``ordinal`` is its place in the sequence given; ``vector`` is float32 [D],
    of unit length; ``token_ids`` int32 [T]; ``token_vectors`` float32 [T, D],
    rows of unit length, or ``None`` where the model gives none.
    """

    ordinal: int
    vector: Float32
    token_ids: Int32
    token_vectors: Float32 | None


class Embedder(Protocol):
    """A loaded embedding model."""

    @property
    def dimension(self) -> int:
        """D, the length of a vector."""

    @property
    def embedding_revision(self) -> str:
        """Digest, profile and input version in one hash: equal means comparable vectors."""

    @property
    def description(self) -> Mapping[str, Any]:
        """Profile, file digest, pooling, prefixes, limits: what a recipe and a Run record."""

    def count_tokens(self, text: str) -> int:
        """Tokens of ``text`` alone, without prefix and special tokens."""

    def embed_passages(self, passages: Sequence[PassageInput]) -> Iterator[EmbeddedPassage]:
        """Embed all, in whatever order is fastest; each ordinal comes exactly once."""
