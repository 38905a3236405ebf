"""What every reranker is: a query and passages in, one raw score a passage out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from memcli.index.embedding import Float32, Int32, PassageInput
from memcli.models.embedder import EncodedQuery
from memcli.models.loaded_model import ShouldStop
from memcli.models.profile import Relevance


@dataclass(frozen=True, slots=True)
class RerankScore:
    """A raw score (larger is better), and whether the passage's text was cut to fit."""

    score: float
    truncated: bool


class TokenCorpus(Protocol):
    """What late interaction reads of the searched revision."""

    @property
    def unit_count(self) -> int:
        """Units in the revision."""

    def document_frequencies(self, token_ids: Int32) -> Int32:
        """For each id, how many of the revision's units hold it."""

    def stored_token_vectors(self, passages: Sequence[PassageInput]) -> list[Float32 | None]:
        """Token vectors kept since the build, float32 [T, D] with unit rows; else ``None``."""


class Reranker(Protocol):
    """A loaded reranker of either kind."""

    @property
    def relevance(self) -> Relevance:
        """Calibration and floor for its raw scores."""

    @property
    def description(self) -> Mapping[str, Any]:
        """Profile, kind and digest: what a Run records."""

    def score(
        self,
        query: EncodedQuery,
        passages: Sequence[PassageInput],
        corpus: TokenCorpus,
        should_stop: ShouldStop,
    ) -> list[RerankScore]:
        """One score a passage, in the order given."""
