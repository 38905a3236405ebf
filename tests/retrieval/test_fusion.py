"""Reciprocal rank fusion: the seed's rule, its ties, and its known consequence."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from memcli.retrieval.fusion import fuse

IDS = st.lists(st.integers(0, 40), unique=True, max_size=30)


@given(IDS, IDS)
def test_rrf_orders_by_summed_reciprocal_places_then_best_place_then_unit_order(
    lexical: list[int], dense: list[int]
) -> None:
    order = {rowid: 1000 - rowid for rowid in (*lexical, *dense)}
    fused = fuse([lexical, dense], order)

    def key(rowid: int) -> tuple[Fraction, int, int]:
        places = [ranking.index(rowid) + 1 for ranking in (lexical, dense) if rowid in ranking]
        return (
            -sum((Fraction(1, 60 + place) for place in places), Fraction(0)),
            min(places),
            order[rowid],
        )

    assert [each.unit_rowid for each in fused] == sorted(order, key=key)
    assert [each.rank for each in fused] == list(range(1, len(order) + 1))


def test_last_on_both_lists_beats_first_on_one() -> None:
    """With k = 60 and lists of 60 that is the seed's rule, not a bug."""
    lexical = list(range(60))
    dense = [100, *range(200, 258), 59]
    fused = fuse([lexical, dense], {rowid: rowid for rowid in {*lexical, *dense}})
    ranks = {each.unit_rowid: each.rank for each in fused}
    assert ranks[59] == 1
    assert ranks[0] == 2


def test_a_unit_on_one_list_only_keeps_its_place_among_equals() -> None:
    fused = fuse([[7, 8], [9, 10]], {7: 3, 8: 2, 9: 1, 10: 0})
    assert [each.unit_rowid for each in fused] == [9, 7, 10, 8]


def test_nothing_recalled_gives_nothing() -> None:
    assert fuse([[], []], {}) == ()
