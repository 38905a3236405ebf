"""Text in cells: wrapped to a width, cut at either end, its words made to stand out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from memcli.cli.safe_text import clipped, display_width, safe

TAB = 4
SHORTEST_WORD = 2


@lru_cache(32)
def wrapped(text: str, cells: int) -> tuple[str, ...]:
    """Lines of at most ``cells``, harmless for a terminal, broken at spaces where there are any."""
    lines: list[str] = []
    for line in safe(text).expandtabs(TAB).split("\n"):
        lines.extend(_wrap(line, max(2, cells)))
    return tuple(lines)


def line_at(text: str, cells: int, start: int) -> int:
    """Which line of ``wrapped`` holds the code point ``start``."""
    return max(0, len(wrapped(text[:start], cells)) - 1) if start else 0


def clipped_left(text: str, cells: int) -> str:
    """The end of ``text`` that fits, with an ellipsis where it was cut: paths end in their name."""
    if display_width(text) <= cells:
        return text
    at = len(text)
    room = cells - 1
    while at > 0 and (room := room - display_width(text[at - 1])) >= 0:
        at -= 1
    return "…" + text[at:] if cells > 0 else ""


def padded(text: str, cells: int) -> str:
    """Exactly ``cells`` wide: cut, or filled with spaces."""
    shown = clipped(text, cells) if cells > 0 else ""
    return shown + " " * (cells - display_width(shown))


@lru_cache(8)
def finder(words: Sequence[str]) -> re.Pattern[str] | None:
    """Finds any of ``words``, longest first; nothing to find for single letters."""
    longest_first = sorted({each for each in words if len(each) >= SHORTEST_WORD}, key=len)[::-1]
    if not longest_first:
        return None
    return re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)


def highlighted(line: str, words: Sequence[str], style: Callable[[str], str]) -> str:
    """``line`` with every occurrence of a word in a style."""
    pattern = finder(tuple(words))
    return pattern.sub(lambda match: style(match.group()), line) if pattern else line


def _wrap(line: str, cells: int) -> Iterator[str]:
    """Never copies the rest of the line: a note may be one line of 50 MB."""
    narrow = line.isascii()
    at = 0
    while True:
        end = min(len(line), at + cells) if narrow else _fit(line, at, cells)
        if end >= len(line):
            yield line[at:].rstrip()
            return
        space = line.rfind(" ", at, end + 1)
        # A break that leaves most of the line empty is no better than one in a word.
        if space > at + (end - at) // 2:
            yield line[at:space].rstrip()
            at = space
            while at < len(line) and line[at] == " ":
                at += 1
        else:
            yield line[at:end]
            at = end


def _fit(line: str, at: int, cells: int) -> int:
    end, used = at, 0
    while end < len(line):
        used += display_width(line[end])
        if used > cells:
            break
        end += 1
    return max(end, at + 1)
