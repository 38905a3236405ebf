"""Which reranked candidates are returned: the budgets, and the one reason of each that is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memcli.index.unit import Locator

BELOW_RELEVANCE = "below_relevance"
OVERLAP = "overlap"
RESOURCE_LIMIT = "resource_limit"
TOKEN_BUDGET = "token_budget"
FRAGMENT_LIMIT = "fragment_limit"
NOT_RERANKED = "not_reranked"

# Whoever asks for a note by its whole name gets it, whatever a model thinks.
EXEMPT_TIERS = (1, 2)


@dataclass(frozen=True, slots=True)
class Ranked:
    """What assembly needs of a reranked candidate; the sequence given is rerank order."""

    resource_id: str
    content_hash: str
    locator: Locator
    token_count: int
    relevance: float
    exact_tier: int | None


@dataclass(frozen=True, slots=True)
class Budgets:
    """Relevance floor and the three budgets of section 6."""

    floor: float
    per_resource: int
    tokens: int
    fragments: int


def assemble(candidates: Sequence[Ranked], budgets: Budgets) -> list[str | None]:
    """For each candidate its exclusion reason, or ``None`` where it is returned.

    The checks run in the design's order and the first that fails is the reason.
    The first candidate that would break the token budget ends the list: it and
    all later ones that pass the checks before it have ``token_budget``.
    """
    reasons: list[str | None] = []
    returned: list[Ranked] = []
    tokens = 0
    list_ended = False
    for candidate in candidates:
        reason: str | None = None
        if candidate.relevance < budgets.floor and candidate.exact_tier not in EXEMPT_TIERS:
            reason = BELOW_RELEVANCE
        elif any(overlaps(candidate, other) for other in returned):
            reason = OVERLAP
        elif _of_resource(candidate.resource_id, returned) >= budgets.per_resource:
            reason = RESOURCE_LIMIT
        elif list_ended or tokens + candidate.token_count > budgets.tokens:
            reason, list_ended = TOKEN_BUDGET, True
        elif len(returned) >= budgets.fragments:
            reason = FRAGMENT_LIMIT
        else:
            returned.append(candidate)
            tokens += candidate.token_count
        reasons.append(reason)
    return reasons


def overlaps(one: Ranked, other: Ranked) -> bool:
    """A character of the same body in common, or the same text."""
    if one.content_hash == other.content_hash:
        return True
    if one.resource_id != other.resource_id:
        return False
    a, b = one.locator, other.locator
    if a.start_char is None or a.end_char is None or b.start_char is None or b.end_char is None:
        return False
    return a.start_char < b.end_char and b.start_char < a.end_char


def _of_resource(resource_id: str, returned: Sequence[Ranked]) -> int:
    return sum(1 for each in returned if each.resource_id == resource_id)
