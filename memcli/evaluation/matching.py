"""Which candidate of a ranking satisfies which piece of evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memcli.history.traces import RecordedCandidate


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


def match(
    ranking: Sequence[RecordedCandidate], evidence: Iterable[EvidenceItem]
) -> list[EvidenceItem | None]:
    """The item that each place satisfies, walking down; ``None`` where it satisfies none.

    A candidate satisfies the unsatisfied unit item that names it, else the
    unsatisfied item of its resource; every item is satisfied once at most.
    """
    open_items = set(evidence)
    found: list[EvidenceItem | None] = []
    for candidate in ranking:
        whole = EvidenceItem(candidate.resource_id)
        unit = EvidenceItem(candidate.resource_id, candidate.unit_key)
        item = unit if unit in open_items else whole if whole in open_items else None
        if item is not None:
            open_items.remove(item)
        found.append(item)
    return found
