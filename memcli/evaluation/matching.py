"""Which candidate of a ranking satisfies which piece of evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memcli.evaluation.rankings import Ranked


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """One unit of the source Run, or, without a key, a whole frozen resource."""

    resource_id: str
    unit_key: str | None = None

    @property
    def spelling(self) -> str:
        """``unit:KEY`` or ``resource:ID``: how a person names it."""
        return f"resource:{self.resource_id}" if self.unit_key is None else f"unit:{self.unit_key}"


def in_order(evidence: Iterable[EvidenceItem]) -> tuple[EvidenceItem, ...]:
    """Evidence in the one order in which it is stored in documents; a resource before its units."""
    return tuple(sorted(evidence, key=lambda item: (item.resource_id, item.unit_key or "")))


def match(ranking: Sequence[Ranked], evidence: Iterable[EvidenceItem]) -> list[EvidenceItem | None]:
    """The item that each place satisfies, walking down; ``None`` where it satisfies none.

    A candidate satisfies the unsatisfied unit item that names it, else the
    unsatisfied item of its resource; every item is satisfied once at most.
    """
    units: dict[str, EvidenceItem] = {}
    wholes: dict[str, EvidenceItem] = {}
    for item in evidence:
        if item.unit_key is None:
            wholes[item.resource_id] = item
        else:
            units[item.unit_key] = item
    found: list[EvidenceItem | None] = []
    for candidate in ranking:
        named = units.pop(candidate.unit_key, None)
        found.append(named or wholes.pop(candidate.resource_id, None))
    return found
