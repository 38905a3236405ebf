"""Short forms of texts that are stored beside their source: excerpts and error summaries."""

from __future__ import annotations

import re
import unicodedata

EXCERPT_CHARACTERS = 400
SUMMARY_CHARACTERS = 500
SURROGATES = re.compile("[\ud800-\udfff]")
JOINERS = "\u200d\ufe0e\ufe0f"


def excerpt_of(text: str, most: int = EXCERPT_CHARACTERS) -> str:
    """The first characters of ``text``, at most ``most`` code points.

    The cut does not separate a letter from its combining marks, nor the parts of
    a joined emoji, unless there is nothing else to cut.
    """
    if len(text) <= most:
        return text
    end = most
    while end > most - 16 and _continues(text, end):
        end -= 1
    return text[:most] if _continues(text, end) else text[:end]


def storable(text: str) -> str:
    """``text`` as SQLite can hold it: bytes of a command line that are no UTF-8 become U+FFFD."""
    return SURROGATES.sub("\ufffd", text)


def _continues(text: str, index: int) -> bool:
    return (
        unicodedata.combining(text[index]) != 0
        or text[index] in JOINERS
        or text[index - 1] == JOINERS[0]
    )
