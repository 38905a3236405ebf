"""An answer as an agent's prompt takes it: markdown or XML, nothing around it."""

from __future__ import annotations

from html import escape

from memcli.retrieval.activation import Activation, Candidate

# XML 1.0 knows no control characters but tab and line ends.
_NOT_XML = {code: "\ufffd" for code in range(32) if code not in (9, 10, 13)} | {
    0xFFFE: "\ufffd",
    0xFFFF: "\ufffd",
}


def as_markdown(activation: Activation) -> str:
    """Each fragment under a heading with its place; reused ones are named only."""
    if not activation.fragments and not activation.removed:
        return ""
    parts = [_markdown_fragment(each) for each in activation.fragments]
    if activation.removed:
        parts.append(
            "Remove from context:\n" + "\n".join(f"- `{key}`" for key in activation.removed)
        )
    return "\n\n".join(parts) + "\n"


def _markdown_fragment(fragment: Candidate) -> str:
    title = " > ".join(fragment.heading_path)
    heading = f"## {place(fragment)}" + (f" ({title})" if title else "")
    if fragment.action == "reuse":
        return f"{heading}\n\n(unchanged, already in context)"
    return f"{heading}\n\n{fragment.text}"


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
    return f'"{escape(value.translate(_NOT_XML))}"'


def place(fragment: Candidate) -> str:
    """``path:line``, or ``path:first-last`` where the fragment spans lines."""
    first, last = fragment.locator.start_line, fragment.locator.end_line
    return f"{fragment.path}:{first}" + (f"-{last}" if last > first else "")
