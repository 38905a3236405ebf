"""Budgets and exclusion reasons: one reason each, in the design's order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memcli.index.unit import Locator
from memcli.retrieval.assembly import Budgets, Ranked, assemble

BUDGETS = Budgets(floor=0.5, per_resource=2, tokens=2400, fragments=12)


def ranked(
    resource: str = "a",
    start: int | None = 0,
    *,
    length: int = 10,
    tokens: int = 10,
    relevance: float = 0.9,
    tier: int | None = None,
    content: str | None = None,
) -> Ranked:
    end = None if start is None else start + length
    locator = Locator(1, 1, start, end)
    return Ranked(resource, content or f"{resource}/{start}", locator, tokens, relevance, tier)


def test_below_relevance_is_left_out_unless_asked_for_by_its_whole_name() -> None:
    reasons = assemble(
        [
            ranked("a", relevance=0.49),
            ranked("b", relevance=0.5),
            ranked("c", relevance=0.1, tier=1),
            ranked("d", relevance=0.1, tier=2),
            ranked("e", relevance=0.1, tier=3),
        ],
        BUDGETS,
    )
    assert reasons == ["below_relevance", None, None, None, "below_relevance"]


def test_overlap_is_a_shared_character_of_one_body_or_the_same_text() -> None:
    reasons = assemble(
        [
            ranked("a", 0),
            ranked("a", 9),
            ranked("a", 10),
            ranked("b", 0, content="a/0"),
            ranked("c", None, content="c/d"),
            ranked("d", None, content="d/d"),
        ],
        BUDGETS,
    )
    assert reasons == [None, "overlap", None, "overlap", None, None]


def test_overlap_counts_only_against_what_is_returned() -> None:
    reasons = assemble([ranked("a", 0, relevance=0.1), ranked("a", 5)], Budgets(0.5, 2, 2400, 12))
    assert reasons == ["below_relevance", None]


def test_resource_limit_after_two() -> None:
    reasons = assemble([ranked("a", at * 100) for at in range(4)], BUDGETS)
    assert reasons == [None, None, "resource_limit", "resource_limit"]


def test_token_budget_ends_the_list_even_for_what_would_still_fit() -> None:
    candidates = [ranked("a", tokens=2000), ranked("b", tokens=401), ranked("c", tokens=1)]
    candidates.append(ranked("d", relevance=0.1))
    candidates.append(ranked("a", 5, tokens=1))
    assert assemble(candidates, BUDGETS) == [
        None,
        "token_budget",
        "token_budget",
        "below_relevance",
        "overlap",
    ]


def test_token_budget_may_be_spent_to_the_last_token() -> None:
    assert assemble([ranked("a", tokens=2000), ranked("b", tokens=400)], BUDGETS) == [None, None]


def test_fragment_limit_after_twelve() -> None:
    reasons = assemble([ranked(f"r{at}") for at in range(14)], BUDGETS)
    assert reasons == [None] * 12 + ["fragment_limit"] * 2


def test_thirteenth_that_breaks_the_token_budget_names_the_budget() -> None:
    candidates = [ranked(f"r{at}", tokens=200) for at in range(12)]
    assert assemble([*candidates, ranked("z", tokens=1)], BUDGETS)[-1] == "token_budget"


@given(
    st.lists(
        st.builds(
            ranked,
            st.sampled_from("abcd"),
            st.one_of(st.none(), st.integers(0, 40)),
            length=st.integers(1, 20),
            tokens=st.integers(0, 480),
            relevance=st.floats(0, 1),
            tier=st.sampled_from([None, 1, 2, 3]),
        ),
        max_size=24,
    ),
    st.builds(
        Budgets, st.floats(0, 1), st.integers(1, 3), st.integers(0, 2400), st.integers(1, 12)
    ),
)
def test_budgets_hold_and_every_candidate_has_one_outcome(
    candidates: list[Ranked], budgets: Budgets
) -> None:
    reasons = assemble(candidates, budgets)
    returned = [each for each, why in zip(candidates, reasons, strict=True) if why is None]
    assert len(reasons) == len(candidates)
    assert len(returned) <= budgets.fragments
    assert sum(each.token_count for each in returned) <= budgets.tokens
    for resource in "abcd":
        of_resource = [each for each in returned if each.resource_id == resource]
        assert len(of_resource) <= budgets.per_resource
    if "token_budget" in reasons:
        after = reasons[reasons.index("token_budget") :]
        assert None not in after
        assert "fragment_limit" not in after
