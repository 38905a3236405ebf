"""Text from a corpus, made harmless for a terminal: it cannot move, colour, retitle or ring it."""

from __future__ import annotations

import re
import unicodedata

# C0 but tab and line feed, DEL and C1 (where 0x9B alone opens a control
# sequence), and the marks that reorder what a reader sees.
_HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def safe(text: str) -> str:
    """Show each harmful character as its escape: ``\\x1b``, ``\\u202e``."""
    return _HARMFUL.sub(_escaped, text).encode("utf-8", "backslashreplace").decode("utf-8")


def safe_line(text: str) -> str:
    """Like ``safe``, on one line: white space runs become one space."""
    return safe(" ".join(text.split()))


def safe_message(text: str) -> str:
    """Like ``safe``, with line feeds escaped too: a file's name cannot add an "error:" line."""
    return safe(text).replace("\n", "\\n")


def safe_output(text: str, own: re.Pattern[str] | None) -> str:
    """Like ``safe``, but for what ``own`` matches: sequences that memcli itself put there."""
    if own is None:
        return safe(text)
    parts, at = [], 0
    for found in own.finditer(text):
        parts += [safe(text[at : found.start()]), found.group()]
        at = found.end()
    return "".join([*parts, safe(text[at:])])


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def display_width(text: str) -> int:
    """Terminal cells that ``text`` takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1
        for each in text
    )


def clipped(text: str, cells: int) -> str:
    """The start of ``text`` that fits ``cells``, with an ellipsis where it was cut."""
    if display_width(text) <= cells:
        return text
    kept, used = [], 0
    for each in text:
        width = display_width(each)
        if used + width > cells - 1:
            break
        kept.append(each)
        used += width
    return "".join(kept) + "…"
