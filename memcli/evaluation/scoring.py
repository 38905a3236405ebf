"""Scores one frozen Case: all metrics of the four rankings that its trace holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memcli.evaluation import metrics
from memcli.evaluation.frozen import FrozenCase
from memcli.evaluation.matching import EvidenceItem, match
from memcli.evaluation.rankings import STAGES_OF, Ranked, rankings_of

METRICS = (
    "recall_at_20",
    "ndcg_at_10",
    "mrr_at_10",
    "resource_diversity_at_20",
    "scope_violation_at_20",
    "stale_result_at_20",
)


@dataclass(frozen=True, slots=True)
class VariantScore:
    """One ranking of one Case.

    ``metrics`` maps the names of ``METRICS`` to values in 0..1. ``places`` says
    where each piece of evidence, in the order of the Case, was found: from 1,
    ``None`` where it was not. ``length`` counts the candidates of the ranking.
    ``warm_us`` adds up the recorded times of its stages, ``None`` where the Run
    lacks one.
    """

    metrics: Mapping[str, float]
    places: tuple[int | None, ...]
    length: int
    warm_us: int | None


def score_case(case: FrozenCase[Ranked], frozen: Mapping[str, str]) -> dict[str, VariantScore]:
    """The score by variant; ``frozen`` maps the resources of the corpus to their hashes."""
    return {
        variant: score_ranking(
            ranking, case.evidence, frozen, warm_us(case.run.timings_us, STAGES_OF[variant])
        )
        for variant, ranking in rankings_of(case.candidates).items()
    }


def score_ranking(
    ranking: Sequence[Ranked],
    evidence: Sequence[EvidenceItem],
    frozen: Mapping[str, str],
    warm: int | None = None,
) -> VariantScore:
    """All metrics of one ranking; ``evidence`` must not be empty."""
    found = match(ranking, evidence)
    gains = [item is not None for item in found]
    place_of = {item: place for place, item in enumerate(found, 1) if item is not None}
    relevant = len(evidence)
    resources = [(one.resource_id, one.resource_hash) for one in ranking]
    resource_ids = [resource_id for resource_id, _ in resources]
    values = (
        metrics.recall_at(gains, relevant),
        metrics.ndcg_at(gains, relevant),
        metrics.mrr_at(gains, relevant),
        metrics.resource_diversity_at(resource_ids),
        metrics.scope_violation_at(resource_ids, frozen),
        metrics.stale_result_at(resources, frozen),
    )
    return VariantScore(
        metrics=dict(zip(METRICS, values, strict=True)),
        places=tuple(place_of.get(item) for item in evidence),
        length=len(ranking),
        warm_us=warm,
    )


def warm_us(timings_us: Mapping[str, int], stages: Sequence[str]) -> int | None:
    """Recorded microseconds of ``stages``, or ``None`` when one of them was not recorded."""
    if not all(stage in timings_us for stage in stages):
        return None
    return sum(timings_us[stage] for stage in stages)
