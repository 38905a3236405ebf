"""An answer as an agent's prompt takes it: markdown or XML, nothing around it."""

from __future__ import annotations

import re
from html import escape

from memcli.retrieval.activation import Activation, Candidate

# XML 1.0 knows no control characters but tab and line ends.
_NOT_XML = {code: "\ufffd" for code in range(32) if code not in (9, 10, 13)} | {
    0xFFFE: "\ufffd",
    0xFFFF: "\ufffd",
}
# What some reader or other takes for the end of a line.
_LINE_ENDS = re.compile("[\n\x0b\x0c\r\x1c-\x1e\x85\u2028\u2029]+")
_BACKTICKS = re.compile("`+")
_SHORTEST_FENCE = 3
# An attribute's line ends and tabs would be read back as spaces.
_IN_ATTRIBUTES = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def as_markdown(activation: Activation) -> str:
    """Each fragment under a heading with its place, fenced; reused ones are named only.

    The fence is longer than any run of backticks in the text: nothing that a
    note holds can end it, and so pass for another fragment or for our own words.
    """
    if not activation.fragments and not activation.removed:
        return ""
    parts = [_markdown_fragment(each) for each in activation.fragments]
    if activation.removed:
        parts.append(
            "Remove from context:\n\n" + "\n".join(f"- {_code(key)}" for key in activation.removed)
        )
    return "\n\n".join(parts) + "\n"


def _markdown_fragment(fragment: Candidate) -> str:
    title = " > ".join(fragment.heading_path)
    heading = _one_line(f"## {place(fragment)}" + (f" ({title})" if title else ""))
    if fragment.action == "reuse":
        return f"{heading}\n\n(unchanged, already in context)"
    fence = "`" * max(_SHORTEST_FENCE, _longest_run(fragment.text) + 1)
    return f"{heading}\n\n{fence}markdown\n{fragment.text}\n{fence}"


def _code(text: str) -> str:
    """A code span that holds ``text``, whatever backticks it has."""
    text = _one_line(text)
    mark = "`" * (_longest_run(text) + 1)
    pad = " " if "`" in (text[:1], text[-1:]) else ""
    return f"{mark}{pad}{text}{pad}{mark}"


def _longest_run(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)


def _one_line(text: str) -> str:
    return _LINE_ENDS.sub(" ", text)


def as_xml(activation: Activation) -> str:
    """A ``<memory>`` element with one ``<fragment>`` each, and ``<remove>`` for what to drop."""
    lines = [f"<memory revision={_attribute(activation.revision_id)}>"]
    lines += [_xml_fragment(each) for each in activation.fragments]
    lines += [f"<remove unit={_attribute(key)}/>" for key in activation.removed]
    return "\n".join([*lines, "</memory>"]) + "\n"


def _xml_fragment(fragment: Candidate) -> str:
    attributes = {
        "path": fragment.path,
        "lines": f"{fragment.locator.start_line}-{fragment.locator.end_line}",
        "heading": " > ".join(fragment.heading_path),
        "unit": fragment.unit_key,
        "action": fragment.action or "",
    }
    opened = "<fragment " + " ".join(
        f"{name}={_attribute(value)}" for name, value in attributes.items() if value
    )
    if fragment.action == "reuse":
        return opened + "/>"
    return f"{opened}>\n{escape(fragment.text.translate(_NOT_XML), quote=False)}\n</fragment>"


def _attribute(value: str) -> str:
    escaped = escape(value.translate(_NOT_XML))
    for character, reference in _IN_ATTRIBUTES.items():
        escaped = escaped.replace(character, reference)
    return f'"{escaped}"'


def place(fragment: Candidate) -> str:
    """``path:line``, or ``path:first-last`` where the fragment spans lines."""
    first, last = fragment.locator.start_line, fragment.locator.end_line
    return f"{fragment.path}:{first}" + (f"-{last}" if last > first else "")
