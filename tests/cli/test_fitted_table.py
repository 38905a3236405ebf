"""Tables that fit the terminal, whatever is in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memcli.cli.fitted_table import aligned, column_widths, fitted
from memcli.cli.safe_text import display_width

CELLS = st.text(alphabet="ab 部\u0301\x1b\t\n-", max_size=60)


@given(st.lists(st.lists(CELLS, min_size=4, max_size=4), min_size=1, max_size=6), st.data())
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut_without_need(
    rows: list[list[str]], data: st.DataObject
) -> None:
    cells = data.draw(st.integers(20, 200))
    shown = fitted(rows, cells, {1, 3})
    widths = column_widths(shown)
    lines = [aligned(row, widths) for row in shown]
    assert all(display_width(line) <= cells for line in lines)
    whole = fitted(rows, 10_000, ())
    if sum(column_widths(whole)) + 6 <= cells:
        assert shown == whole


def test_widest_elastic_column_gives_way_first_and_the_others_stay_whole() -> None:
    rows = [["id", "short", "x" * 100, "y" * 30]]
    assert [len(cell) for cell in fitted(rows, 80, {2, 3})[0]] == [2, 5, 37, 30]
    assert [len(cell) for cell in fitted(rows, 40, {2, 3})[0]] == [2, 5, 13, 14]
    assert [len(cell) for cell in fitted(rows, 40, {2})[0]] != [2, 5, 100, 30]


def test_right_columns_are_flush_right_and_wide_characters_count_two_cells() -> None:
    assert aligned(["7", "部署", "z"], [3, 6, 1], {0}) == "  7  部署    z"
