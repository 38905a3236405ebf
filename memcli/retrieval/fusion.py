"""Reciprocal rank fusion of the lexical and the vector list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Cormack, Clarke and Buettcher 2009, and the design's constant.
RRF_K = 60


@dataclass(frozen=True, slots=True)
class Fused:
    """One recalled unit with its fused place (from 1) and score."""

    unit_rowid: int
    rank: int
    score: float


def fuse(lists: Sequence[Sequence[int]], unit_order: Mapping[int, int]) -> tuple[Fused, ...]:
    """Score = sum over the lists of 1 / (60 + place); every recalled unit, best first.

    Ties go to the better single place, then to unit order.
    """
    places: dict[int, list[int]] = {}
    for ranking in lists:
        for place, rowid in enumerate(ranking, 1):
            places.setdefault(rowid, []).append(place)
    scores = {rowid: sum(1.0 / (RRF_K + place) for place in at) for rowid, at in places.items()}
    ranked = sorted(
        places, key=lambda rowid: (-scores[rowid], min(places[rowid]), unit_order[rowid])
    )
    return tuple(Fused(rowid, rank, scores[rowid]) for rank, rowid in enumerate(ranked, 1))
