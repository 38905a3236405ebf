"""Markdown and XML for a prompt: well formed whatever the notes hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree

from memcli.retrieval.prompt import as_markdown, as_xml

Make = Callable[[Mapping[str, str]], Any]

NASTY = "quote \" and ' and <tag> & ]]> and control \x01\x1b[31m end of nasty words"


def test_xml_is_well_formed_and_keeps_the_text(corpus_of: Make) -> None:
    activation = corpus_of({'odd "name" <1>.md': f"# A & B\n\n{NASTY}"}).ask("nasty words")
    memory = ElementTree.fromstring(as_xml(activation))
    (fragment,) = memory
    assert fragment.attrib["path"] == 'odd "name" <1>.md'
    assert "quote \" and ' and <tag> & ]]>" in (fragment.text or "")
    assert "\x1b" not in (fragment.text or "")


def test_markdown_names_place_and_headings_and_nothing_else(corpus_of: Make) -> None:
    body = "".join(f"## Part {at}\n\n{f'topic{at} ' * 110}\n\n" for at in range(5))
    activation = corpus_of({"long.md": f"# Guide\n\nintro\n\n{body}"}).ask("topic3")
    text = as_markdown(activation)
    assert text.startswith("## long.md:")
    assert "(Guide > Part 3)" in text.splitlines()[0]


def test_an_empty_answer_is_an_empty_prompt(corpus_of: Make) -> None:
    activation = corpus_of({"a.md": "nothing in common"}).ask("zebra")
    assert activation.fragments == ()
    assert as_markdown(activation) == ""
    assert len(ElementTree.fromstring(as_xml(activation))) == 0
