"""Cuts one over-long block into windows that overlap."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memcli.index.token_spans import SpanTokens, longest_length, trimmed

WINDOW_TOKENS = 384
OVERLAP_TOKENS = 48

# A window's end moves back within its last eighth only, in characters and in tokens.
LEAST_TOKENS = WINDOW_TOKENS - WINDOW_TOKENS // 8

# A window need not be full to the last token; closer than this is not searched for.
WINDOW_SLACK = 8

# How far back from a token boundary the start of its word is looked for.
WORD_REACH = 64

NON_BLANK = re.compile(r"\S")
LINE_END = re.compile(r"(?=\n)")
SENTENCE_END = re.compile(r"[。！？；…][」』”’）】》]*|[.!?][\"')\]]*(?=\s)")
WHITE_SPACE = re.compile(r"(?=\s)")
BARE_MARK = re.compile(r"[.!?;]")
# Where a window may end, the best first: lines of code and table rows stay whole if they can.
CUTS = (LINE_END, SENTENCE_END, WHITE_SPACE, BARE_MARK)


def windows(tokens: SpanTokens, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Windows over ``body[start:end]``, a span without blank ends, as (start, end, tokens).

    A window has at most 384 tokens. It shares at most 48 with the one before,
    as near to 48 as characters allow, and none with any other. Only a single
    character that is more than 384 tokens by itself can exceed the limit.
    """
    guess = max(1, (end - start) * WINDOW_TOKENS // max(1, tokens(start, end)))
    covered = start
    while True:
        reach = _window_end(tokens, start, end, covered, guess)
        _, stop = trimmed(tokens.body, start, reach)
        if stop <= covered:
            # Only white space fitted behind the overlap: go on without one.
            start = _next_word(tokens.body, covered)
            continue
        yield start, stop, tokens(start, stop)
        if stop == end:
            return
        guess = reach - start
        # A character is in two windows at most, so the next one begins behind the last but one.
        start = _overlap_start(tokens, max(start + 1, covered), stop, guess)
        covered = stop


def _window_end(tokens: SpanTokens, start: int, end: int, covered: int, guess: int) -> int:
    def size_at(stop: int) -> int:
        return tokens(*trimmed(tokens.body, start, stop))

    length = longest_length(
        lambda size: tokens(start, start + size), end - start, WINDOW_TOKENS, guess, WINDOW_SLACK
    )
    reach = start + max(1, length)
    if reach == end:
        return end
    least = max(reach - length // 8, covered + 1)
    for mark in CUTS:
        cut = _last_cut(tokens.body, mark, least, reach)
        if cut is not None and LEAST_TOKENS <= size_at(cut) <= WINDOW_TOKENS:
            return cut
    while reach > start + 1 and size_at(reach) > WINDOW_TOKENS:
        reach -= 1
    return reach


def _last_cut(body: str, mark: re.Pattern[str], least: int, reach: int) -> int | None:
    """The last place in ``least..reach`` where ``mark`` allows an end."""
    cuts = (match.end() for match in mark.finditer(body, least - 1, reach + 1))
    return max((cut for cut in cuts if least <= cut <= reach), default=None)


def _overlap_start(tokens: SpanTokens, floor: int, stop: int, guess: int) -> int:
    """Where the window after one that ends at ``stop`` begins; not before ``floor``."""
    size = longest_length(
        lambda length: tokens(stop - length, stop),
        stop - floor,
        OVERLAP_TOKENS,
        guess * OVERLAP_TOKENS // WINDOW_TOKENS,
        slack=0,
    )
    start = _next_word(tokens.body, stop - size)
    while start < stop and tokens(start, stop) > OVERLAP_TOKENS:
        start = _next_word(tokens.body, start + 1)
    if start >= stop:
        return start
    for word in _words_around(tokens.body, floor, start, stop):
        # A word cut in two has other tokens than the whole one: its start may do as well.
        if tokens(start, stop) <= tokens(word, stop) <= OVERLAP_TOKENS:
            start = word
    return start


def _words_around(body: str, floor: int, place: int, stop: int) -> Iterator[int]:
    """The start of the word behind ``place``, then that of the word ``place`` is in."""
    if body[place - 1].isspace():
        return
    for behind in range(place + 1, min(stop, place + WORD_REACH)):
        if body[behind - 1].isspace() and not body[behind].isspace():
            yield behind
            break
    for before in range(place - 1, max(floor, place - WORD_REACH) - 1, -1):
        if body[before - 1].isspace():
            yield before
            break


def _next_word(body: str, place: int) -> int:
    match = NON_BLANK.search(body, place)
    return match.start() if match else len(body)
