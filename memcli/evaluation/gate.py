"""Holds the figures of a report or a rerun against rules, for a check that may fail a build."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memcli.errors import InvalidInput
from memcli.evaluation.rankings import VARIANTS
from memcli.evaluation.scoring import METRICS

GATE_SCHEMA = "memcli.gate.v1"
TIMES = ("warm_p50_us", "warm_p95_us")
COUNTS = ("cases", "excluded")
DROP = "drop"
# A mean of shares is exact to about 1e-15: a figure meant to be at a limit is at it.
TOLERANCE = 1e-9

_RULE = re.compile(r"\s*([a-z0-9_.]+)\s*(>=|<=)\s*([0-9]+(?:\.[0-9]+)?)\s*")


@dataclass(frozen=True, slots=True)
class Rule:
    """``figure`` at least (``>=``) or at most (``<=``) ``limit``; a figure at its limit holds.

    Figures: ``cases``, ``excluded``, ``VARIANT.METRIC``, ``VARIANT.warm_p95_us``
    and, of a rerun only, ``VARIANT.METRIC.drop``, the recorded mean less that of
    the rerun.
    """

    figure: str
    relation: str
    limit: float

    def __str__(self) -> str:
        return f"{self.figure}{self.relation}{self.limit:g}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One rule on one document; ``value`` is ``None`` where there is no such figure."""

    rule: Rule
    value: float | None
    held: bool


def read_rule(text: str) -> Rule:
    """A rule as typed, ``b4_reranked.ndcg_at_10>=0.7``.

    Raises:
        InvalidInput: ``invalid_rule``.
    """
    found = _RULE.fullmatch(text)
    if found is None:
        raise _invalid(text, "it is not of the form FIGURE>=NUMBER or FIGURE<=NUMBER")
    figure, relation, limit = found.groups()
    names = figure.split(".")
    is_count = figure in COUNTS
    is_metric = len(names) == 2 and names[0] in VARIANTS and names[1] in (*METRICS, *TIMES)
    is_drop = len(names) == 3 and names[0] in VARIANTS and names[1] in METRICS and names[2] == DROP
    if not (is_count or is_metric or is_drop):
        raise _invalid(text, f"there is no figure {figure}")
    return Rule(figure, relation, float(limit))


def judge(document: Mapping[str, Any], rules: Sequence[Rule]) -> list[Verdict]:
    """Each rule on a report or a rerun.

    Raises:
        InvalidInput: ``invalid_rule``, for a drop on a report, which compares nothing.
    """
    return [_verdict(document, rule) for rule in rules]


def gate_document(
    document: Mapping[str, Any], verdicts: Sequence[Verdict], lost: Sequence[str]
) -> dict[str, Any]:
    """``gate --json``; ``lost`` names the Cases that a person resolved and that are left out."""
    cases = document["cases"]
    rests = "1 case" if cases == 1 else f"{cases} cases"
    return {
        "schema": GATE_SCHEMA,
        "passed": all(each.held for each in verdicts) and not lost,
        "of": document["schema"],
        "cases": cases,
        "excluded": document["excluded"],
        "lost": list(lost),
        "rules": [
            {"rule": str(each.rule), "value": each.value, "held": each.held} for each in verdicts
        ],
        "variants": document["variants"],
        "notes": [f"The gate rests on {rests} with evidence confirmed by a person."],
    }


def _verdict(document: Mapping[str, Any], rule: Rule) -> Verdict:
    value = _figure(document, rule)
    if value is None or not math.isfinite(value):
        return Verdict(rule, None, False)
    if rule.relation == ">=":
        return Verdict(rule, value, value >= rule.limit - TOLERANCE)
    return Verdict(rule, value, value <= rule.limit + TOLERANCE)


def _figure(document: Mapping[str, Any], rule: Rule) -> float | None:
    if rule.figure == "cases":
        return float(document["cases"])
    if rule.figure == "excluded":
        return float(len(document["excluded"]))
    variant, name, *drop = rule.figure.split(".")
    value = document["variants"][variant][name]
    if not drop:
        return None if value is None else float(value)
    if "recorded" not in document:
        raise _invalid(str(rule), "only a rerun is compared with what was recorded")
    return float(document["recorded"][variant][name] - value)


def _invalid(text: str, why: str) -> InvalidInput:
    return InvalidInput(
        "invalid_rule",
        f"{text!r} is no rule: {why}",
        "For example: b4_reranked.ndcg_at_10>=0.7, cases>=20, b4_reranked.recall_at_20.drop<=0.02.",
    )
