"""The report over a set of Cases: the four variants, each Case, and every Case left out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson

from memcli.errors import NotReady
from memcli.evaluation.frozen import EvaluationSet, ExcludedCase, FrozenCase, is_loss
from memcli.evaluation.matching import EvidenceItem
from memcli.evaluation.metrics import mean, nearest_rank
from memcli.evaluation.rankings import VARIANTS, Ranked
from memcli.evaluation.scoring import METRICS, VariantScore, score_case
from memcli.memory.hashing import canonical_json

REPORT_SCHEMA = "memcli.report.v1"


class ReportBuilder:
    """Takes the Cases of ``source`` one by one, in order, and keeps only their scores."""

    def __init__(self, source: EvaluationSet) -> None:
        self._source = source
        self._per_case: list[dict[str, Any]] = []
        self._scores: dict[str, list[VariantScore]] = {variant: [] for variant in VARIANTS}
        self._items: Counter[str] = Counter()

    def add(self, case: FrozenCase[Ranked]) -> None:
        """Score one Case."""
        scores = score_case(case, self._source.resource_hashes(case.corpus_hash))
        for variant, score in scores.items():
            self._scores[variant].append(score)
        self._items.update("unit" if item.unit_key else "resource" for item in case.evidence)
        self._per_case.append(
            {
                "case_id": case.case_id,
                "run_id": case.run.run_id,
                "project_id": case.project_id,
                "query": case.query,
                "version": case.version,
                "evidence": [item_document(item) for item in case.evidence],
                "candidates": len(case.candidates),
                "variants": {name: _score_document(score) for name, score in scores.items()},
            }
        )

    def document(self) -> dict[str, Any]:
        """The report, names sorted at every level, so that all its serialisations are equal.

        Raises:
            NotReady: ``case_not_ready``, when there is no Case to score.
        """
        cases, excluded = len(self._per_case), self._source.excluded
        if not cases:
            raise _nothing_to_score(self._source)
        document = {
            "schema": REPORT_SCHEMA,
            "cases": cases,
            "counts": {
                "selected": cases + len(excluded),
                "scored": cases,
                "excluded": len(excluded),
                "evidence": self._items.total(),
                "unit_evidence": self._items["unit"],
                "resource_evidence": self._items["resource"],
                "empty_rankings": {
                    name: sum(not score.length for score in scores)
                    for name, scores in self._scores.items()
                },
                "timed_cases": {name: len(_times(scores)) for name, scores in self._scores.items()},
            },
            "excluded": [excluded_document(case) for case in excluded],
            "variants": {name: _mean_document(scores) for name, scores in self._scores.items()},
            "per_case": self._per_case,
            "notes": notes(cases, excluded=len(excluded)),
        }
        sorted_document: dict[str, Any] = orjson.loads(canonical_json(document))
        return sorted_document


def report_document(source: EvaluationSet) -> dict[str, Any]:
    """The report over every Case of ``source``.

    Raises:
        NotReady: ``case_not_ready``, when there is no Case to score.
    """
    builder = ReportBuilder(source)
    for case in source.ranked_cases():
        builder.add(case)
    return builder.document()


def report_bytes(document: dict[str, Any]) -> bytes:
    """The one serialisation of a report: a line of JSON with sorted names."""
    return canonical_json(document) + b"\n"


def notes(cases: int, *, excluded: int) -> list[str]:
    """What a reader must know to read the figures; part of every report."""
    rests = "1 case" if cases == 1 else f"{cases} cases"
    left_out = "none was left out" if not excluded else f"{excluded} left out, listed with reasons"
    return [
        "The figures score the recorded runs, not today's index.",
        "warm_p50_us and warm_p95_us summarise stage times recorded in those runs; "
        "this is no controlled benchmark.",
        f"The figures rest on {rests} with evidence confirmed by a person; {left_out}.",
    ]


def item_document(item: EvidenceItem) -> dict[str, str | None]:
    return {"resource_id": item.resource_id, "unit_key": item.unit_key}


def excluded_document(case: ExcludedCase) -> dict[str, str]:
    return {"case_id": case.case_id, "status": case.status, "reason": case.reason}


def _score_document(score: VariantScore) -> dict[str, Any]:
    return {
        **score.metrics,
        "places": list(score.places),
        "candidates": score.length,
        "warm_us": score.warm_us,
    }


def _mean_document(scores: list[VariantScore]) -> dict[str, Any]:
    times = _times(scores)
    return {
        **{name: mean([score.metrics[name] for score in scores]) for name in METRICS},
        "warm_p50_us": nearest_rank(times, 50),
        "warm_p95_us": nearest_rank(times, 95),
    }


def _times(scores: list[VariantScore]) -> list[int]:
    return [score.warm_us for score in scores if score.warm_us is not None]


def _nothing_to_score(source: EvaluationSet) -> NotReady:
    statuses = Counter(case.status for case in source.excluded)
    if not statuses:
        return NotReady(
            "case_not_ready",
            "there is no evaluation case to score",
            "Make one of a run with `memcli case create`.",
        )
    lost = [case for case in source.excluded if is_loss(case.status, case.reason)]
    if lost:
        more = f"; and {len(lost) - 1} more" if len(lost) > 1 else ""
        return NotReady(
            "case_not_ready",
            f"case {lost[0].case_id} cannot be scored: {lost[0].reason}{more}",
            "`memcli doctor` says what is damaged and what to do.",
        )
    if len(source.excluded) == 1:
        case = source.excluded[0]
        message = f"case {case.case_id} ({case.status}) cannot be scored: {case.reason}"
    else:
        held = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
        message = f"no case can be scored: {held}"
    return NotReady("case_not_ready", message, "Confirm evidence with `memcli case resolve`.")
