"""The labelling session as a state machine: what every key does, without a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from cli.labelling_sheets import NAMED, Sat, note, sheet, text_of, unit
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.cli.labelling.events import Found, Paste, Quit, Refused, Save, Search, Skip, Theirs
from memcli.cli.labelling.sheet import Entry
from memcli.evaluation.matching import EvidenceItem


def test_space_marks_the_fragment_under_the_cursor_and_again_unmarks_it() -> None:
    sat = Sat().press(" <down><down> ")
    assert sat.marks == {unit(1), unit(3)}
    assert sat.press(" ").marks == {unit(1)}
    assert sat.effects == []


def test_w_marks_the_whole_note_as_evidence_of_its_own() -> None:
    sat = Sat().press("w ")
    assert sat.marks == {unit(1), note(1)}
    assert sat.press("w").marks == {unit(1)}


def test_undo_takes_back_one_change_of_marks_after_the_other() -> None:
    sat = Sat().press(" <down> w")
    assert sat.press("u").marks == {unit(1), unit(2)}
    assert sat.press("uu").marks == set()
    assert "nothing to undo" in sat.press("u").screen


def test_a_case_that_was_resolved_before_opens_with_its_evidence_marked() -> None:
    sat = Sat(sheet(held=frozenset({unit(2), note(12)}), status="ready", version=4))
    assert sat.marks == {unit(2), note(12)}
    assert not sat.state.changed
    assert sat.press("s").effects == [Save(4, (note(12), unit(2)))]


def test_save_asks_for_all_marks_at_the_version_that_was_opened() -> None:
    sat = Sat().press("<down> ws")
    assert sat.effects == [Save(1, (note(2), unit(2)))]


def test_save_without_marks_saves_nothing_and_says_what_to_do() -> None:
    sat = Sat().press("s")
    assert sat.effects == []
    assert "nothing is marked" in sat.screen


def test_none_matched_is_saved_only_after_the_second_n() -> None:
    sat = Sat().press("n")
    assert sat.effects == []
    assert "n again" in sat.screen
    assert sat.press("n").effects == [Save(1, ())]
    other = Sat().press("n<down>n")
    assert other.effects == []


def test_quit_and_skip_are_immediate_without_unsaved_marks_and_asked_for_twice_with_them() -> None:
    assert Sat().press("q").effects == [Quit()]
    assert Sat().press(">").effects == [Skip()]
    for key, effect in (("q", Quit()), (">", Skip())):
        sat = Sat().press(" " + key)
        assert sat.effects == []
        assert "not saved" in sat.screen
        assert sat.press(key).effects == [effect]
        assert Sat().press(f" {key}s").effects == [Save(1, (unit(1),))]


def test_the_cursor_stays_inside_the_list_and_moves_by_pages() -> None:
    sat = Sat(sheet(candidates=40)).press("<up>")
    assert sat.state.cursor == 0
    page = sat.state.layout.list_rows
    assert sat.press("<pgdn>").state.cursor == page
    assert sat.press("<end>").state.cursor == 39
    assert sat.press("<down>G").state.cursor == 39
    assert sat.press("<pgup>").state.cursor == 39 - page
    assert sat.press("g").state.cursor == 0
    assert sat.press("jjk").state.cursor == 1


def test_reading_shows_the_whole_fragment_and_scrolls_to_its_end_and_no_further() -> None:
    sat = Sat().press("<enter>")
    assert "line 1 of 1" in sat.screen
    assert "line 40 of 1" not in sat.screen
    sat.press("<end>")
    assert "line 40 of 1" in sat.screen
    bottom = sat.state.scroll
    assert sat.press("<down><pgdn>").state.scroll == bottom
    assert sat.press("<home><up>").state.scroll == 0
    assert sat.press("<pgdn>").state.scroll == sat.state.read_rows - 1
    assert sat.press("<esc>").state.view == "list"


def test_o_turns_to_the_whole_note_at_the_fragments_place_and_back() -> None:
    sat = Sat().press("<enter>o")
    assert sat.state.whole
    assert "# Note 1" not in sat.screen
    assert "line 1 of 1" in sat.screen
    assert "# Note 1" in sat.press("<home>").screen
    assert not sat.press("o").state.whole


def test_marks_can_be_set_and_undone_while_reading_and_tab_goes_to_the_next_row() -> None:
    sat = Sat().press("<enter> <tab>w")
    assert sat.marks == {unit(1), note(2)}
    assert "line 1 of 2" in sat.screen
    assert sat.press("<backtab>u").marks == {unit(1)}
    assert sat.state.view == "read"


def test_no_key_of_the_reading_view_saves_or_leaves() -> None:
    sat = Sat().press(" <enter>sn>")
    assert sat.effects == []
    assert sat.press("q").state.view == "list"
    assert sat.effects == []


def test_a_search_asks_for_the_typed_words_and_shows_what_was_found() -> None:
    sat = Sat().press("/ketle<back><back>tle n")
    assert "search: kettle n_" in sat.screen
    assert sat.press("<enter>").effects == [Search("kettle n")]
    hit = Entry(note(12), None, False, "docs/n12.md", "Note 12", "", "line 30 of 12", 32)
    sat.tell(Found("kettle n", (hit, sat.state.sheet.entries[3]), 1, 0))
    assert "1 note: 'kettle n'" in sat.screen
    assert "line 30 of 12" in sat.screen
    assert sat.press(" <down> ").marks == {note(12), unit(4)}
    assert sat.press("<up><enter>").state.whole
    assert sat.state.lines[sat.state.scroll].startswith(("line 25", "line 30", "line 26"))
    assert "line 30 of 12" in sat.screen


def test_keys_are_text_while_a_search_is_typed() -> None:
    sat = Sat().press("/snq>u")
    assert sat.effects == []
    assert sat.state.typed == "snq>u"
    assert sat.press("<c-u>").state.typed == ""
    assert sat.press("two words<c-w>").state.typed == "two"
    sat.tell(Paste("pasted\nsq\t部署"))
    assert sat.state.typed == "twopasted sq 部署"
    assert sat.press("<esc>").state.view == "list"
    assert sat.effects == []


def test_pasted_text_is_never_taken_for_keys() -> None:
    sat = Sat().tell(Paste(" s\nnn q"))
    assert (sat.marks, sat.effects) == (set(), [])


def test_an_empty_search_lists_every_frozen_note_and_each_can_be_evidence() -> None:
    sat = Sat().press("/<enter>")
    assert sat.effects == []
    assert len(sat.state.listed) == 12
    assert sat.press("<end> s").effects == [Save(1, (note(12),))]


def test_a_search_without_hits_and_bodies_that_cannot_be_read_are_said() -> None:
    sat = Sat().tell(Found("zebra", (), 0, 0))
    assert "no frozen note holds 'zebra'" in sat.screen
    assert "nothing found" in sat.screen
    hits = tuple(sat.state.sheet.notes[:2])
    assert "2 could not be read" in sat.tell(Found("x", hits, 9, 2)).screen
    assert "the best are listed" in sat.screen


def test_the_list_of_marks_holds_what_was_marked_anywhere_and_unmarks_it() -> None:
    sat = Sat().press(" <down>w<tab><tab>")
    assert [entry.item for entry in sat.state.listed] == [unit(1), note(2)]
    assert sat.press("<down> ").marks == {unit(1)}
    assert sat.press("<enter> ").marks == set()
    assert sat.state.view == "list"
    assert "nothing is marked" in sat.screen
    assert sat.press("uu").marks == {unit(1), note(2)}


def test_without_candidates_the_search_still_leads_to_evidence() -> None:
    sat = Sat(sheet(candidates=0))
    assert "no stage found anything" in sat.screen
    sat.press(" w<enter><down>")
    assert sat.marks == set()
    assert sat.press("/<enter> s").effects == [Save(1, (note(1),))]


THEIRS = Theirs(3, "ready", frozenset({unit(1), note(9)}))


def test_a_conflict_says_what_changed_and_keeps_the_marks() -> None:
    sat = Sat().press(" <down> s").tell(THEIRS)
    for said in ("version 3 (ready)", "version 1", "only they have (1)", "only you have (1)",
                 "both have (1)", "resource:n9", "unit:n2#root~0.0"):  # fmt: skip
        assert said in sat.screen
    assert sat.marks == {unit(1), unit(2)}
    sat.press("sq>n x")
    assert sat.effects == [Save(1, (unit(1), unit(2)))]
    assert sat.state.view == "conflict"


@pytest.mark.parametrize(
    ("key", "marks"),
    [
        ("m", (unit(1), unit(2))),
        ("t", (unit(1), note(9))),
        ("b", (unit(1), unit(2), note(9))),
    ],
)
def test_after_a_conflict_the_reload_keeps_mine_takes_theirs_or_both(
    key: str, marks: Sequence[EvidenceItem]
) -> None:
    sat = Sat().press(" <down> s").tell(THEIRS).press(key)
    assert sat.marks == set(marks)
    assert "at version 3 now" in sat.screen
    assert sat.state.changed == (key != "t")
    saved = sat.press("s").effects[-1]
    assert isinstance(saved, Save)
    assert (saved.expected_version, set(saved.evidence)) == (3, set(marks))
    assert sat.press("u").marks == {unit(1), unit(2)} or key == "m"


def test_a_conflict_that_is_left_stays_one_at_the_next_save() -> None:
    sat = Sat().press(" s").tell(THEIRS).press("<esc>s")
    assert sat.effects == [Save(1, (unit(1),))] * 2


def test_a_conflict_with_none_matched_says_so() -> None:
    sat = Sat().press(" s").tell(Theirs(2, "needs_evidence", frozenset()))
    assert "They say that nothing matches" in sat.screen
    assert sat.press("t").marks == set()


def test_a_refused_save_is_said_and_loses_nothing() -> None:
    sat = Sat().press(" s").tell(Refused("the disk is full"))
    assert "not saved: the disk is full" in sat.screen
    assert sat.marks == {unit(1)}


def test_help_and_query_are_left_by_a_key_and_show_everything() -> None:
    sat = Sat(sheet(query="why " * 400 + "END"))
    assert "(v: all)" in sat.screen
    assert "END" in sat.press("v<end>").screen
    assert sat.press("<enter>?").state.view == "help"
    assert "Only s and n save" in sat.screen
    assert sat.press("s").state.view == "list"
    assert sat.effects == []


KEYS = st.lists(st.sampled_from([*NAMED, *" xwsnq>uvojkgG?/tmb部"]), max_size=40)
SIZES = st.tuples(st.integers(1, 220), st.integers(1, 60))


@settings(max_examples=60, deadline=None)
@given(KEYS, SIZES, SIZES, st.sampled_from([0, 1, 10]))
def test_whatever_is_pressed_at_whatever_size_the_screen_fits_and_nothing_breaks(
    keys: list[str], before: tuple[int, int], after: tuple[int, int], candidates: int
) -> None:
    sat = Sat(sheet(candidates=candidates, query="wie 部署 " * 30), *before)
    for at, key in enumerate(keys):
        sat.press(key)
        if at == 5:
            sat.resized(*after)
        if at == 10:
            sat.tell(THEIRS)
    for effect in sat.effects:
        if isinstance(effect, Save):
            assert effect.expected_version in (1, 3)


def test_text_of_the_sheets_is_longer_than_any_screen_it_is_read_on() -> None:
    assert text_of(1).count("\n") > 24
