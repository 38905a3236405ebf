"""Front matter is metadata and never body text, however it is written or broken."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memcli.memory.front_matter import FrontMatter, split_front_matter


def reasons(front: FrontMatter) -> list[str]:
    return [reason for reason, _ in front.warnings]


def test_yaml_values_and_the_place_of_the_body() -> None:
    front = split_front_matter(
        "---\ntitle: Deploy: how\nid: deploy\nkind: 'runbook'\ntags: [a, b]\n"
        "description: one\nenabled: yes\n---\n\n# Body\n".replace("Deploy: how", '"Deploy: how"')
    )
    assert front == FrontMatter(
        body="\n# Body\n",
        body_first_line=9,
        resource_id="deploy",
        title="Deploy: how",
        description="one",
        kind="runbook",
        enabled=True,
        description_line=6,
    )


def test_toml_values_and_the_place_of_the_body() -> None:
    front = split_front_matter(
        '+++\ntitle = "T"\nid = "i"\nenabled = true\ndescription = """\none\ntwo"""\n'
        '[extra]\ntitle = "other"\n+++\nbody\n'
    )
    assert (front.title, front.resource_id, front.enabled) == ("T", "i", True)
    assert (front.description, front.description_line) == ("one two", 5)
    assert (front.body, front.body_first_line) == ("body\n", 11)


def test_a_document_without_front_matter_is_all_body() -> None:
    for text in (
        "",
        "text\n",
        "# T\n---\ntitle: x\n---\n",
        " ---\ntitle: x\n---\n",
        "----\na: b\n---\n",
    ):
        assert split_front_matter(text) == FrontMatter(text)


def test_empty_front_matter_and_front_matter_of_comments_are_removed() -> None:
    assert split_front_matter("---\n---\ntext") == FrontMatter("text", 3)
    assert split_front_matter("---\n# only a comment\n---\ntext") == FrontMatter("text", 4)


def test_front_matter_may_end_the_file() -> None:
    assert split_front_matter("---\ntitle: T\n---").title == "T"
    assert split_front_matter("---\ntitle: T\n...\n").body == ""


def test_fences_may_have_trailing_spaces() -> None:
    front = split_front_matter("---  \ntitle: T\n---\t\nbody")
    assert (front.title, front.body, front.body_first_line) == ("T", "body", 4)


@pytest.mark.parametrize("word", ["false", "False", "no", "NO", "off", "0", '"false"'])
def test_every_way_to_say_no_disables(word: str) -> None:
    assert not split_front_matter(f"---\nenabled: {word}\n---\n").enabled


@pytest.mark.parametrize("word", ["true", "yes", "on", "1", ""])
def test_every_way_to_say_yes_enables(word: str) -> None:
    front = split_front_matter(f"---\nenabled: {word}\n---\n")
    assert front.enabled
    assert front.warnings == ()


def test_another_word_for_enabled_is_a_warning_and_enables() -> None:
    front = split_front_matter("---\nenabled: maybe\n---\n")
    assert front.enabled
    assert reasons(front) == ["front_matter_value_ignored"]


def test_scalars_stay_texts() -> None:
    front = split_front_matter("---\ntitle: 2024-01-02\nid: 007\nkind: on\ndescription: 1e3\n---\n")
    assert (front.title, front.resource_id, front.kind) == ("2024-01-02", "007", "on")
    assert front.description == "1e3"


def test_toml_scalars_become_texts() -> None:
    front = split_front_matter("+++\ntitle = 2024\nid = 1979-05-27\n+++\n")
    assert (front.title, front.resource_id) == ("2024", "1979-05-27")


def test_null_and_blank_values_say_nothing() -> None:
    front = split_front_matter("---\ntitle: null\nid: ~\nkind:\ndescription: '  '\n---\n")
    assert front == FrontMatter("", 7)


@pytest.mark.parametrize("value", ["[a, b]", "{a: b}", "\n  - a\n  - b", "\n  deep: [er]"])
def test_a_list_or_table_where_a_text_belongs_is_a_warning(value: str) -> None:
    front = split_front_matter(f"---\ntitle: {value}\ndescription: kept\n---\n")
    assert front.title is None
    assert front.description == "kept"
    assert reasons(front) == ["front_matter_value_ignored"]


def test_nested_keys_are_not_taken_for_top_level_ones() -> None:
    front = split_front_matter("---\nmeta:\n  title: inner\n  enabled: false\nid: x\n---\n")
    assert (front.title, front.enabled, front.resource_id) == (None, True, "x")


def test_a_description_is_one_line_and_knows_its_own() -> None:
    front = split_front_matter(
        "---\ntitle: T 😀\nother: |\n  a\n  b\ndescription: >\n  one\n  two\n\n  three\n---\nbody"
    )
    assert (front.description, front.description_line) == ("one two three", 6)


def test_lines_are_those_of_an_editor_whatever_yaml_takes_for_a_break() -> None:
    front = split_front_matter("---\nother: 'a\u2028b\u0085c'\ndescription: d\n---\nbody")
    assert (front.description_line, front.body_first_line) == (3, 5)


def test_aliases_of_plain_values_are_read_and_alias_bombs_are_not_expanded() -> None:
    assert split_front_matter("---\nother: &x text\ntitle: *x\n---\n").title == "text"
    layers = "".join(f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 9)}]\n" for n in range(1, 40))
    front = split_front_matter(f"---\nk0: &k0 lol\n{layers}title: *k39\nid: x\n---\nbody")
    assert (front.title, front.resource_id, front.body) == (None, "x", "body")
    assert reasons(front) == ["front_matter_value_ignored"]


def test_tags_build_no_objects() -> None:
    front = split_front_matter("---\ntitle: !!python/object/apply:os.getcwd []\nid: !x y\n---\n")
    assert (front.title, front.resource_id) == (None, "y")


def test_unquoted_globs_of_cursor_rules_do_not_lose_the_description() -> None:
    front = split_front_matter(
        "---\ndescription: Rules for TypeScript\nglobs: *.ts,*.tsx\nalwaysApply: false\n---\nbody\n"
    )
    assert (front.description, front.description_line) == ("Rules for TypeScript", 2)
    assert (front.body, front.body_first_line) == ("body\n", 6)
    assert reasons(front) == ["broken_front_matter"]


def test_broken_yaml_is_read_line_by_line_with_a_warning() -> None:
    front = split_front_matter(
        '---\ntitle: "Quoted"  \nid: it-is # why\ndescription: a: b: c\n'
        "kind: [x\nenabled: off\nbroken: 'never closed\n  title: inner\n---\nbody"
    )
    assert (front.title, front.resource_id, front.description) == ("Quoted", "it-is", "a: b: c")
    assert (front.kind, front.enabled, front.body) == (None, False, "body")
    assert front.description_line == 4
    assert reasons(front)[0] == "broken_front_matter"


def test_broken_toml_is_read_line_by_line_with_a_warning() -> None:
    front = split_front_matter('+++\ntitle = "T"\ndescription = D\n+++\nbody')
    assert (front.title, front.description, front.body) == ("T", "D", "body")
    assert reasons(front) == ["broken_front_matter"]


def test_front_matter_over_64_kib_is_broken_and_still_no_body_text() -> None:
    front = split_front_matter(f"---\ntitle: T\nother: {'x' * 70_000}\n---\nbody")
    assert (front.title, front.body) == ("T", "body")
    assert reasons(front) == ["broken_front_matter"]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_deep_nesting_is_broken_and_crashes_nothing(opening: str) -> None:
    front = split_front_matter(f"---\ntitle: T\nother: {opening * 10_000}\n---\nbody")
    assert (front.title, front.body) == ("T", "body")
    assert reasons(front)[0] == "broken_front_matter"
    toml = split_front_matter(f"+++\ntitle = 'T'\nother = {'[' * 20_000}\n+++\nbody")
    assert (toml.title, toml.body) == ("T", "body")


def test_text_between_two_thematic_breaks_is_body() -> None:
    for text in (
        "---\nJust a sentence.\n---\nmore\n",
        "---\n\nOne: two: three\n\n- a\n- b\n---\n".replace("One: two: three", "Two words"),
        "---\n- a\n- b\n---\n",
        "---\n> quoted `x\n---\n",
    ):
        assert split_front_matter(text) == FrontMatter(text)


def test_unterminated_front_matter_is_body_with_a_warning() -> None:
    text = "---\ntitle: T\ndescription: D\n\n# Heading\n"
    front = split_front_matter(text)
    assert (front.body, front.title, front.body_first_line) == (text, None, 1)
    assert reasons(front) == ["unterminated_front_matter"]


def test_a_thematic_break_at_the_start_is_no_warning() -> None:
    text = "---\n\nText after a rule.\n"
    assert split_front_matter(text) == FrontMatter(text)


def test_an_id_with_control_characters_or_beyond_measure_is_ignored() -> None:
    front = split_front_matter(f'---\nid: "a\\eb"\nkind: {"k" * 65}\ntitle: ok\n---\n')
    assert (front.resource_id, front.kind, front.title) == (None, None, "ok")
    assert reasons(front) == ["front_matter_value_ignored"] * 2


PIECES = st.sampled_from(
    (
        *("---", "+++", "...", "title: x", "title = 'x'", "description:", " - a", "a: [", "a: *b"),
        *("{", "enabled: no", "? x", "&a b", "'", '"', "|", ">", "%YAML", "\t", "# c", "\ud800"),
        *("\x1b", "é"),
    )
)


@given(st.lists(PIECES, max_size=8).map("\n".join) | st.text())
@example("---\n...\n")
@example('---\ntitle: "\\ud800"\n---\n')
def test_splitting_never_raises_and_never_loses_the_body(text: str) -> None:
    front = split_front_matter(text)
    assert text.endswith(front.body)
    removed = text[: len(text) - len(front.body)]
    assert front.body_first_line == removed.count("\n") + 1 or not front.body
    for value in (front.resource_id, front.title, front.description, front.kind):
        assert value is None or (value == value.strip() != "" and "\n" not in value)
        assert value is None or value.encode("utf-8")
    assert (front.description is None) == (front.description_line is None)
