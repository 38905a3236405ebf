"""CommonMark's block rules (and tables) by markdown-it-py, bounded for hostile nesting.

Its core and inline rules are left out: they cost most of the time, and change no block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

    BlockRule = Callable[[StateBlock, int, int, bool], bool]

# The parser works through nested content level by level, and each level reads
# all its lines again. Below these depths content is plain paragraph text, which
# keeps hostile nesting cheap and touches no top-level boundary of a real note.
DEEPEST_QUOTE = 5
DEEPEST_LIST = 10
# Never reached: at its own limit the parser drops the rest of the file into the open list.
PARSER_NESTING = 1000
# The pattern for HTML tags takes some hundred bytes of memory for each of a line.
LONGEST_HTML_LINE = 1 << 16


def block_tokens(body: str) -> list[Token]:
    """The parser's tokens for the blocks of ``body`` (LF line ends), nested ones included."""
    parser = _block_parser()
    tokens: list[Token] = []
    parser.block.parse(body, parser, {}, tokens)
    return tokens


@lru_cache(maxsize=1)
def _block_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import blockquote, html_block, list_block

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
    parser.block.ruler.at(
        "html_block",
        _not_on_long_lines(html_block),
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


def _not_on_long_lines(rule: BlockRule) -> BlockRule:
    def bounded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        length = state.eMarks[start] - state.bMarks[start]
        return length <= LONGEST_HTML_LINE and rule(state, start, end, silent)

    return bounded
