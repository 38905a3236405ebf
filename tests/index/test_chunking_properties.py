"""What holds for every body: coverage, limits, unique and lasting keys, the parser's headings."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memcli.index.chunking import cut_resource
from memcli.index.markdown_blocks import line_starts, top_level_blocks
from memcli.index.unit import RetrievalUnit
from memcli.memory.resource import Scope, SourceResource

Counter = Callable[[str], int]
WORD = re.compile(r"\w{1,4}|[^\w\s]")


def characters(text: str) -> int:
    """Blank ones too: the harshest counter, where trimming changes the count."""
    return len(text)


def pieces(text: str) -> int:
    """Up to four letters a token: a word cut in two can have more tokens than before."""
    return len(WORD.findall(text))


def opened(text: str) -> int:
    """A tokenizer that adds a token in front of every text: sums overestimate."""
    return 1 + len(text.split())


def jagged(text: str) -> int:
    """Counts that dip by a few where the text grows, as a cut word's tokens do."""
    return len(text) + zlib.crc32(text.encode()) % 5


COUNTERS = st.sampled_from([characters, pieces, opened, jagged])


def resource(body: str) -> SourceResource:
    return SourceResource(
        resource_id="a.md",
        scope=Scope.PROJECT,
        kind="note",
        path="a.md",
        title="A",
        description="",
        body=body,
        body_sha256="",
        resource_hash="",
        body_first_line=1,
        description_line=None,
        file_path="/project/a.md",
    )


def cut(body: str, count: Counter = pieces) -> tuple[RetrievalUnit, ...]:
    return cut_resource(resource(body), count)


def span(unit: RetrievalUnit) -> tuple[int, int]:
    assert unit.locator.start_char is not None
    assert unit.locator.end_char is not None
    return unit.locator.start_char, unit.locator.end_char


WORDS = st.sampled_from(
    [
        "alpha",
        "b",
        "configuration",
        "回滚数据库。",
        "end.",
        "x" * 70,
        "a_b",
        "[l]",
        "😀",
        "`c`",
        "|",
    ]
)
LINES = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
PARAGRAPHS = st.lists(LINES, min_size=1, max_size=4).map("\n".join)
LONG = st.tuples(LINES, st.integers(20, 60)).map(lambda pair: " ".join([pair[0]] * pair[1]))
HEADINGS = st.tuples(st.integers(1, 6), st.sampled_from(["One", "Two", "two", "回滚", ""])).map(
    lambda pair: "#" * pair[0] + " " + pair[1]
)
BLOCKS = st.one_of(
    HEADINGS,
    HEADINGS,
    PARAGRAPHS,
    LONG,
    LONG.map(lambda text: text.replace(" ", "\n")),
    LONG.map(lambda text: text.replace(" ", "")),
    PARAGRAPHS.map(lambda text: text + "\n==="),
    PARAGRAPHS.map(lambda text: "```\n# no\n" + text + "\n```"),
    PARAGRAPHS.map(lambda text: "> # no\n> " + text),
    PARAGRAPHS.map(lambda text: "- # no\n  " + text),
    PARAGRAPHS.map(lambda text: "| a | b |\n|---|---|\n" + text),
    PARAGRAPHS.map(lambda text: "    " + text),
    st.sampled_from(["[ref]: /url 'title'", "---", "<!--", "<div>", "```", "\0", " " * 400, "\t"]),
)
BODIES = st.one_of(
    st.lists(
        st.tuples(BLOCKS, st.sampled_from(["\n", "\n\n", "\n \n\n"])).map("".join), max_size=14
    ).map("".join),
    st.text(st.sampled_from("#>-=`~|[]: \t\nab\0.。1)<!*_\\"), max_size=900),
)


@settings(deadline=None, max_examples=300)
@given(BODIES, COUNTERS)
def test_every_unit_is_its_slice_and_every_non_blank_character_is_in_one(
    body: str, count: Counter
) -> None:
    units = cut(body, count)
    times = [0] * len(body)
    for unit in units:
        start, end = span(unit)
        assert unit.text == body[start:end]
        assert unit.text == unit.text.strip() != ""
        for place in range(start, end):
            times[place] += 1
    assert all(times[place] for place, char in enumerate(body) if not char.isspace())
    assert max(times, default=0) <= 2


@settings(deadline=None, max_examples=300)
@given(BODIES, COUNTERS)
def test_units_share_characters_only_where_windows_overlap_and_at_most_48_tokens(
    body: str, count: Counter
) -> None:
    for first, second in pairwise(cut(body, count)):
        (_, end), (start, _) = span(first), span(second)
        assert span(first)[0] < start
        assert end < span(second)[1]
        if start < end:
            assert first.token_count <= 384
            assert second.token_count <= 384
            assert first.unit_key.rpartition(".")[0] == second.unit_key.rpartition(".")[0]
            assert count(body[start:end]) <= 48


@settings(deadline=None, max_examples=300)
@given(BODIES, COUNTERS)
def test_the_limits_hold_by_the_count_of_the_unit_itself(body: str, count: Counter) -> None:
    units = cut(body, count)
    blocks = {(block.start, block.end) for block in top_level_blocks(body, line_starts(body))}
    parts = [unit.unit_key.rpartition(".")[0] for unit in units]
    for unit, section in zip(units, parts, strict=True):
        assert unit.token_count == count(unit.text)
        assert unit.token_count <= 480
        if unit.token_count > 384:
            assert parts.count(section) == 1 or span(unit) in blocks


@settings(deadline=None)
@given(BODIES, COUNTERS)
def test_keys_are_unique_and_the_cut_is_deterministic(body: str, count: Counter) -> None:
    units = cut(body, count)
    assert len({unit.unit_key for unit in units}) == len(units)
    assert [unit.position for unit in units] == list(range(len(units)))
    assert cut(body, count) == units


@settings(deadline=None)
@given(BODIES, st.integers(1, 30))
def test_lines_count_from_the_bodys_first_line_in_the_file(body: str, first_line: int) -> None:
    for unit in cut(body):
        start, end = span(unit)
        assert unit.locator.start_line == 1 + body.count("\n", 0, start)
        assert unit.locator.end_line == 1 + body.count("\n", 0, end - 1)


@settings(deadline=None, max_examples=400)
@given(BODIES)
def test_the_headings_are_the_full_parsers_top_level_headings(body: str) -> None:
    body = body.replace("\0", "x")  # the full parser replaces it first, we keep it
    tokens = MarkdownIt("commonmark").enable("table").parse(body)
    expected = [
        (int(token.tag[1:]), " ".join(inline.content.split()))
        for token, inline in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0
    ]
    blocks = top_level_blocks(body, line_starts(body))
    found = [block.heading for block in blocks if block.heading is not None]
    assert [(one.level, " ".join(one.text.split())) for one in found] == expected


TEXTS = st.lists(st.sampled_from(["alpha", "beta", "gamma."]), min_size=1, max_size=900)
SECTIONS = st.lists(
    st.tuples(st.sampled_from(["# One", "## Two", "# Three"]), TEXTS.map(" ".join)),
    min_size=2,
    max_size=5,
)
LAST = ("# Last", "word " * 500)


@settings(deadline=None)
@given(SECTIONS, st.data())
def test_sections_keep_their_keys_and_content_when_another_is_edited(
    sections: list[tuple[str, str]], data: st.DataObject
) -> None:
    edited = data.draw(st.integers(0, len(sections) - 1))
    after = list(sections)
    after[edited] = (sections[edited][0], " ".join(data.draw(TEXTS)))

    def by_section(given: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
        body = "".join(f"{heading}\n\n{text}\n\n" for heading, text in [*given, LAST])
        starts = [match.start() for match in re.finditer("^#", body, re.MULTILINE)]
        grouped: list[list[tuple[str, str]]] = [[] for _ in starts]
        for unit in cut(body):
            owner = sum(start <= span(unit)[0] for start in starts) - 1
            grouped[owner].append((unit.unit_key, unit.content_hash))
        return grouped

    before, now = by_section(sections), by_section(after)
    assert before[:edited] == now[:edited]
    assert before[edited + 1 :] == now[edited + 1 :]
    assert before[edited][0][0] == now[edited][0][0]


MIB = 1 << 20

HOSTILE = {
    "quotes nested in one line": ">" * MIB,
    "quotes nested in many lines": (">" * 1000 + " a\n") * 300,
    "a lazy line under nested quotes": "> " * 1000 + "a\n" + "a\n" * 20_000,
    "lists nested in one line": "- " * 100_000 + "a\n",
    "lists nested by indentation": "".join(" " * (2 * n) + "- a\n" for n in range(700)),
    "ordered lists nested": "1. " * 100_000 + "a",
    "quotes in lists in quotes": "> - " * 50_000 + "a",
    "backticks": "`" * 200_000,
    "opening brackets": "[" * MIB,
    "unclosed definitions": "[a]: b (\n" * 20_000,
    "definitions": "".join(f"[a{n}]: /u\n" for n in range(20_000)),
    "an unclosed tag": "<a" + ' b="' * 200_000,
    "a wide table": "|" * 60_000 + "\n" + "|-" * 60_000 + "\n",
    "one character": "a" * (2 * MIB),
    "one line of ten million": "word " * 2_000_000,
    "a heading line": "# " + "a" * MIB,
    "a heading with a gap": "# a" + " " * MIB + "b\n\n" + "word " * 600,
    "dots": "." * 200_000,
    "headings": "# head\ntext\n" * 15_000,
    "headings only": "# head\n" * 30_000,
    "tiny paragraphs": "a\n\n" * 30_000,
    "spaces between words": ("a" + " " * 3000) * 300,
    "a gap of spaces in a line": "word " * 600 + " " * MIB + "word " * 600,
    "nothing but NUL": "\0" * 200_000,
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_bodies_are_cut_within_the_limits(body: str) -> None:
    units = cut(body, opened) if body.count(" ") > MIB else cut(body)
    assert units
    assert all(unit.token_count <= 480 for unit in units)
    assert span(units[-1])[1] == len(body.rstrip())
    assert len({unit.unit_key for unit in units}) == len(units)


def test_a_list_deeper_than_the_parser_goes_does_not_swallow_the_headings_behind_it() -> None:
    nested = "".join(" " * (2 * n) + f"- item {n}\n" for n in range(40))
    for deep in (nested, "- " * 300 + "a\n", "> " * 300 + "a\n", "> - " * 200 + "a\n"):
        body = f"# One\n\n{deep}\n# Two\n\ntext\n\n" + "word " * 500
        assert [unit.heading_path for unit in cut(body)][-1] == ("Two",)


def test_a_single_character_that_exceeds_every_limit_still_ends() -> None:
    units = cut_resource(resource("ab cd"), lambda text: 500 * len(text))
    assert [unit.text for unit in units] == ["a", "b", "c", "d"]


def test_the_work_is_near_linear_in_the_body() -> None:
    read = 0

    def count(text: str) -> int:
        nonlocal read
        read += len(text)
        return pieces(text)

    sizes = []
    for size in (100_000, 400_000):
        read = 0
        cut("word " * (size // 5), count)
        sizes.append(read / size)
    assert sizes[1] < 1.2 * sizes[0] < 20
