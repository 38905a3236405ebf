"""The top-level blocks of a markdown body, with the character span of each.

markdown-it-py's block rules do the parsing (CommonMark and tables). Its core
and inline rules are left out: they cost most of the time, and change no block.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from memcli.index.token_spans import trimmed

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

    BlockRule = Callable[[StateBlock, int, int, bool], bool]

PARSER_VERSION = "commonmark-table-blocks/1"

# The parser works through nested content level by level, and each level reads
# all its lines again. Below these depths content is plain paragraph text, which
# keeps hostile nesting cheap and touches no top-level boundary of a real note.
DEEPEST_QUOTE = 5
DEEPEST_LIST = 10
# Never reached: at its own limit the parser drops the rest of the file into the open list.
PARSER_NESTING = 1000


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
    tokens = _block_tokens(body)
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


def _block_tokens(body: str) -> list[Token]:
    parser = _block_parser()
    tokens: list[Token] = []
    parser.block.parse(body, parser, {}, tokens)
    return tokens


@lru_cache(maxsize=1)
def _block_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import blockquote, list_block

    parser = MarkdownIt("commonmark", {"maxNesting": PARSER_NESTING}).enable("table")
    # ``alt`` names the rules that the replaced rule may interrupt, as markdown-it has them.
    parser.block.ruler.at(
        "blockquote",
        _no_deeper("quotes", blockquote, DEEPEST_QUOTE),
        {"alt": ["paragraph", "reference", "blockquote", "list"]},
    )
    parser.block.ruler.at(
        "list",
        _no_deeper("lists", list_block, DEEPEST_LIST),
        {"alt": ["paragraph", "reference", "blockquote"]},
    )
    return parser


def _no_deeper(name: str, rule: BlockRule, deepest: int) -> BlockRule:
    """The rule, which matches nothing once ``deepest`` of its blocks are open around it."""

    def bounded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        depth = state.env.get(name, 0)
        if depth >= deepest:
            return False
        state.env[name] = depth + 1
        try:
            return rule(state, start, end, silent)
        finally:
            state.env[name] = depth

    return bounded
