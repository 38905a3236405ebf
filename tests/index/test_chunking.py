"""Golden examples: which units a body gives, where they stand, and what they are called."""

from __future__ import annotations

import hashlib
import re
from itertools import pairwise

import pytest

from memcli.index.chunking import CHUNK_LIMITS, cut_resource
from memcli.index.unit import RetrievalUnit
from memcli.memory.resource import Scope, SourceResource

WORD = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> int:
    return len(WORD.findall(text))


def resource(
    body: str, *, description: str = "", first_line: int = 1, description_line: int | None = None
) -> SourceResource:
    return SourceResource(
        resource_id="a.md",
        scope=Scope.PROJECT,
        kind="note",
        path="a.md",
        title="A",
        description=description,
        body=body,
        body_sha256="",
        resource_hash="",
        body_first_line=first_line,
        description_line=description_line,
        file_path="/project/a.md",
    )


def cut(body: str, first_line: int = 1) -> tuple[RetrievalUnit, ...]:
    return cut_resource(resource(body, first_line=first_line), words)


def prose(count: int, word: str = "word") -> str:
    return " ".join(f"{word}{place}" for place in range(count))


def keys(units: tuple[RetrievalUnit, ...]) -> list[str]:
    return [unit.unit_key.removeprefix("a.md#") for unit in units]


def shared(first: RetrievalUnit, second: RetrievalUnit, body: str) -> str:
    assert first.locator.end_char is not None
    assert second.locator.start_char is not None
    return body[second.locator.start_char : first.locator.end_char]


FILLER = "\n\n# Filler\n\n" + prose(400, "filler") + "\n"
"""A last section that makes any body longer than one root unit."""


def test_the_limits_are_those_of_the_design() -> None:
    expected = {"root": 384, "section": 480, "packed": 384, "window": 384, "overlap": 48}
    assert dict(CHUNK_LIMITS) == expected


def test_a_short_body_is_one_root_unit_without_its_blank_ends() -> None:
    (unit,) = cut("\n  \n# Title\n\nSome text.\n\n")
    assert unit.unit_key == "a.md#root~0.0"
    assert unit.heading_path == ()
    assert unit.text == "# Title\n\nSome text."
    assert unit.content_hash == hashlib.sha256(unit.text.encode()).hexdigest()
    assert unit.token_count == words(unit.text)
    assert unit.position == 0
    assert (unit.locator.start_line, unit.locator.end_line) == (3, 5)


@pytest.mark.parametrize("body", ["", "\n\n", " \t\n\u3000\n"])
def test_a_blank_body_gives_no_unit(body: str) -> None:
    assert cut(body) == ()


def test_a_description_is_a_unit_of_its_own_with_its_line_and_no_characters() -> None:
    one, two = cut_resource(
        resource("text", description="What it is", first_line=5, description_line=3), words
    )
    assert one.unit_key == "a.md#description~0.0"
    assert (one.text, one.heading_path, one.token_count) == ("What it is", (), 3)
    assert (one.locator.start_line, one.locator.end_line) == (3, 3)
    assert (one.locator.start_char, one.locator.end_char) == (None, None)
    assert two.unit_key == "a.md#root~0.0"
    assert (one.position, two.position) == (0, 1)
    assert two.locator.start_line == 5


def test_a_blank_description_gives_no_unit() -> None:
    assert keys(cut_resource(resource("text", description=" \n"), words)) == ["root~0.0"]


def test_a_body_of_exactly_384_tokens_is_one_root_unit_and_of_385_is_not() -> None:
    assert keys(cut(f"# One\n\n{prose(382)}")) == ["root~0.0"]
    assert keys(cut(f"# One\n\n{prose(383)}")) == ["/one~0.0"]


def test_a_long_body_without_headings_is_the_section_root() -> None:
    units = cut(f"{prose(300)}\n\n{prose(300)}")
    assert keys(units) == ["root~0.0", "root~0.1"]
    assert {unit.heading_path for unit in units} == {()}


def test_sections_run_to_the_next_heading_of_any_level_and_never_nest() -> None:
    body = (
        "before\n\n# One\n\nfirst\n\n### Deep\n\nsecond\n\n## Two\n\nthird\n\n# Last\n\nfourth"
        + FILLER
    )
    units = cut(body)
    assert [(unit.unit_key[5:], unit.heading_path, unit.text) for unit in units[:-1]] == [
        ("root~0.0", (), "before"),
        ("/one~0.0", ("One",), "# One\n\nfirst"),
        ("/one/deep~0.0", ("One", "Deep"), "### Deep\n\nsecond"),
        ("/one/two~0.0", ("One", "Two"), "## Two\n\nthird"),
        ("/last~0.0", ("Last",), "# Last\n\nfourth"),
    ]
    assert units[-1].heading_path == ("Filler",)


def test_setext_headings_and_closing_hashes_are_headings() -> None:
    body = "A *big*\ntitle\n=====\n\none\n\nSmall\n---\n\ntwo\n\n## Closed ##\n\nthree" + FILLER
    units = cut(body)
    assert [unit.heading_path for unit in units[:-1]] == [
        ("A *big* title",),
        ("A *big* title", "Small"),
        ("A *big* title", "Closed"),
    ]
    assert units[0].text == "A *big*\ntitle\n=====\n\none"
    assert keys(units)[0] == "/a-big-title~0.0"


def test_headings_in_fences_quotes_lists_and_indented_code_start_no_section() -> None:
    body = (
        "# Real\n\n```sh\n# comment\n```\n\n> # quoted\n\n- # listed\n\n  ## inside\n\n"
        "1. item\n\n   Setext\n   ===\n\ntext\n\n    # indented\n\n#NoSpace\n\n"
        "~~~\n# never closed in quotes\n~~~" + FILLER
    )
    assert [unit.heading_path for unit in cut(body)] == [("Real",), ("Filler",)]


def test_an_unclosed_fence_holds_everything_behind_it() -> None:
    units = cut("# Real\n\n```\n# not a heading\n" + prose(400))
    assert {unit.heading_path for unit in units} == {("Real",)}


def test_duplicate_headings_are_told_apart_by_occurrence() -> None:
    body = "# Fixed\n\none\n\n# Added\n\nx\n\n# fixed\n\ntwo\n\n# **Fixed**\n\nthree" + FILLER
    assert keys(cut(body)) == [
        "/fixed~0.0",
        "/added~0.0",
        "/fixed~1.0",
        "/-fixed-~0.0",
        "/filler~0.0",
    ]


def test_a_heading_with_nothing_under_it_joins_the_section_that_follows() -> None:
    body = "# Guide\n\n## Setup\n### Linux\n\nrun it\n\n## Empty\n# Next\n\ntext" + FILLER
    units = cut(body)
    assert [(unit.heading_path, unit.text) for unit in units[:-1]] == [
        (("Guide", "Setup", "Linux"), "# Guide\n\n## Setup\n### Linux\n\nrun it"),
        (("Next",), "## Empty\n# Next\n\ntext"),
    ]
    assert keys(units) == ["/guide/setup/linux~0.0", "/next~0.0", "/filler~0.0"]


def test_a_heading_with_nothing_behind_it_at_the_end_stays_a_unit() -> None:
    units = cut(f"# Long\n\n{prose(400)}\n\n## Empty\n\n### Too\n\n")
    assert units[-1].text == "## Empty\n\n### Too"
    assert units[-1].heading_path == ("Long", "Empty", "Too")


def test_a_file_of_headings_only_is_one_section_packed_whole() -> None:
    units = cut("\n".join(f"# Heading number {place}" for place in range(300)))
    assert {unit.heading_path for unit in units} == {("Heading number 299",)}
    assert all(unit.token_count <= 384 for unit in units)
    assert [unit.text.count("#") for unit in units] == [96, 96, 96, 12]


def test_an_empty_heading_is_an_empty_element_of_the_path() -> None:
    units = cut("# A\n\none\n\n##\n\ntwo" + FILLER)
    assert [unit.heading_path for unit in units[:2]] == [("A",), ("A", "")]
    assert keys(units)[1] == "/a/~0.0"


def test_a_section_up_to_480_tokens_stays_whole() -> None:
    body = f"# One\n\n{prose(200)}\n\n{prose(278)}\n\n# Two\n\n{prose(200)}\n\n{prose(279)}"
    units = cut(body)
    assert keys(units) == ["/one~0.0", "/two~0.0", "/two~0.1"]
    assert [unit.token_count for unit in units] == [480, 202, 279]


def test_a_longer_section_is_packed_from_whole_blocks_up_to_384() -> None:
    blocks = [prose(120, word) for word in ("a", "b", "c", "d", "e")]
    units = cut("# One\n\n" + "\n\n".join(blocks))
    assert [unit.text for unit in units] == [
        "# One\n\n" + "\n\n".join(blocks[:3]),
        "\n\n".join(blocks[3:]),
    ]
    assert keys(units) == ["/one~0.0", "/one~0.1"]


def test_a_packed_unit_may_have_384_tokens_and_not_385() -> None:
    units = cut(f"# One\n\n{prose(200)}\n\n{prose(182)}\n\n{prose(200)}\n\n{prose(185)}")
    assert [unit.token_count for unit in units] == [384, 200, 185]


def test_a_single_block_up_to_480_stays_whole() -> None:
    units = cut(f"# One\n\n{prose(100)}\n\n{prose(480)}\n\n{prose(50)}")
    assert [unit.token_count for unit in units] == [102, 480, 50]


def test_a_heading_is_not_left_behind_at_the_end_of_a_unit() -> None:
    first = "# Guide\n\n## Setup"
    units = cut(f"{first}\n\n{prose(370)}\n\n{prose(300)}")
    assert [unit.token_count for unit in units] == [375, 300]
    units = cut(f"{first}\n\n{prose(381)}\n\n{prose(300)}")
    assert [unit.text[:17] for unit in units[:2]] == ["# Guide", "## Setup\n\nword0 w"]


def test_a_heading_that_does_not_fit_with_a_whole_block_leaves_the_block_whole() -> None:
    units = cut(f"# Guide\n\n{prose(450)}\n\n{prose(300)}")
    assert [unit.token_count for unit in units] == [2, 450, 300]


@pytest.mark.parametrize(
    ("block", "line"),
    [
        ("```py\n" + "\n".join(f"line {n} = {n}" for n in range(300)) + "\n```", r"line \d+ = \d+"),
        (
            "| a | b |\n|---|---|\n" + "\n".join(f"| {n} | x{n} |" for n in range(300)),
            r"\| \d+ \| x\d+ \|",
        ),
    ],
    ids=["fence", "table"],
)
def test_a_block_over_480_is_cut_into_windows_that_end_with_a_line(block: str, line: str) -> None:
    body = f"# Long\n\n{block}\n\nshort"
    *parts, last = cut(body)
    assert last.text == "short"
    assert parts[0].text.startswith("# Long\n\n" + block[:5])
    assert parts[-1].text.endswith(block[-5:])
    assert {unit.heading_path for unit in parts} == {("Long",)}
    for first, second in pairwise(parts):
        assert 336 <= first.token_count <= 384
        assert re.fullmatch(line, first.text.splitlines()[-1])
        assert words(shared(first, second, body)) == 48


def test_a_one_line_file_is_cut_into_windows_that_overlap_by_48() -> None:
    body = prose(5000)
    units = cut(body)
    assert keys(units) == [f"root~0.{place}" for place in range(len(units))]
    assert {(unit.locator.start_line, unit.locator.end_line) for unit in units} == {(1, 1)}
    for first, second in pairwise(units):
        assert 376 <= first.token_count <= 384
        assert shared(first, second, body).startswith("word")
        assert words(shared(first, second, body)) == 48


def test_a_window_ends_at_a_sentence_in_its_last_eighth() -> None:
    sentence = "one two three four five six seven eight nine."
    units = cut(" ".join([sentence] * 100))
    assert all(unit.text.endswith("nine.") for unit in units)


def test_chinese_text_is_cut_after_its_sentence_marks() -> None:
    body = "回滚之前先停写入，再看复制延迟！确认以后切换主库；记录时间。" * 60
    units = cut_resource(resource(body), len)
    assert len(units) > 4
    for first, second in pairwise(units):
        assert first.text[-1] in "。！？；"
        assert 336 <= first.token_count <= 384
        assert len(shared(first, second, body)) == 48


def test_text_without_any_mark_is_cut_at_the_limit() -> None:
    body = "a" * 2000
    units = cut_resource(resource(body), len)
    assert [unit.token_count for unit in units] == [384, 384, 384, 384, 384, 320]
    assert [unit.locator.start_char for unit in units] == [0, 336, 672, 1008, 1344, 1680]


def test_link_reference_definitions_are_in_a_unit() -> None:
    definitions = "\n".join(f"[ref{place}]: https://example.org/{place}" for place in range(40))
    body = f"# One\n\n{prose(300)}\n\n{definitions}\n\n# Two\n\n[only]: /definition" + FILLER
    units = cut(body)
    text = "\n".join(unit.text for unit in units)
    assert all(line in text for line in definitions.splitlines())
    assert [unit.text for unit in units if unit.heading_path == ("Two",)] == [
        "# Two\n\n[only]: /definition"
    ]


def test_nul_and_other_odd_characters_keep_their_places() -> None:
    body = "\0start\0 \ufeff\n\n# O\0ne\n\n\u2028text\x0c\n\n" + prose(400)
    units = cut(body)
    assert units[0].text == "\0start\0 \ufeff"
    assert units[1].heading_path == ("O\0ne",)
    for unit in units:
        assert unit.text == body[unit.locator.start_char : unit.locator.end_char]


def test_only_a_line_feed_ends_a_line() -> None:
    units = cut("# One\u2028still\x0bone\n\ntext" + FILLER)
    assert units[0].heading_path == ("One\u2028still\x0bone",)
    assert (units[0].locator.start_line, units[0].locator.end_line) == (1, 3)


def test_lines_are_those_of_the_file_behind_its_front_matter() -> None:
    body = f"\nintro\n\n# One\n\ntext\nmore\n\n# Two\n\n{prose(400)}\n\n\n"
    file = "---\ntitle: A\ndescription: B\n---\n" + body
    lines = file.split("\n")
    units = cut(body, first_line=5)
    assert [(unit.locator.start_line, unit.locator.end_line) for unit in units] == [
        (6, 6),
        (8, 11),
        (13, 15),
    ]
    for unit in units:
        assert unit.text == "\n".join(lines[unit.locator.start_line - 1 : unit.locator.end_line])
