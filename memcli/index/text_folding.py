"""Foldings of text: NFC, that for identity recall, and that of FTS5's trigram tokenizer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator


def fold(text: str) -> str:
    """NFC and case-folded: how queries, ids, paths and titles are compared."""
    return nfc(nfc(text).casefold())


def fts_text(text: str) -> str:
    """What a full-text column holds of ``text``: NFC, and no NUL, at which FTS5 would stop."""
    return nfc(text).replace("\0", " ")


# Where no character has a combining class (none of those is a letter, digit or space), there
# is nothing to put in order: the first look is cheap and mostly the last.
_MOST_MARKS = 30
_MANY_MARKS = re.compile(rf"[^\w\s\x00-\x7f]{{{_MOST_MARKS + 1}}}")
_JOINER = "\u034f"


def nfc(text: str) -> str:
    """Unicode's NFC in linear time.

    Putting a run of combining marks in order takes the square of its length.
    So a run of more than 30 is parted by joiners first, as Unicode's Stream-Safe
    Text Format does (UAX #15); no language writes such runs.
    """
    if not text.isascii() and _MANY_MARKS.search(text):
        text = "".join(_stream_safe(text))
    return unicodedata.normalize("NFC", text)


def _stream_safe(text: str) -> Iterator[str]:
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > _MOST_MARKS:
            yield _JOINER
            marks = 1
        yield character


# Letters whose case FTS5 folds one by one, as ``str.lower`` does but for the exceptions below.
# Scripts written without spaces are left out: their pieces would be whole clauses.
_RANGES = ((0xC0, 0x250), (0x370, 0x528), (0x590, 0x780), (0x1E00, 0x1F00))

# Where SQLite's table (fts5_unicode2.c) and ``str.lower`` differ, found by asking SQLite.
_EXCEPTIONS = {
    0x00B5: "μ",
    0x0130: "İ",
    0x017F: "s",
    0x0345: "ι",
    0x037F: "Ϳ",
    0x03C2: "σ",
    0x03D0: "β",
    0x03D1: "θ",
    0x03D5: "φ",
    0x03D6: "π",
    0x03F0: "κ",
    0x03F1: "ρ",
    0x03F5: "ε",
    0x1E9B: "ṡ",
    0x1E9E: "ß",
    0x1FBE: "ι",
    0x2126: "ω",
    0x212A: "k",
    0x212B: "å",
    0x2C7E: "ȿ",
    0x2C7F: "ɀ",
}

_FOLDED = {
    code: lower
    for start, end in ((0x41, 0x5B), *_RANGES)
    for code in range(start, end)
    if len(lower := chr(code).lower()) == 1 and lower != chr(code)
} | _EXCEPTIONS

_LETTERS = "".join(f"\\U{start:08x}-\\U{end - 1:08x}" for start, end in _RANGES)

PIECE = re.compile(f"[0-9a-z_\\-./:+#{_LETTERS}]+")
"""A run of the characters that query terms are made of, in folded text.

A term of only such characters never reaches over the edge of a piece.
"""


_UNLIKE_LOWER = re.compile(f"[{''.join(map(chr, _EXCEPTIONS))}\u03a3]")


def trigram_fold(text: str) -> str:
    """``text`` as FTS5's ``trigram case_sensitive 0`` compares it, character by character.

    Exact for every character of a ``PIECE`` and every one that folds into one;
    others may keep their case.
    """
    # Far faster than the table, and the same but for these (Σ depends on its place).
    if text.isascii() or not _UNLIKE_LOWER.search(text):
        return text.lower()
    return text.translate(_FOLDED)
