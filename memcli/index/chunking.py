"""Cuts a resource into its RetrievalUnits: the description, then the body's sections and parts."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from memcli.index.heading_paths import HeadingTrail, model_heading_path
from memcli.index.markdown_blocks import Block, line_starts, top_level_blocks
from memcli.index.packing import PACKED_TOKENS, SECTION_TOKENS, Span, section_spans
from memcli.index.token_spans import SpanTokens, trimmed
from memcli.index.unit import Locator, RetrievalUnit
from memcli.index.unit_keys import DESCRIPTION, ROOT, UnitKeys, section_identity
from memcli.index.windows import OVERLAP_TOKENS, WINDOW_TOKENS
from memcli.memory.resource import SourceResource

__all__ = ["CHUNKER_VERSION", "CHUNK_LIMITS", "cut_resource", "model_heading_path"]

CHUNKER_VERSION = "heading-sections/1"

ROOT_TOKENS = 384

CHUNK_LIMITS: Mapping[str, int] = MappingProxyType(
    {
        "root": ROOT_TOKENS,
        "section": SECTION_TOKENS,
        "packed": PACKED_TOKENS,
        "window": WINDOW_TOKENS,
        "overlap": OVERLAP_TOKENS,
    }
)
"""Tokens; part of an index's recipe, since units cut under other limits are other units."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading path and the blocks under it, the heading included; never nested."""

    heading_path: tuple[str, ...]
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    unit_key: str
    heading_path: tuple[str, ...]
    span: Span


def cut_resource(
    resource: SourceResource, count_tokens: Callable[[str], int]
) -> tuple[RetrievalUnit, ...]:
    """The units of ``resource`` in order: its description, if any, then its body.

    ``count_tokens`` is the embedding model's count of a text alone. A body of at
    most 384 tokens is one ``root`` unit, a blank one none. Each unit's text is
    ``body[start_char:end_char]``; every non-blank character of the body is in
    one, and in two only where the windows of one block overlap.
    """
    units: list[RetrievalUnit] = []
    if resource.description.strip():
        units.append(_description_unit(resource, count_tokens))
    starts = line_starts(resource.body)
    for piece in _body_pieces(resource, count_tokens, starts):
        locator = _locator(resource, starts, piece.span)
        text = resource.body[piece.span.start : piece.span.end]
        units.append(
            RetrievalUnit(
                unit_key=piece.unit_key,
                resource_id=resource.resource_id,
                position=len(units),
                heading_path=piece.heading_path,
                text=text,
                content_hash=_content_hash(text),
                token_count=piece.span.tokens,
                locator=locator,
            )
        )
    return tuple(units)


def sections(blocks: Sequence[Block]) -> Iterator[Section]:
    """The sections of a body: each heading, of any level, up to the next.

    A heading with nothing under it joins the section that follows, which keeps
    its own path. The text in front of the first heading has the empty path.
    """
    trail = HeadingTrail()
    path: tuple[str, ...] = ()
    gathered: list[Block] = []
    for block in blocks:
        if block.heading is not None:
            if gathered and gathered[-1].heading is None:
                yield Section(path, tuple(gathered))
                gathered = []
            path = trail.enter(block.heading)
        gathered.append(block)
    if gathered:
        yield Section(path, tuple(gathered))


def _body_pieces(
    resource: SourceResource, count_tokens: Callable[[str], int], starts: list[int]
) -> Iterator[_Piece]:
    body = resource.body
    start, end = trimmed(body, 0, len(body))
    if start == end:
        return
    tokens = SpanTokens(body, count_tokens)
    keys = UnitKeys(resource.resource_id)
    if tokens(start, end) <= ROOT_TOKENS:
        (key,) = keys.section(ROOT, 1)
        yield _Piece(key, (), Span(start, end, tokens(start, end)))
        return
    for section in sections(top_level_blocks(body, starts)):
        spans = section_spans(tokens, section.blocks)
        names = keys.section(section_identity(section.heading_path), len(spans))
        for key, span in zip(names, spans, strict=True):
            yield _Piece(key, section.heading_path, span)


def _description_unit(
    resource: SourceResource, count_tokens: Callable[[str], int]
) -> RetrievalUnit:
    (key,) = UnitKeys(resource.resource_id).section(DESCRIPTION, 1)
    # A description that front matter does not hold has no line of its own: the file's first.
    line = resource.description_line or 1
    return RetrievalUnit(
        unit_key=key,
        resource_id=resource.resource_id,
        position=0,
        heading_path=(),
        text=resource.description,
        content_hash=_content_hash(resource.description),
        token_count=count_tokens(resource.description),
        locator=Locator(start_line=line, end_line=line, start_char=None, end_char=None),
    )


def _locator(resource: SourceResource, starts: list[int], span: Span) -> Locator:
    """Lines of the file from places in the body; the last line is that of the last character."""
    before = resource.body_first_line - 1
    return Locator(
        start_line=before + bisect_right(starts, span.start),
        end_line=before + bisect_right(starts, span.end - 1),
        start_char=span.start,
        end_char=span.end,
    )


def _content_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
