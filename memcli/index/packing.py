"""Turns one section's blocks into the spans of its units, within the token limits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, takewhile

from memcli.index.markdown_blocks import Block
from memcli.index.token_spans import SpanTokens, last_that_fits
from memcli.index.windows import WINDOW_TOKENS, windows

SECTION_TOKENS = 480
PACKED_TOKENS = 384


@dataclass(frozen=True, slots=True)
class Span:
    """``body[start:end]`` and its token count."""

    start: int
    end: int
    tokens: int


def section_spans(tokens: SpanTokens, blocks: Sequence[Block]) -> list[Span]:
    """The units of a section, in order.

    One of at most 480 tokens stays whole. A longer one is packed from whole
    blocks up to 384; a block up to 480 stays whole, a longer one is cut into
    windows. A heading goes with the block it stands over if the two fit.
    """
    whole = _span(tokens, blocks[0].start, blocks[-1].end)
    if whole.tokens <= SECTION_TOKENS:
        return [whole]
    return list(_packed(tokens, _with_headings(tokens, blocks)))


def _span(tokens: SpanTokens, start: int, end: int) -> Span:
    return Span(start, end, tokens(start, end))


def _with_headings(tokens: SpanTokens, blocks: Sequence[Block]) -> list[Span]:
    """The blocks' spans; the headings in front are one with the first block, as many as fit.

    Two may share a unit of 384 tokens. In front of a block that is cut into
    windows the headings may fill half of the first.
    """
    leading = len(list(takewhile(lambda block: block.heading is not None, blocks)))
    spans = [_span(tokens, block.start, block.end) for block in blocks]
    if leading in (0, len(blocks)):
        return spans
    first = spans[leading]
    cut = first.tokens > SECTION_TOKENS
    joined = leading
    while joined > 0:
        start = spans[joined - 1].start
        if cut and tokens(start, spans[leading - 1].end) > WINDOW_TOKENS // 2:
            break
        if not cut and tokens(start, first.end) > PACKED_TOKENS:
            break
        joined -= 1
    together = _span(tokens, spans[joined].start, first.end)
    return [*spans[:joined], together, *spans[leading + 1 :]]


def _packed(tokens: SpanTokens, spans: Sequence[Span]) -> Iterator[Span]:
    for oversized, group in groupby(spans, lambda span: span.tokens > SECTION_TOKENS):
        if not oversized:
            yield from _filled(tokens, list(group))
            continue
        for span in group:
            yield from (Span(*window) for window in windows(tokens, span.start, span.end))


def _filled(tokens: SpanTokens, spans: Sequence[Span]) -> Iterator[Span]:
    """Units of as many whole spans as fit; a span that is too long by itself is one."""
    # Sums of the counts only tell where to look: the unit's own text is what counts.
    sums = list(accumulate((span.tokens for span in spans), initial=0))
    first = 0
    while first < len(spans):
        start = spans[first].start

        def fits(index: int, start: int = start) -> bool:
            return tokens(start, spans[index].end) <= PACKED_TOKENS

        guess = bisect_right(sums, sums[first] + PACKED_TOKENS) - 2
        last = last_that_fits(fits, first, len(spans) - 1, guess)
        yield _span(tokens, start, spans[last].end)
        first = last + 1
