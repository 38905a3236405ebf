"""Heading paths: the headings a section stands under, and the path the models are given."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from memcli.index.markdown_blocks import Heading

# A whole file in one heading line would repeat in the key and path of each of its units.
LONGEST_HEADING = 256

LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
MARKS = re.compile(r"[*`]|~~|(?<!\w)_+|_+(?!\w)")
ENDS = " .,:;!?。，、：；！？…"


class HeadingTrail:
    """The headings that enclose the place reached, outermost first."""

    def __init__(self) -> None:
        self._open: list[Heading] = []

    def enter(self, heading: Heading) -> tuple[str, ...]:
        """Pass ``heading``, which ends all of its level and below; the path ends with it."""
        while self._open and self._open[-1].level >= heading.level:
            self._open.pop()
        self._open.append(heading)
        return tuple(one.text[:LONGEST_HEADING].rstrip() for one in self._open)


def model_heading_path(resource_title: str, heading_path: Sequence[str]) -> tuple[str, ...]:
    """The heading path for a model's input: it begins with the title.

    The title is left out where the first heading says the same (case, markdown
    marks, white space and closing punctuation aside), empty headings always.
    """
    headings = tuple(heading for heading in heading_path if heading.strip())
    title = resource_title.strip()[:LONGEST_HEADING].rstrip()
    if not title or (headings and _said(title) == _said(headings[0])):
        return headings
    return (title, *headings)


def _said(heading: str) -> str:
    text = LINK.sub(r"\1", unicodedata.normalize("NFC", heading).casefold())
    words = " ".join(MARKS.sub("", ESCAPE.sub("", text)).split())
    return words.strip(ENDS) or words
