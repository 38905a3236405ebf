"""Split a document into front matter (YAML or TOML) and body; whatever it holds, never raise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memcli.configuration.toml_parsing import TomlError, parse_toml

KEYS = ("id", "title", "description", "kind", "enabled")
MAX_CHARACTERS = 64 * 1024
MAX_LENGTH = {"id": 512, "title": 1024, "kind": 64, "enabled": 16}
TRUE_WORDS = frozenset({"true", "yes", "on", "1"})
FALSE_WORDS = frozenset({"false", "no", "off", "0"})
OPENING = re.compile(r"(---|\+\+\+)[ \t]*\n")
CLOSING = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*(?:\n|\Z)", re.MULTILINE),
}
KEY_LINE = {
    "---": re.compile(r"([A-Za-z_][\w.-]*|\"[^\"\n]+\"|'[^'\n]+')[ \t]*:(?:[ \t]+(.*))?$"),
    "+++": re.compile(r"([A-Za-z_][\w.-]*|\"[^\"\n]+\"|'[^'\n]+')[ \t]*=[ \t]*(.*)$"),
}
BROKEN = "broken_front_matter"
UNTERMINATED = "unterminated_front_matter"
IGNORED_VALUE = "front_matter_value_ignored"
SURROGATE = re.compile("[\ud800-\udfff]")
COMMENT = re.compile(r"(?:^|\s)#.*")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What the front matter says; ``None`` where it says nothing.

    ``body`` is everything after it, unchanged, and begins at line
    ``body_first_line`` of the file (from 1). ``description_line`` is the line of
    the description's key. ``warnings`` are stable words with a sentence.
    """

    body: str
    body_first_line: int = 1
    resource_id: str | None = None
    title: str | None = None
    description: str | None = None
    kind: str | None = None
    enabled: bool = True
    description_line: int | None = None
    warnings: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Values:
    """Raw values by key with the 0-based line, inside the block, of each key."""

    texts: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    warnings: list[tuple[str, str]] = field(default_factory=list)

    def put(self, key: str, value: str | None, line: int, what: str = "") -> None:
        """Keep a value; ``None`` with ``what`` it is instead of a text."""
        if key not in KEYS:
            return
        if value is None:
            self.texts.pop(key, None)
            self.lines.pop(key, None)
            if what:
                self.warnings.append((IGNORED_VALUE, f"{key} is {what}, not a text"))
            return
        self.texts[key] = value
        self.lines[key] = line


def split_front_matter(text: str) -> FrontMatter:
    """Split ``text`` (LF line ends). Text that only looks like front matter stays body."""
    opening = OPENING.match(text)
    if opening is None:
        return FrontMatter(text)
    fence = opening[1]
    closing = CLOSING[fence].search(text, opening.end())
    if closing is None:
        looks_meant = _begins_with_key(text[opening.end() : MAX_CHARACTERS], fence)
        detail = f"the front matter that begins with {fence} has no end; it is read as text"
        return FrontMatter(text, warnings=((UNTERMINATED, detail),) if looks_meant else ())
    block = text[opening.end() : closing.start()]
    values = _read(block, fence)
    if values is None:
        return FrontMatter(text)
    body_first_line = text.count("\n", 0, closing.end()) + 1
    return _checked(values, text[closing.end() :], body_first_line)


def _read(block: str, fence: str) -> _Values | None:
    """The block's values, or ``None`` where it is no front matter but text between two rules."""
    if len(block) > MAX_CHARACTERS:
        fault = "it is longer than 64 KiB"
    else:
        try:
            return _from_yaml(block) if fence == "---" else _from_toml(block)
        except _FrontMatterError as error:
            fault = str(error)
    if not _begins_with_key(block, fence):
        return None
    values = _from_lines(block, fence)
    detail = f"it was read line by line: {fault}"
    values.warnings.insert(0, (BROKEN, detail))
    return values


class _FrontMatterError(Exception):
    """The block cannot be parsed as what its fence says."""


def _from_yaml(block: str) -> _Values | None:
    """Read the top-level mapping from parser events.

    No object is built and no alias expanded, so neither tags nor alias bombs nor
    depth can do anything. Every scalar is a text, as with PyYAML's BaseLoader.
    """
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return _from_events(yaml.parse(block, Loader=loader), block)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" (line {mark.line + 2})" if mark is not None else ""
        raise _FrontMatterError(f"{error.problem or 'it is no YAML'}{where}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _FrontMatterError("it holds characters that YAML does not allow") from error


def _from_events(events: Iterator[Any], block: str) -> _Values | None:
    import yaml

    values = _Values()
    anchors: dict[str, str] = {}
    for key, value in _top_level_nodes(events):
        if key is None:
            # No mapping: nothing at all, or text between two thematic breaks.
            if isinstance(value, yaml.ScalarEvent) and not value.value:
                return values
            return None
        if isinstance(value, yaml.ScalarEvent) and value.anchor is not None:
            anchors[value.anchor] = value.value
        if not isinstance(key, yaml.ScalarEvent) or key.start_mark is None:
            continue
        # Not the mark's own line: YAML counts more characters as line breaks than editors do.
        line = block.count("\n", 0, key.start_mark.index)
        if isinstance(value, yaml.ScalarEvent):
            values.put(key.value, None if _is_null(value) else value.value, line)
        elif isinstance(value, yaml.AliasEvent):
            values.put(key.value, anchors.get(value.anchor or ""), line, "a reference")
        else:
            is_list = isinstance(value, yaml.SequenceStartEvent)
            values.put(key.value, None, line, "a list" if is_list else "a table")
    return values


def _top_level_nodes(events: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
    """The first event of every key and value of the top-level mapping.

    A document that is no mapping gives one pair, ``None`` and its first event.
    """
    import yaml

    depth, key = 0, None
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.NodeEvent):
            if depth == 0 and not isinstance(event, yaml.MappingStartEvent):
                yield None, event
                return
            if depth == 1 and key is None:
                key = event
            elif depth == 1:
                yield key, event
                key = None
            depth += isinstance(event, yaml.CollectionStartEvent)
        elif isinstance(event, yaml.DocumentEndEvent):
            return


def _is_null(event: Any) -> bool:
    """``title:`` and ``title: null`` say nothing."""
    return event.implicit[0] and event.style in (None, "") and event.value in ("", "~", "null")


def _from_toml(block: str) -> _Values:
    try:
        table: Mapping[str, Any] = parse_toml(block)
    except TomlError as error:
        raise _FrontMatterError(str(error)) from error
    values = _Values()
    lines = {key: number for number, key, _ in _key_lines(block, "+++")}
    for key, value in table.items():
        line = lines.get(key, 0)
        if isinstance(value, (dict, list)):
            values.put(key, None, line, "a table" if isinstance(value, dict) else "a list")
        else:
            values.put(key, _toml_text(value), line, "a number of too many digits")
    return values


def _toml_text(value: object) -> str | None:
    try:
        text = str(value)
    except ValueError:
        # A hexadecimal number may be longer than Python writes out in decimal.
        return None
    return text.lower() if isinstance(value, bool) else text


def _from_lines(block: str, fence: str) -> _Values:
    """The simple ``key: value`` lines at the left edge, for a block that does not parse."""
    values = _Values()
    for number, key, value in _key_lines(block[:MAX_CHARACTERS], fence):
        text = COMMENT.sub("", value).strip()
        if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
            text = text[1:-1]
        elif text[:1] in ("[", "{"):
            values.put(key, None, number, "a list" if text[0] == "[" else "a table")
            continue
        values.put(key, text if text[:1] not in ("|", ">", "&", "*", "!", "") else None, number)
    return values


def _key_lines(block: str, fence: str) -> Iterator[tuple[int, str, str]]:
    pattern = KEY_LINE[fence]
    for number, line in enumerate(block.split("\n")):
        if fence == "+++" and line.startswith("["):
            return
        if found := pattern.match(line):
            yield number, found[1].strip("\"'"), found[2] or ""


def _begins_with_key(block: str, fence: str) -> bool:
    for line in block.split("\n", 200):
        if line.strip() and not line.startswith("#"):
            return KEY_LINE[fence].match(line) is not None
    return False


def _checked(values: _Values, body: str, body_first_line: int) -> FrontMatter:
    warnings = list(values.warnings)
    texts: dict[str, str] = {}
    for key, raw in values.texts.items():
        lines = (line.strip() for line in SURROGATE.sub("\ufffd", raw).split("\n"))
        text = " ".join(line for line in lines if line)
        if not text:
            continue
        if len(text) > MAX_LENGTH.get(key, MAX_CHARACTERS):
            warnings.append((IGNORED_VALUE, f"{key} is too long"))
        elif key in ("id", "kind") and not text.isprintable():
            warnings.append((IGNORED_VALUE, f"{key} holds control characters"))
        else:
            texts[key] = text
    enabled = True
    if (word := texts.get("enabled", "true").lower()) in FALSE_WORDS:
        enabled = False
    elif word not in TRUE_WORDS:
        warnings.append((IGNORED_VALUE, f"enabled must be true or false, not {word!r}"))
    description = texts.get("description")
    return FrontMatter(
        body=body,
        body_first_line=body_first_line,
        resource_id=texts.get("id"),
        title=texts.get("title"),
        description=description,
        kind=texts.get("kind"),
        enabled=enabled,
        # The block begins on the file's second line.
        description_line=None if description is None else values.lines["description"] + 2,
        warnings=tuple(warnings),
    )
