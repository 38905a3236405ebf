"""The first heading, as CommonMark sees it, by the scanner and by the parser alike."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memcli.memory.title import first_heading, parsed_first_heading

LINES = (
    *("# A", "## B ##", "#", "#x", "####### x", "text", "  text", "    code", "\tcode", "- item"),
    *("* x", "1. x", "> q", "```", "~~~", "```py", "~~~~", "===", "---", "--", "-", "=", "", ""),
    *("***", "___", "| a | b |", "|---|---|", "a | b", "--|--", "<div>", "</div>", "<!-- x"),
    *("-->", "<?php", "[foo]: /url", "[foo]:", "'t'", "`code", "# ", "#\tT", "   # D", "    # E"),
    *("   ```", "x\\", "\u3000全角", "标题", "\x0b", "\x0c", "a\xa0", "# \xa0", "1) x", "12345"),
    *("+", "+ x", "_a_", "*a*", "__", "**b**", "# a \\#", "# a #\t", "## ##", '"q', "(x)", "!x"),
    *("# a | b", "Title", "-----", "- - -", "# \x0b", "\u2028", "## x \u2003##", ":-", "a\x1c"),
)


def full_parse(body: str) -> str | None:
    """The whole body by the whole parser, inline rules and all."""
    tokens = MarkdownIt("commonmark", {"maxNesting": 100}).enable("table").parse(body)
    for index, token in enumerate(tokens):
        text = tokens[index + 1].content.strip() if token.type == "heading_open" else ""
        if token.level == 0 and text:
            return " ".join(line.strip() for line in text.split("\n"))
    return None


@settings(max_examples=400)
@given(st.lists(st.sampled_from(LINES), max_size=9).map("\n".join))
def test_scanner_and_parser_agree_with_a_full_parse(body: str) -> None:
    expected = full_parse(body)
    assert first_heading(body) == expected
    assert parsed_first_heading(body) == expected


@given(st.text(alphabet="#=-`~>* \t\n|ab<[]:1.é\x0b", max_size=40))
def test_any_text_gives_what_a_full_parse_gives(body: str) -> None:
    assert first_heading(body) == full_parse(body)


@pytest.mark.parametrize(
    ("body", "heading"),
    [
        ("# One\n\n# Two\n", "One"),
        ("text first\n\n## Later ##\n", "Later"),
        ("Setext\ntitle\n===\n", "Setext title"),
        ("   ### *Marks* `stay`\n", "*Marks* `stay`"),
        ("> # quoted\n\n- # listed\n\n# Real\n", "Real"),
        ("```sh\n# comment\n```\n# Real\n", "Real"),
        ("<!--\n# hidden\n-->\n\n# Real\n", "Real"),
        ("#\n\n# Not empty\n", "Not empty"),
        ("    # code\n", None),
        ("#hashtag\n", None),
        ("", None),
    ],
)
def test_headings_count_at_top_level_only(body: str, heading: str | None) -> None:
    assert first_heading(body) == heading


def test_a_heading_far_down_a_list_of_thousands_is_found() -> None:
    body = "- item\n" * 3000 + "\n# Far\n"
    assert first_heading(body) == "Far"


def test_hostile_nesting_raises_nothing() -> None:
    assert first_heading(">" * 5000 + "\n\n# Real\n") == "Real"
    assert first_heading("- " * 5000 + "\n") is None
