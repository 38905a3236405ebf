"""What one Case gives a session to work on: rows that can be marked, and the texts behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from memcli.cli.case_text import found_by
from memcli.errors import MemcliError
from memcli.evaluation.matching import EvidenceItem

if TYPE_CHECKING:
    from memcli.evaluation.corpus_search import FrozenHit
    from memcli.facade.case_views import CaseView
    from memcli.history.corpus import ManifestResource
    from memcli.history.traces import RecordedCandidate

TEXTS_AT_HAND = 64


@dataclass(frozen=True, slots=True)
class Entry:
    """A row: a candidate, or, without a ``rank``, a whole note of the frozen corpus.

    ``rank`` is what ``rank:N`` means to ``case resolve``. ``lines`` are those of
    the file. ``about`` says which stages found it; of a note that a search found
    it is the best line, which is line ``body_line`` of the body.
    """

    item: EvidenceItem
    rank: int | None
    suggested: bool
    path: str
    heading: str
    lines: str
    about: str
    body_line: int | None = None

    @property
    def note(self) -> EvidenceItem:
        """The whole note that it is, or is part of."""
        return EvidenceItem(self.item.resource_id)


@dataclass(frozen=True, slots=True)
class Sheet:
    """One Case as it was opened. Reading a text twice gives the same: the corpus is frozen.

    ``fragment`` gives a row's own text, ``note`` the whole note around it and the
    code point at which the row begins in it: a note's body after its description.
    ``unresolved`` counts drafts.
    """

    case_id: str
    query: str
    status: str
    version: int
    held: frozenset[EvidenceItem]
    entries: tuple[Entry, ...]
    notes: tuple[Entry, ...]
    words: tuple[str, ...]
    unresolved: int
    fragment: Callable[[EvidenceItem], str]
    note: Callable[[EvidenceItem], tuple[str, int]]

    def start_of(self, entry: Entry) -> int:
        """The code point of the whole note at which a reader of ``entry`` begins."""
        text, start = self.note(entry.item)
        if entry.rank is not None:
            return start
        if entry.body_line is None:
            return 0
        for _ in range(entry.body_line - 1):
            start = text.find("\n", start) + 1
        return start


def sheet_of(view: CaseView, unresolved: int) -> Sheet:
    """The sheet of a Case; texts are read when they are first shown."""
    from memcli.evaluation.rankings import labelling_order, suggestions

    detail = view.detail
    suggested = {each.unit_key for each in suggestions(detail.candidates)}
    candidates = {each.unit_key: each for each in detail.candidates}
    resources = {each.resource_id: each for each in detail.resources}

    @lru_cache(TEXTS_AT_HAND)
    def fragment(item: EvidenceItem) -> str:
        if item.unit_key is None:
            return note(item)[0]
        return _text_of(view, candidates[item.unit_key])

    @lru_cache(TEXTS_AT_HAND)
    def note(item: EvidenceItem) -> tuple[str, int]:
        candidate = candidates[item.unit_key] if item.unit_key else None
        return _note_of(view, resources.get(item.resource_id), candidate)

    return Sheet(
        case_id=view.case.case_id,
        query=view.case.query,
        status=view.case.status,
        version=view.case.version,
        held=frozenset(each.item for each in detail.evidence),
        entries=tuple(
            _entry(each, rank, each.unit_key in suggested)
            for rank, each in enumerate(labelling_order(detail.candidates), 1)
        ),
        notes=tuple(_note_entry(each) for each in detail.resources),
        words=(*detail.run.lexical_terms, *detail.run.lexical_skipped),
        unresolved=unresolved,
        fragment=fragment,
        note=note,
    )


def entries_of_hits(sheet: Sheet, hits: Iterable[FrozenHit]) -> tuple[Entry, ...]:
    """Each note that was found, then the candidates in it that hold a word themselves."""
    by_key = {each.item.unit_key: each for each in sheet.entries}
    found = []
    for hit in hits:
        found.append(_note_entry(hit.resource, hit.excerpt, hit.body_line))
        found += [by_key[key] for key in hit.unit_keys]
    return tuple(found)


def _entry(candidate: RecordedCandidate, rank: int, suggested: bool) -> Entry:
    locator = candidate.locator
    return Entry(
        item=EvidenceItem(candidate.resource_id, candidate.unit_key),
        rank=rank,
        suggested=suggested,
        path=candidate.path,
        heading=" > ".join(candidate.heading_path),
        lines=f"{locator.start_line}-{locator.end_line}",
        about=found_by(candidate),
    )


def _note_entry(resource: ManifestResource, about: str = "", body_line: int | None = None) -> Entry:
    item = EvidenceItem(resource.resource_id)
    return Entry(item, None, False, resource.path, resource.title, "", about, body_line)


def _text_of(view: CaseView, candidate: RecordedCandidate) -> str:
    try:
        return view.text_of(candidate)
    except MemcliError as error:
        return f"[{error.message}; its excerpt:]\n{candidate.excerpt}"


def _note_of(
    view: CaseView, resource: ManifestResource | None, candidate: RecordedCandidate | None
) -> tuple[str, int]:
    if resource is None:
        return "[the frozen corpus does not have this note]", 0
    head = f"{resource.description}\n\n" if resource.description else ""
    try:
        body = view.body_of(resource)
    except MemcliError as error:
        return f"{head}[{error.message}]", 0
    if candidate is None:
        return head + body, len(head)
    start = candidate.locator.start_char
    # The description has no place in the body; it stands before it.
    return head + body, 0 if start is None else len(head) + start
