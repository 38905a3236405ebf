"""Turn a query into lexical terms: any text is a query, and none of it is FTS5 syntax."""

from __future__ import annotations

import string
import unicodedata
from dataclasses import dataclass

from memcli.index.text_folding import nfc

MOST_WINDOWS = 32
# FTS5 opens a cursor of some 25 kB for every three characters that it looks for.
LONGEST_TERM = 256
MOST_CHARACTERS = 16_384
WINDOW = 3

# Kept inside a word; ``+`` and ``#`` also at its end, so that C++ and C# are words.
_INNER = "_-./:+#"
_TRAILING = "+#"
_ASCII_SEPARATORS = frozenset(string.punctuation) - frozenset(_INNER)


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """``terms`` go to BM25; ``skipped`` are words under three characters."""

    terms: tuple[str, ...]
    skipped: tuple[str, ...]

    @property
    def match_expression(self) -> str:
        """Every term a quoted FTS5 string, quotes doubled, joined by OR; empty without terms."""
        return " OR ".join('"' + term.replace('"', '""') + '"' for term in self.terms)


def parse_query(query: str) -> QueryTerms:
    """Split, window and sort out the words of ``query``.

    An ASCII word of three characters or more is a term. A word with any other
    character gives its three-character windows, at most 32 a query, evenly
    spread where there are more. Repeats (without regard to case) count once.
    Of a longer ASCII word its first 256 characters are looked for; of words with
    more than 16,384 characters in all some, evenly spread over the query.
    """
    words = _distinct(split_words(query))
    skipped = tuple(word for word in words if len(word) < WINDOW)
    long = [word for word in words if len(word) >= WINDOW]
    windows = _distinct([each for word in long if not word.isascii() for each in _windows(word)])
    chosen = frozenset(_spread(windows, MOST_WINDOWS))
    plain = _distinct([word[:LONGEST_TERM] for word in long if word.isascii()])
    characters = sum(map(len, plain))
    if characters > MOST_CHARACTERS:
        plain = _spread(plain, len(plain) * MOST_CHARACTERS // characters)
    kept = frozenset(plain)
    terms: list[str] = []
    for word in long:
        if not word.isascii():
            terms.extend(window for window in _windows(word) if window in chosen)
        elif word[:LONGEST_TERM] in kept:
            terms.append(word[:LONGEST_TERM])
    return QueryTerms(tuple(_distinct(terms)), skipped)


def split_words(query: str) -> list[str]:
    """Words of the NFC form, split at white space and punctuation except inside a word."""
    text = nfc(query)
    spaced = "".join(" " if _separates(character) else character for character in text)
    trimmed = (word.strip(_INNER) + _tail(word) for word in spaced.split())
    return [word for word in trimmed if word.strip(_INNER)]


def _tail(word: str) -> str:
    rest = word.rstrip("".join(set(_INNER) - set(_TRAILING)))
    return rest[len(rest.rstrip(_TRAILING)) :]


def _separates(character: str) -> bool:
    if character.isascii():
        return character in _ASCII_SEPARATORS or not character.isprintable() or character == " "
    return unicodedata.category(character)[0] in "PZC"


def _windows(word: str) -> list[str]:
    return [word[at : at + WINDOW] for at in range(len(word) - WINDOW + 1)]


def _spread(windows: list[str], most: int) -> list[str]:
    if len(windows) <= most:
        return windows
    step = (len(windows) - 1) / (most - 1)
    return [windows[round(at * step)] for at in range(most)]


def _distinct(words: list[str]) -> list[str]:
    first: dict[str, str] = {}
    for word in words:
        first.setdefault(word.casefold(), word)
    return list(first.values())
