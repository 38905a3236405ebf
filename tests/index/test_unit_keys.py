"""Unit keys: identity, occurrence, part, and what is encoded."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.index.heading_paths import HeadingTrail, model_heading_path
from memcli.index.markdown_blocks import Heading
from memcli.index.unit_keys import UnitKeys, section_identity


@pytest.mark.parametrize(
    ("path", "identity"),
    [
        ((), "root"),
        (("Deploy",), "/deploy"),
        (("Deploy", "Roll back"), "/deploy/roll-back"),
        (("What's new?",), "/what-s-new-"),
        (("`API_KEY` -- how",), "/-api_key-how"),
        (("a/b",), "/a-b"),
        (("C++ #1 ~ 5%",), "/c-1-5-"),
        (("回滚：数据库（旧）",), "/回滚-数据库-旧-"),
        (("ÉTÉ",), "/été"),
        (("",), "/"),
        (("A", "", "B"), "/a//b"),
        (("root",), "/root"),
        (("!!!",), "/-"),
    ],
)
def test_an_identity_is_the_normalised_heading_path(path: tuple[str, ...], identity: str) -> None:
    assert section_identity(path) == identity


def test_composed_and_decomposed_headings_share_an_identity() -> None:
    decomposed = unicodedata.normalize("NFD", "Ünïted Été")
    assert section_identity((decomposed,)) == section_identity(("Ünïted Été",)) == "/ünïted-été"


def test_a_key_names_resource_identity_occurrence_and_part() -> None:
    keys = UnitKeys("docs/a.md")
    assert keys.section("root", 1) == ["docs/a.md#root~0.0"]
    assert keys.section("/usage", 2) == ["docs/a.md#/usage~0.0", "docs/a.md#/usage~0.1"]
    assert keys.section("/other", 1) == ["docs/a.md#/other~0.0"]
    assert keys.section("/usage", 1) == ["docs/a.md#/usage~1.0"]


def test_marks_of_the_key_are_percent_encoded_in_the_resource_id_and_nothing_else_is() -> None:
    keys = UnitKeys("notes/100% #1 ~old/回滚 a.md")
    assert keys.section("root", 1) == ["notes/100%25 %231 %7Eold/回滚 a.md#root~0.0"]
    assert UnitKeys("a%23b").section("root", 1) == ["a%2523b#root~0.0"]


@given(st.text(), st.lists(st.text(max_size=20), max_size=4))
def test_a_key_splits_back_into_its_parts(resource_id: str, path: list[str]) -> None:
    key = UnitKeys(resource_id).section(section_identity(path), 3)[2]
    resource, rest = key.split("#")
    identity, place = rest.split("~")
    assert place == "0.2"
    assert identity == section_identity(path)
    decoded = resource.replace("%7E", "~").replace("%23", "#").replace("%25", "%")
    assert decoded == resource_id


def test_a_heading_ends_those_of_its_level_and_below() -> None:
    trail = HeadingTrail()
    assert trail.enter(Heading(2, "Early")) == ("Early",)
    assert trail.enter(Heading(1, "One")) == ("One",)
    assert trail.enter(Heading(3, "Deep")) == ("One", "Deep")
    assert trail.enter(Heading(2, "Two")) == ("One", "Two")
    assert trail.enter(Heading(6, "Six")) == ("One", "Two", "Six")
    assert trail.enter(Heading(2, "Next")) == ("One", "Next")


def test_a_heading_as_long_as_a_file_is_shortened_in_the_path() -> None:
    (heading,) = HeadingTrail().enter(Heading(1, "word " * 100_000))
    assert len(heading) <= 256
    assert heading.startswith("word word")


@pytest.mark.parametrize(
    ("title", "path", "expected"),
    [
        ("Deploy", (), ("Deploy",)),
        ("Deploy", ("Steps",), ("Deploy", "Steps")),
        ("Deploy", ("Deploy", "Steps"), ("Deploy", "Steps")),
        ("deploy guide", ("**Deploy**  `Guide`:",), ("**Deploy**  `Guide`:",)),
        ("Deploy", ("[Deploy](./deploy.md)",), ("[Deploy](./deploy.md)",)),
        ("snake_case_name", ("snake\\_case\\_name",), ("snake\\_case\\_name",)),
        ("Deploy", ("Steps", "Deploy"), ("Deploy", "Steps", "Deploy")),
        ("C++", ("C#",), ("C++", "C#")),
        ("???", ("!!!",), ("???", "!!!")),
        ("部署手册", ("部署手册。",), ("部署手册。",)),
        ("STRASSE", ("straße",), ("straße",)),
        (unicodedata.normalize("NFD", "Été"), ("été",), ("été",)),
        ("", ("Steps",), ("Steps",)),
        ("  ", (), ()),
        ("Deploy", ("", "Steps"), ("Deploy", "Steps")),
    ],
)
def test_the_models_see_the_title_first_where_the_first_heading_does_not_say_the_same(
    title: str, path: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert model_heading_path(title, path) == expected


def test_a_title_as_long_as_a_file_is_compared_and_given_in_its_first_part() -> None:
    title = "[" * 2_000_000
    assert model_heading_path(title, ("[" * 256, "Steps")) == ("[" * 256, "Steps")
    assert model_heading_path(title, ("Steps",)) == ("[" * 256, "Steps")
