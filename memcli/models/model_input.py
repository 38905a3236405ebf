"""Assemble a model's input from a unit so that it fits, whatever the GGUF's limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memcli.index.embedding import PassageInput

# The least that metadata keeps before the text's end is cut instead.
METADATA_FLOOR = 32
QUERY_TOKENS = 128

Tokenize = Callable[[str], list[int]]


@dataclass(frozen=True, slots=True)
class FittedPassage:
    """Token ids of metadata and text within a budget; ``truncated`` where text was cut."""

    ids: list[int]
    truncated: bool


@dataclass(frozen=True, slots=True)
class FittedQuery:
    """The first token ids of a query; ``shortened`` where it had more than 128."""

    ids: list[int]
    shortened: bool


def fit_query(tokenize: Tokenize, text: str, budget: int) -> FittedQuery:
    """Keep at most the first 128 tokens of a query, fewer where ``budget`` is smaller."""
    ids = tokenize(text)
    room = max(1, min(QUERY_TOKENS, budget))
    return FittedQuery(ids[:room], len(ids) > room)


def fit_passage(tokenize: Tokenize, passage: PassageInput, budget: int) -> FittedPassage:
    """Path, heading path and text in at most ``budget`` tokens.

    Metadata is shortened first, from its outer end: the file's own name and the
    innermost heading say the most. Then the text loses its end.
    """
    path = tokenize(passage.path + "\n")
    headings = tokenize(" > ".join(passage.heading_path) + "\n") if passage.heading_path else []
    text = tokenize(passage.text)
    excess = len(path) + len(headings) + len(text) - budget
    if excess > 0:
        floor = min(METADATA_FLOOR, max(budget // 4, 1))
        path, headings = _shorten(path, headings, excess, floor)
    room = max(0, budget - len(path) - len(headings))
    return FittedPassage([*path, *headings, *text[:room]], len(text) > room)


def _shorten(
    path: list[int], headings: list[int], excess: int, floor: int
) -> tuple[list[int], list[int]]:
    total = len(path) + len(headings)
    target = max(min(total, floor), total - excess)
    # The path gives way first, down to half of what metadata keeps.
    keep_path = min(len(path), max(target - len(headings), target // 2))
    keep_headings = min(len(headings), target - keep_path)
    return path[len(path) - keep_path :], headings[len(headings) - keep_headings :]
