"""What a labelling session shows, and how bytes become keys."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from cli.labelling_sheets import Sat, note, sheet, unit
from hypothesis import given
from hypothesis import strategies as st

from memcli.cli.labelling.events import Found, Key, Paste
from memcli.cli.labelling.keys import decode
from memcli.cli.labelling.layout import LIST_KEYS, key_lines
from memcli.cli.labelling.screen import colored, draw
from memcli.cli.labelling.sheet import Entry
from memcli.cli.labelling.text_layout import clipped_left, line_at, padded, wrapped
from memcli.cli.safe_text import display_width

NASTY = "[/b] [red] \x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b31m \u202egnp.exe\r\x08"


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (200, 50), (100, 30)])
def test_query_rank_path_heading_text_and_keys_are_all_on_the_screen(
    columns: int, rows: int
) -> None:
    screen = Sat(columns=columns, rows=rows).screen.split("\n")
    assert screen[0].startswith("case c1 · draft · version 1 · 0 marked")
    assert screen[1] == "query  how do we moor?"
    row = next(line for line in screen if line.startswith(">"))
    assert re.match(r">\[  \] +1 \* docs/n1.md:3  Note 1", row)
    text = "\n".join(screen)
    assert "docs/n1.md:3-42 · bm25 1 · Note 1" in text
    assert "line 1 of 1" in text
    for key, does in LIST_KEYS:
        assert f"{key} {does}" in text


def test_wide_terminals_show_the_text_beside_the_list_and_narrow_ones_below_it() -> None:
    wide = Sat(columns=200, rows=50).screen.split("\n")
    assert any("docs/n5.md" in line and "line" in line.split("│")[-1] for line in wide)
    narrow = Sat(columns=80, rows=24).screen.split("\n")
    assert not any("│" in line for line in narrow)
    assert [line for line in narrow if line.startswith("line 1 of 1")]


def test_suggestions_come_first_and_are_starred() -> None:
    rows = [line for line in Sat().screen.split("\n") if re.match(r"[> ]\[", line)]
    assert ["*" in row[:13] for row in rows[:4]] == [True, True, False, False]


def test_marks_are_shown_without_colour() -> None:
    sat = Sat().press(" w<down>w<down> ")
    rows = [line for line in sat.screen.split("\n") if re.match(r"[> ]\[", line)]
    assert [row[1:5] for row in rows[:4]] == ["[xw]", "[ w]", "[x ]", "[  ]"]
    assert "4 marked, not saved" in sat.screen
    assert "[xw] fragment, lines 1-" in sat.press("<up><up><enter>").screen


def test_corpus_text_cannot_send_control_sequences_or_markup() -> None:
    """F38."""
    entry = Entry(unit(1), 1, True, NASTY, NASTY, "1-2", NASTY)
    hostile = sheet(
        query=NASTY, entries=(entry,), fragment=lambda item: NASTY, note=lambda item: (NASTY, 0)
    )
    sat = Sat(hostile, columns=200, rows=50)
    for keys in ("", " ", "<enter>", "o", "<esc>/\x1b<enter>"):
        screen = sat.press(keys).screen
        assert "\x1b" not in screen
        assert "\x9b" not in screen
        assert "\u202e" not in screen
        assert "\r" not in screen
    sat.tell(Found(NASTY, (entry,), 1, 0))
    assert "[/b] [red]" in sat.screen
    assert "\x1b" not in sat.screen


def test_words_of_the_query_stand_out_where_there_is_colour() -> None:
    state = Sat().state
    shown = "\n".join(draw(state, colored))
    assert "\x1b[1;33mline\x1b[0m 1 of 1" in shown
    found = replace(state, tab=1, found=Found("of", state.sheet.entries, 10, 0))
    assert "\x1b[1;33mof\x1b[0m" in "\n".join(draw(found, colored))


def test_colour_changes_no_letter_of_the_screen() -> None:
    sat = Sat().press(" <down>w<enter>")
    stripped = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in draw(sat.state, colored)]
    assert [line.rstrip() for line in stripped] == [
        line.rstrip() for line in sat.screen.split("\n")
    ]


def test_a_found_note_is_shown_from_the_line_that_was_found() -> None:
    entry = Entry(note(2), None, False, "docs/n2.md", "Note 2", "", "line 35 of 2", 37)
    sat = Sat().tell(Found("35", (entry,), 1, 0))
    preview = sat.screen.split("\n")
    assert "line 35 of 2" in preview
    assert "line 34 of 2" not in preview


# Text in cells


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=200),
    st.integers(2, 40),
)
def test_wrapping_loses_no_letter_and_no_line_is_too_wide(text: str, cells: int) -> None:
    from memcli.cli.safe_text import safe

    lines = wrapped(text, cells)
    assert all(display_width(line) <= cells for line in lines)
    assert "".join("".join(lines).split()) == "".join(safe(text).split())


def test_wrapping_breaks_at_spaces_and_keeps_indentation() -> None:
    assert wrapped("    - one two three four", 14) == ("    - one two", "three four")
    assert wrapped("部署前先通知值班同学", 8) == ("部署前先", "通知值班", "同学")
    assert wrapped("a\n\n\tb", 20) == ("a", "", "    b")
    assert wrapped("", 20) == ("",)


def test_one_line_of_megabytes_is_wrapped_without_copying_its_rest() -> None:
    lines = wrapped("word " * 400_000, 80)
    assert len(lines) == 25_000
    assert line_at("word " * 400_000, 80, 1_000_000) == 12_500 - 1


def test_paths_are_cut_at_their_beginning_and_cells_are_filled() -> None:
    assert clipped_left("docs/a/long/path.md", 10) == "…g/path.md"
    assert clipped_left("部署手册", 5) == "…手册"
    assert clipped_left("short", 10) == "short"
    assert padded("部署手册", 6) == "部署… "
    assert padded("ab", 4) == "ab  "


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_key_lines_fit_and_lose_no_key(columns: int) -> None:
    lines = key_lines(LIST_KEYS, columns)
    assert all(len(line) < columns for line in lines)
    assert "   ".join(lines) == "   ".join(f"{key} {does}" for key, does in LIST_KEYS)


# Keys


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b"a", ["a"]),
        (b" \r\t\x7f", [" ", "enter", "tab", "backspace"]),
        (b"\x1b[A\x1b[B\x1bOA\x1b[5~\x1b[6~", ["up", "down", "up", "pageup", "pagedown"]),
        (b"\x1b[1;5C\x1b[H\x1b[4~\x1b[Z", ["right", "home", "end", "backtab"]),
        ("部é".encode(), ["部", "é"]),
        (b"\x03\x15\x17", ["ctrl-c", "ctrl-u", "ctrl-w"]),
        (b"\x1bx\x1b[99;1$y\x1b[200x", []),
        (b"\x1b\x1b[A", ["escape", "up"]),
        (b"\x00\x02", []),
    ],
)
def test_bytes_become_keys(data: bytes, names: list[str]) -> None:
    assert decode(data) == ([Key(name) for name in names], b"")


@pytest.mark.parametrize("data", [b"\x1b", b"\x1b[", b"\x1b[5", b"\x1bO", b"\xe9\x83", b"\x1b\xe9"])
def test_a_key_that_is_not_whole_waits_for_the_rest(data: bytes) -> None:
    assert decode(b"a" + data) == ([Key("a")], data)


def test_pasted_text_is_one_event_and_waits_for_its_end() -> None:
    assert decode(b"\x1b[200~two\nlines q\x1b[201~x") == ([Paste("two\nlines q"), Key("x")], b"")
    part = b"\x1b[200~no end yet"
    assert decode(part) == ([], part)


def test_bytes_that_are_no_utf_8_are_left_out() -> None:
    assert decode(b"a\xff\xfeb\xe9x") == ([Key("a"), Key("b"), Key("x")], b"")


@given(st.binary(max_size=60))
def test_decoding_ends_and_never_fails(data: bytes) -> None:
    keys, rest = decode(data)
    assert data.endswith(rest)
    assert all(isinstance(key, (Key, Paste)) for key in keys)
    again, _ = decode(rest + b"\x1b[201~")
    assert isinstance(again, list)
