"""The first heading of a body, as CommonMark sees it, without parsing more than is needed."""

from __future__ import annotations

import re

from memcli.memory.block_parsing import block_tokens

FIRST_PREFIX_LINES = 200
ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
SETEXT = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
RULE_START = re.compile(r" {0,3}([-_*])")
# What certainly begins a paragraph: not code, a quote, HTML or a link's definition.
PLAIN_START = re.compile(r" {0,3}[^\s<>\[]")
# What may interrupt a paragraph with a block that this scanner does not follow.
DOUBTFUL = re.compile(r"[ \t]*(?:[-+*](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)|[<>])")
TABLE_RULE = re.compile(r"[ \t]*[-:|][-:| \t]*(?:\n|\Z)")
UNSURE = (None, False)


def first_heading(body: str) -> str | None:
    """The text of the first top-level heading that has any, inline marks as written, on one line.

    Headings in quotes, lists, fences and HTML blocks do not count. A scanner
    decides the usual documents line by line; whatever it is not certain of goes
    to markdown-it.
    """
    heading, is_certain = _scan(body)
    return heading if is_certain else parsed_first_heading(body)


def parsed_first_heading(body: str) -> str | None:
    """The same by markdown-it alone, over growing prefixes of the body.

    CommonMark never lets a later line change what closed blocks before it are,
    so the first heading of a prefix is that of the whole.
    """
    lines = body.split("\n")
    count = FIRST_PREFIX_LINES
    while True:
        tokens = block_tokens("\n".join(lines[:count]))
        for index, token in enumerate(tokens):
            is_heading = token.type == "heading_open" and token.level == 0
            if is_heading and (text := _one_line(tokens[index + 1].content)):
                return text
        if count >= len(lines):
            return None
        count *= 8


def _scan(body: str) -> tuple[str | None, bool]:
    """The first heading's text or ``None``, and whether that is certain."""
    fence: str | None = None
    paragraph: list[str] = []
    start = 0
    while start <= len(body):
        end = body.find("\n", start)
        end = len(body) if end < 0 else end
        line = body[start:end]
        start = end + 1
        if fence is not None:
            if _closes(fence, line):
                fence = None
        elif not line.strip(" \t"):
            paragraph.clear()
        elif "|" in line and TABLE_RULE.match(body, start):
            return UNSURE
        elif heading := ATX.match(line):
            if text := _one_line(_without_closing_marks((heading[2] or "").strip(" \t"))):
                return text, True
            paragraph.clear()
        elif paragraph and SETEXT.match(line):
            if text := _one_line("\n".join(paragraph)):
                return text, True
            paragraph.clear()
        elif opened := FENCE.match(line):
            if opened[1][0] == "`" and "`" in opened[2]:
                return UNSURE
            fence = opened[1]
            paragraph.clear()
        elif _is_rule(line):
            paragraph.clear()
        elif (paragraph or PLAIN_START.match(line)) and not DOUBTFUL.match(line):
            paragraph.append(line)
        else:
            return UNSURE
    return None, True


def _without_closing_marks(heading: str) -> str:
    """``One ##`` is ``One``: marks at the end count where they stand alone."""
    text = heading.rstrip("#")
    return text if not text or text[-1] in " \t" else heading


def _is_rule(line: str) -> bool:
    start = RULE_START.match(line)
    if start is None:
        return False
    marks = line.replace(" ", "").replace("\t", "")
    return len(marks) >= 3 and not marks.strip(start[1])


def _closes(fence: str, line: str) -> bool:
    content = line.strip(" \t")
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    # A tab always reaches the fourth column, and so no fence.
    is_mark = content.startswith(fence) and not content.strip(fence[0])
    return is_mark and len(indent) < 4 and "\t" not in indent


def _one_line(text: str) -> str:
    return " ".join(line.strip() for line in text.strip().split("\n"))
