"""The top-level blocks of a markdown body, with the character span of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memcli.index.token_spans import trimmed
from memcli.memory.block_parsing import block_tokens

if TYPE_CHECKING:
    from markdown_it.token import Token

PARSER_VERSION = "commonmark-table-blocks/1"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading's level, 1 to 6, and its raw inline text on one line."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """A top-level block: ``body[start:end]``, code points, blank ends trimmed.

    Text for which the parser has no token (link reference definitions) is a
    block too, so the blocks together hold every non-blank character.
    """

    start: int
    end: int
    heading: Heading | None = None


def line_starts(body: str) -> list[int]:
    """Where each line of ``body`` begins, in code points; a line ends at a line feed only."""
    return [0, *(match.end() for match in re.finditer("\n", body))]


def top_level_blocks(body: str, starts: list[int]) -> list[Block]:
    """The blocks of ``body`` in order; ``starts`` is ``line_starts(body)``.

    Headings in quotes, lists and fences are part of their block.
    """
    headings: dict[int, Heading] = {}
    boundaries = {0}
    tokens = block_tokens(body)
    for place, token in enumerate(tokens):
        if token.level or token.map is None:
            continue
        boundaries.update(token.map)
        if token.type == "heading_open":
            headings[token.map[0]] = _heading(token, tokens[place + 1])
    lines = sorted(line for line in boundaries if line < len(starts))
    offsets = [starts[line] for line in lines]
    blocks = []
    for line, begin, end in zip(lines, offsets, [*offsets[1:], len(body)], strict=True):
        start, stop = trimmed(body, begin, end)
        if start < stop:
            blocks.append(Block(start, stop, headings.get(line)))
    return blocks


def _heading(opening: Token, inline: Token) -> Heading:
    text = " ".join(line.strip() for line in inline.content.strip().split("\n"))
    return Heading(int(opening.tag[1:]), text)
