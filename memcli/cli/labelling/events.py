"""What a session is told and what it asks for: keys, sizes, answers; saving, searching, leaving."""

from __future__ import annotations

from dataclasses import dataclass

from memcli.cli.labelling.sheet import Entry
from memcli.evaluation.matching import EvidenceItem


@dataclass(frozen=True, slots=True)
class Key:
    """One key: a printable character, or a name such as ``up``, ``enter``, ``ctrl-u``."""

    name: str


@dataclass(frozen=True, slots=True)
class Paste:
    """Text that was pasted; it is never taken for keys."""

    text: str


@dataclass(frozen=True, slots=True)
class Resized:
    """The terminal's size in cells; also sent when it must be drawn anew."""

    columns: int
    rows: int


@dataclass(frozen=True, slots=True)
class Found:
    """What a search of the frozen corpus gave; ``total`` counts notes, also those not shown."""

    text: str
    entries: tuple[Entry, ...]
    total: int
    unreadable: int


@dataclass(frozen=True, slots=True)
class Theirs:
    """The Case as somebody else saved it meanwhile."""

    version: int
    status: str
    evidence: frozenset[EvidenceItem]


@dataclass(frozen=True, slots=True)
class Refused:
    """The store did not save; why."""

    message: str


Event = Key | Paste | Resized | Found | Theirs | Refused


@dataclass(frozen=True, slots=True)
class Save:
    """Replace the evidence; an empty one says that none matched."""

    expected_version: int
    evidence: tuple[EvidenceItem, ...]


@dataclass(frozen=True, slots=True)
class Search:
    """Look through the frozen corpus."""

    text: str


@dataclass(frozen=True, slots=True)
class Skip:
    """Leave this Case as it is and go to the next."""


@dataclass(frozen=True, slots=True)
class Quit:
    """Leave."""


Effect = Save | Search | Skip | Quit
