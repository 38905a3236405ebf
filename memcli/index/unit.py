"""A RetrievalUnit: the piece of a resource that is searched, with its identity and place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Locator:
    """Where a unit stands: code points in the indexed body, 1-based lines of the file.

    A description has its line and null characters. ``end_char`` is exclusive,
    ``end_line`` inclusive.
    """

    start_line: int
    end_line: int
    start_char: int | None
    end_char: int | None


@dataclass(frozen=True, slots=True)
class RetrievalUnit:
    """A description, or a part of a body, of one resource.

    ``heading_path`` holds headings only, outermost first. ``token_count`` is
    the embedding model's count over ``text`` alone. ``position`` is the unit's
    place in its resource, from 0 (the description comes first).
    """

    unit_key: str
    resource_id: str
    position: int
    heading_path: tuple[str, ...]
    text: str
    content_hash: str
    token_count: int
    locator: Locator
