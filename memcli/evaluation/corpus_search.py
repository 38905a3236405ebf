"""Looks through the frozen corpus of a Case for evidence that no stage of retrieval found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memcli.errors import Failure, InvalidInput
from memcli.evaluation.cases import CaseDetail
from memcli.history.corpus import ManifestResource
from memcli.history.excerpts import excerpt_of
from memcli.history.store import HistoryStore
from memcli.history.traces import RecordedCandidate
from memcli.index.text_folding import fold

MOST_HITS = 20
LINE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class FrozenHit:
    """A frozen resource that holds words of the search.

    ``words`` counts the distinct ones. ``body_line`` is the 1-based line of the
    body with most of them and ``excerpt`` that line, or ``None`` and the
    description where only path, title or description has any. ``unit_keys``
    are candidates of the trace in that resource that hold a word themselves.
    """

    resource: ManifestResource
    words: int
    body_line: int | None
    excerpt: str
    unit_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FrozenSearch:
    """The best hits, how many resources hit at all, and whose bodies cannot be read any more."""

    hits: tuple[FrozenHit, ...]
    total: int
    unreadable: tuple[str, ...]


def search_frozen_corpus(
    store: HistoryStore, detail: CaseDetail, text: str, *, limit: int = MOST_HITS
) -> FrozenSearch:
    """Resources by distinct words of ``text`` they hold, as substrings, whatever the case.

    Ties go to words in path or title, then to more occurrences, then to corpus
    order. Reads every frozen body; the files on disk are never looked at.

    Raises:
        InvalidInput: ``invalid_query``, for a blank text.
    """
    words = list(dict.fromkeys(fold(text).split()))
    if not words:
        raise InvalidInput("invalid_query", "the text to look for is blank")
    ranked: list[tuple[tuple[int, int, int, int], ManifestResource]] = []
    unreadable = []
    for resource in detail.resources:
        try:
            body = frozen_body(store, resource)
        except Failure:
            unreadable.append(resource.path)
            body = ""
        head = fold(f"{resource.resource_id}\n{resource.path}\n{resource.title}")
        rest = fold(f"{resource.description}\n{body}")
        held = sum(word in head or word in rest for word in words)
        if held:
            in_head = sum(word in head for word in words)
            occurrences = sum(rest.count(word) for word in words)
            ranked.append(((-held, -in_head, -occurrences, resource.ordinal), resource))
    ranked.sort(key=lambda pair: pair[0])
    lost = frozenset(unreadable)
    hits = [
        _hit(detail, resource, -order[0], words, _readable(store, resource, lost))
        for order, resource in ranked[:limit]
    ]
    return FrozenSearch(tuple(hits), len(ranked), tuple(unreadable))


def frozen_body(store: HistoryStore, resource: ManifestResource) -> str:
    """The whole body as it was searched.

    Raises:
        Failure: ``store_damaged``.
    """
    return store.blobs.read(resource.body_sha256).decode("utf-8")


def _readable(store: HistoryStore, resource: ManifestResource, lost: frozenset[str]) -> str:
    return "" if resource.path in lost else frozen_body(store, resource)


def _hit(
    detail: CaseDetail, resource: ManifestResource, held: int, words: Sequence[str], body: str
) -> FrozenHit:
    most, best, excerpt = 0, None, resource.description
    for number, line in enumerate(body.split("\n"), 1):
        folded = fold(line)
        on_line = sum(word in folded for word in words)
        if on_line > most:
            most, best, excerpt = on_line, number, line
    keys = tuple(
        candidate.unit_key
        for candidate in detail.candidates
        if candidate.resource_id == resource.resource_id
        and _holds(_searched_text(candidate, resource, body), words)
    )
    return FrozenHit(resource, held, best, excerpt_of(excerpt.strip(), LINE_CHARACTERS), keys)


def _searched_text(candidate: RecordedCandidate, resource: ManifestResource, body: str) -> str:
    locator = candidate.locator
    if locator.start_char is None or locator.end_char is None:
        return resource.description
    return body[locator.start_char : locator.end_char]


def _holds(text: str, words: Sequence[str]) -> bool:
    folded = fold(text)
    return any(word in folded for word in words)
