"""What a build says while it runs and when it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memcli.memory.resource import LeftOut, MemoryWarning


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """A stage (memory, cut, embed, write, swap, tokens) and how far it is; total 0: unknown."""

    stage: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class BuildSummary:
    """The revision that serves this memory now, and what was done for it.

    ``created`` is false when an equal ready revision was there already.
    ``embedded`` and ``reused`` count passages (units with the same model input
    are one) whose vectors were computed or found. ``token_vectors_*`` count the
    revision's passages that have token vectors stored or not. ``recreated``
    says that a damaged or older index was replaced. ``timings`` has seconds by
    stage.
    """

    revision_id: str
    effective_hash: str
    created: bool
    swapped: bool
    head: str | None
    recreated: bool
    resources: int
    units: int
    embedded: int
    reused: int
    token_vectors_stored: int
    token_vectors_missing: int
    left_out: tuple[LeftOut, ...]
    warnings: tuple[MemoryWarning, ...]
    timings: Mapping[str, float]
