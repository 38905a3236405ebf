"""The activation delta and its state (F34)."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import InvalidInput
from memcli.retrieval.delta import (
    MOST_HELD,
    HeldUnit,
    activation_delta,
    parse_state,
    read_state,
    state_document,
)

A, B, C = "a" * 64, "b" * 64, "c" * 64


def test_add_replace_and_reuse_are_told_apart_by_key_and_content() -> None:
    delta = activation_delta(
        [HeldUnit("same", A), HeldUnit("changed", A)],
        [HeldUnit("same", A), HeldUnit("changed", B), HeldUnit("new", C)],
        {"same": A, "changed": B},
    )
    assert delta.actions == {"same": "reuse", "changed": "replace", "new": "add"}
    assert delta.removed == ()
    assert delta.held == (HeldUnit("same", A), HeldUnit("changed", B), HeldUnit("new", C))


def test_remove_lists_gone_keys_and_changed_units_that_are_not_returned() -> None:
    delta = activation_delta(
        [HeldUnit("gone", A), HeldUnit("changed", A), HeldUnit("quiet", A)],
        [],
        {"changed": B, "quiet": A},
    )
    assert delta.removed == ("gone", "changed")
    assert delta.held == (HeldUnit("quiet", A),)


def test_a_unit_merely_not_returned_stays_behind_the_newest() -> None:
    delta = activation_delta([HeldUnit("old", A)], [HeldUnit("new", B)], {"old": A})
    assert delta.held == (HeldUnit("new", B), HeldUnit("old", A))


def test_state_holds_at_most_256_units_and_drops_the_oldest() -> None:
    old = [HeldUnit(f"k{at}", A) for at in range(MOST_HELD)]
    delta = activation_delta(old, [HeldUnit("new", B)], {unit.unit_key: A for unit in old})
    assert len(delta.held) == MOST_HELD
    assert delta.held[0].unit_key == "new"
    assert "k255" not in {unit.unit_key for unit in delta.held}


HELD = st.lists(
    st.builds(HeldUnit, st.sampled_from("abcdefghij"), st.sampled_from([A, B, C])),
    max_size=8,
    unique_by=lambda unit: unit.unit_key,
)


@given(HELD, HELD, st.dictionaries(st.sampled_from("abcdefghij"), st.sampled_from([A, B, C])))
def test_following_a_delta_gives_exactly_the_new_state(
    state: list[HeldUnit], returned: list[HeldUnit], present: dict[str, str]
) -> None:
    present |= {unit.unit_key: unit.content_hash for unit in returned}
    delta = activation_delta(state, returned, present)
    client = {unit.unit_key: unit.content_hash for unit in state}
    for key in delta.removed:
        del client[key]
    for unit in returned:
        assert (delta.actions[unit.unit_key] == "reuse") == (
            client.get(unit.unit_key) == unit.content_hash
        )
        client[unit.unit_key] = unit.content_hash
    assert client == {unit.unit_key: unit.content_hash for unit in delta.held}
    assert all(present.get(key) == digest for key, digest in client.items())


def test_a_state_and_a_whole_answer_are_both_accepted() -> None:
    state = state_document("p", [HeldUnit("k", A)])
    assert read_state(state, "p") == (HeldUnit("k", A),)
    assert parse_state(orjson.dumps(state), "p") == (HeldUnit("k", A),)
    answer = {"schema": "memcli.activate.v1", "fragments": [], "state": state}
    assert read_state(answer, "p") == (HeldUnit("k", A),)


def broken(**changes: Any) -> dict[str, Any]:
    return {**state_document("p", [HeldUnit("k", A)]), **changes}


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        "state",
        {},
        {"fragments": [], "state": {}},
        broken(schema="other"),
        broken(chain="agent_activation.v1"),
        broken(version=2),
        broken(version=True),
        broken(project_id="q"),
        broken(units=None),
        broken(units={"k": A}),
        broken(units=[["k", A]]),
        broken(units=[{"unit_key": "k"}]),
        broken(units=[{"unit_key": "k", "content_hash": A, "text": "x"}]),
        broken(units=[{"unit_key": "", "content_hash": A}]),
        broken(units=[{"unit_key": 1, "content_hash": A}]),
        broken(units=[{"unit_key": "k", "content_hash": "short"}]),
        broken(units=[{"unit_key": "k", "content_hash": A.upper()}]),
        broken(units=[{"unit_key": "k", "content_hash": A}] * 2),
        broken(units=[{"unit_key": f"k{at}", "content_hash": A} for at in range(257)]),
        broken(more=1),
    ],
)
def test_a_garbled_state_is_refused_and_never_taken_as_empty(document: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_state(document, "p")
    assert caught.value.code == "invalid_activation_state"


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput):
        parse_state(data, "p")
