"""Ranking metrics over plain lists, named and defined like trec_eval's, for binary labels.

``gains`` says for each place of a ranking, from the first, whether it satisfies
a piece of evidence; ``relevant`` is R, the number of all pieces, found or not.
An empty ranking scores 0 everywhere. The definitions are those of trec_eval
(``recall.20``, ``ndcg_cut.10``, ``recip_rank`` over the first ten).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

RECALL_CUTOFF = 20
NDCG_CUTOFF = 10
MRR_CUTOFF = 10
SHARE_CUTOFF = 20


def recall_at(gains: Sequence[bool], relevant: int, cutoff: int = RECALL_CUTOFF) -> float:
    """Evidence found in the first ``cutoff`` places, as a share of all of it."""
    _require_evidence(relevant)
    return sum(gains[:cutoff]) / relevant


def ndcg_at(gains: Sequence[bool], relevant: int, cutoff: int = NDCG_CUTOFF) -> float:
    """Binary nDCG: gain 1, discount log2(place + 1), ideal over min(cutoff, R) places.

    Järvelin and Kekäläinen (2002), in the form of trec_eval's ``ndcg_cut``.
    """
    _require_evidence(relevant)
    found = math.fsum(_discount(place) for place, gain in enumerate(gains[:cutoff], 1) if gain)
    ideal = math.fsum(_discount(place) for place in range(1, min(cutoff, relevant) + 1))
    return found / ideal


def mrr_at(gains: Sequence[bool], relevant: int, cutoff: int = MRR_CUTOFF) -> float:
    """1 / place of the first piece of evidence in the first ``cutoff`` places, else 0."""
    _require_evidence(relevant)
    for place, gain in enumerate(gains[:cutoff], 1):
        if gain:
            return 1 / place
    return 0.0


def resource_diversity_at(resource_ids: Sequence[str], cutoff: int = SHARE_CUTOFF) -> float:
    """Distinct resources / candidates, over the first ``cutoff`` places or fewer."""
    first = resource_ids[:cutoff]
    return len(set(first)) / len(first) if first else 0.0


def scope_violation_at(
    resource_ids: Sequence[str], frozen: Collection[str], cutoff: int = SHARE_CUTOFF
) -> float:
    """Share of the first places whose resource is not in the frozen corpus at all."""
    first = resource_ids[:cutoff]
    return sum(one not in frozen for one in first) / len(first) if first else 0.0


def stale_result_at(
    resources: Sequence[tuple[str, str]], frozen: Mapping[str, str], cutoff: int = SHARE_CUTOFF
) -> float:
    """Share of the first places whose resource is there, but with another resource hash.

    ``resources`` are (resource id, resource hash) pairs, ``frozen`` maps id to
    hash. A resource that is not in the corpus is never stale.
    """
    first = resources[:cutoff]
    stale = sum(frozen.get(one, resource_hash) != resource_hash for one, resource_hash in first)
    return stale / len(first) if first else 0.0


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, the same for every order of the values."""
    return math.fsum(values) / len(values)


def nearest_rank(values: Sequence[int], percent: int) -> int | None:
    """The nearest-rank percentile: the least value that ``percent`` of all do not exceed."""
    if not values:
        return None
    return sorted(values)[max(1, -(-percent * len(values) // 100)) - 1]


def _discount(place: int) -> float:
    return 1 / math.log2(place + 1)


def _require_evidence(relevant: int) -> None:
    if relevant < 1:
        raise ValueError("a ranking cannot be scored without any evidence")
