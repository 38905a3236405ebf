"""Inputs that hang or swell a careless reader by their size: one shape each, at any size.

A shape is asked for about ``size`` bytes. ``most`` is the largest size that is
tried: 10 MB for single lines and whole documents, less where markdown of many
lines or a file of bounded length is read, since the time for those is linear
but not short.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from soaking.fuzz_inputs import fixture_document, sealed

KIB, MIB = 1 << 10, 1 << 20
LINE, LINES, BLOCK, FILE = 10 * MIB, 200 * KIB, 60 * KIB, 1000 * KIB
# The largest file that is read unless a person says otherwise.
NOTE = 2 * MIB


@dataclass(frozen=True, slots=True)
class Shape:
    """``make(size)`` gives the bytes for ``target``."""

    target: str
    name: str
    make: Callable[[int], bytes]
    most: int
    seconds: float = 10.0


def _again(unit: str, before: str = "", after: str = "") -> Callable[[int], bytes]:
    def make(size: int) -> bytes:
        many = max(1, size // len(unit.encode("utf-8")))
        return f"{before}{unit * many}{after}".encode("utf-8", "surrogatepass")

    return make


def _counted(unit: str, before: str = "", after: str = "") -> Callable[[int], bytes]:
    """``unit`` with its ``%d`` counted up, so that nothing is said twice."""

    def make(size: int) -> bytes:
        many = max(1, size // (len(unit) + 4))
        return f"{before}{''.join(unit % at for at in range(many))}{after}".encode()

    return make


def _stairs(size: int) -> bytes:
    """A list that is indented one level more with every item."""
    steps = int(size**0.5)
    return "".join(" " * (2 * at) + "- a\n" for at in range(steps)).encode()


def _square_table(size: int) -> bytes:
    """As many columns as rows, the rows left short for the parser to fill."""
    side = int(size**0.5)
    return ("|a" * side + "|\n" + "|-" * side + "|\n" + "|b\n" * side).encode()


# One line, up to 10 MB
SINGLE_LINES: Mapping[str, Callable[[int], bytes]] = {
    **{f"nothing but {mark!r}": _again(mark) for mark in "`*_[]!<>|#~-=+(){}\"'&\\$^:. \t\0aあ"},
    **{
        f"nothing but {mark!r}": _again(mark)
        for mark in ("<!--", "![", "](", "**a_", "\u2028", "\x0b")
    },
    **{
        f"nothing but {mark!r}": _again(mark)
        for mark in ("\x85", "\u202e", "\u200d", "\u0301", "א")
    },
    "words": _again("word "),
    "sentences without a space": _again("ends.But.goes!on?"),
    "words after a heading": _again("word ", "# One\n\n"),
    "a heading": _again("a", "# "),
    "a heading with a gap": _again(" ", "# a", "b\n\ntext"),
    "a heading with tabs": _again("\t", "# a", "b\n\ntext"),
    "a heading with closing marks": _again(" #", "# a", "b\n\ntext"),
    "a gap in a line": _again(" ", "word " * 500, "word " * 500),
    "an open tag": _again(' b="', "<a"),
    "attributes": _again(" b", "<a", '"'),
    "spaces in a tag": _again(" ", "<a", '"'),
    "a label": _again("a", "[", "]: /u"),
    "escapes in a label": _again("\\", "["),
    "a destination": _again("(", "[a]: "),
    "nested quotes": _again("> "),
    "nested lists": _again("- "),
    "nested numbers": _again("1. "),
    "quotes in lists": _again("> - "),
}

# Many lines
LINES_OF_MARKDOWN: Mapping[str, Callable[[int], bytes]] = {
    "lazy lines under nested quotes": _again("a\n", "> " * 1000 + "a\n"),
    "lazy lines under nested lists": _again("a\n", "- " * 1000 + "a\n"),
    "nested quotes, many lines": _again(">" * 1000 + " a\n"),
    "nested quotes and lists, many lines": _again("> - " * 50 + "a\n"),
    "stairs of lists": _stairs,
    "definitions": _counted("[a%d]: /u\n"),
    "one definition": _again("[a]: /u\n"),
    "definitions over lines": _again("[a]:\n/u\n'title'\n"),
    "definitions that never end": _again("[a]: b (\n"),
    "titles that never end": _again('[a]: b\n"c\n'),
    "labels that never end": _again("[\n"),
    "labels": _again("[a\n\n"),
    "angle brackets": _again("<\n"),
    "comments that never end": _again("<!--\n\n"),
    "declarations": _again("<!X\n\n"),
    "tags": _again("<a b\n"),
    "list items": _again("- a\n"),
    "loose list items": _again("- a\n\n"),
    "two kinds of items": _again("- a\n* a\n"),
    "numbered items": _counted("%d. a\n"),
    "items in quotes": _again("> - a\n"),
    "quotes with lazy lines": _again("> a\nb\n\n"),
    "headings": _again("# a\n"),
    "headings of two lines": _again("a\n==\n"),
    "a heading of many lines": _again("a\n", "", "==\n"),
    "rules": _again("- - -\n"),
    "a rule that is none": _again("* ", "", "a"),
    "rules that are none": _again("- - - a\n"),
    "fences": _again("```\n"),
    "fences that are none": _again("``` `\n"),
    "an open fence": _again("a\n", "```\n"),
    "indented code": _again("    a\n"),
    "table rows": _again("|b|\n", "|a|\n|-|\n"),
    "tables": _again("|a|\n|-|\n\n"),
    "a square table": _square_table,
    "pipes": _again("|\n"),
    "rows that are none": _again("a|b\n-\n"),
    "a table of many columns": _again("|", "", "|\n" + "|-" * 100_000 + "|\n|a|\n"),
    "a paragraph": _again("a\n"),
    "blank lines": _again("\n", "a", "b"),
    "lines of spaces": _again("    \n", "a\n", "b"),
    "carriage returns": _again("a\r"),
    "mixed line ends": _again("a\r\n\rb\n\x85\u2028\x0b"),
}

# The same for readers that bound what they read
MARKS = {
    "two kinds of marks": _again("\u0301\u0323", "a"),
    "a family of one million": _again("👩\u200d"),
    "flags": _again("🏳️\u200d🌈"),
    "right to left": _again("\u202eمرحبا\u2066שלום"),
}
YAML_BLOCKS: Mapping[str, Callable[[int], bytes]] = {
    "spaces in a description": _again(" ", 'description: "a', 'b"'),
    "line ends in a description": _again("\\n", 'description: "a', 'b"'),
    "spaces in a broken description": _again(" ", "description: a", "b: c: [d\n- e"),
    "nested lists in brackets": _again("[", "a: "),
    "nested tables in braces": _again("{a: ", "a: "),
    "nested lists": _again("- "),
    "nested questions": _again("? "),
    "nested stairs": lambda size: "".join(
        " " * at + "a:\n" for at in range(int(size**0.5))
    ).encode(),
    "an alias bomb": lambda size: (
        "a0: &a0 [x,x]\n"
        + "".join(f"a{n}: &a{n} [*a{n - 1},*a{n - 1}]\n" for n in range(1, size // 24))
        + "title: *a1"
    ).encode(),
    "merge keys": _again("<<: *a,\n", "a: &a {b: c}\n"),
    "anchors": _counted("- &a%d x\n", "a:\n"),
    "a key": _again("a", "", ": b"),
    "one key many times": _again("title: a\n"),
    "keys": _counted("a%d: b\n"),
    "an integer": _again("9", "id: "),
    "digits by sixty": _again(":59", "id: 1"),
    "directives": _again("%TAG !a! b\n"),
    "tags": _again("!", "a: "),
    "quotes": _again("'", "title: "),
    "double quotes": _again('"', "title: "),
    "comments": _again("#\n", "title: a\n"),
    "a folded text": _again("  a\n", "description: >\n"),
    "tabs": _again("\t", "a:"),
    "documents": _again("a: b\n... x\n"),
}
TOML_BLOCKS: Mapping[str, Callable[[int], bytes]] = {
    "a dotted key": _again("a.", "", "a = 1"),
    "a dotted key with spaces": _again("'a' . ", "", "a = 1"),
    "a dotted key in a table": _again("a.", "x = {", "a = 1}"),
    "a dotted table": _again("a.", "[", "a]\nb = 1"),
    "a dotted id": _again("a.", "id.", "a = 1"),
    "a dotted limit": _again("a.", "limits.tokens.", "a = 1"),
    "a dotted id of 1000": lambda size: ("id." + "a." * 1000 + "a = 1\n" + "#" * size).encode(),
    "tables": _counted("[a%d]\n"),
    "tables in tables": _again("[[a.b]]\n", "[[a]]\n"),
    "nested lists": _again("[", "id = "),
    "nested lists that end": lambda size: b"id = " + b"[" * (size // 2) + b"]" * (size // 2),
    "nested tables": _again("{a=", "id = "),
    "an integer": _again("9", "id = "),
    "an integer for seconds": lambda size: b"limits.deadline_seconds = " + b"9" * min(4000, size),
    "a hexadecimal integer": _again("f", "id = 0x"),
    "a hexadecimal limit": _again("f", "limits.tokens = 0x"),
    "hexadecimal seconds": _again("f", "limits.deadline_seconds = 0x"),
    "a hexadecimal integer in a list": _again("f", "id = [0x", "]"),
    "a fraction": _again("9", "id = 0."),
    "a text": _again("a", 'id = "', '"'),
    "escapes": _again("\\u0041", 'id = "', '"'),
    "a key": _again("a", "", " = 1"),
    "keys": _counted("a%d = 1\n"),
    "values": _again("1,", "id = [", "]"),
    "comments": _again("#\n"),
    "an open text": _again("a\n", 'id = """'),
    "spaces": _again(" ", "id =", "1"),
    "a date": _again("9", "id = 1979-05-27T07:32:00."),
}
CONFIGURATIONS: Mapping[str, Callable[[int], bytes]] = {
    **TOML_BLOCKS,
    "a deep root": _again("a/", '[[source]]\nroot = "', '"'),
    "a root of dots": _again("../", '[[source]]\nroot = "', '"'),
    "a root of a long name": _again("a", '[[source]]\nroot = "', '"'),
    "somebody's root": _again("a", '[[source]]\nroot = "~', '"'),
    "a deep prefix": _again("a/", '[[source]]\nprefix = "', '"'),
    "sources": _again('[[source]]\nroot = "docs"\n'),
    "includes": _again('"*.md",', "[[source]]\ninclude = [", "]"),
    "stars": _again("*a", '[[source]]\ninclude = ["', 'b"]'),
    "forty stars": lambda size: f'[[source]]\ninclude = ["{"*a" * 40}b"]\n{"#" * size}'.encode(),
    "two stars": _again("**/", '[[source]]\ninclude = ["', 'b"]'),
    "brackets in a pattern": _again("[", '[[source]]\ninclude = ["', '"]'),
    "a deep trust": _again("/a", '[trust]\nroots = ["', '"]'),
}
QUERIES: Mapping[str, Callable[[int], bytes]] = {
    "words": _counted("w%d "),
    "short words": _again("ok a "),
    "one word": _again("a"),
    "marks within a word": _again("+#", "a", "b"),
    "quotes": _again('"'),
    "Chinese": lambda size: "".join(chr(0x4E00 + at % 20_000) for at in range(size // 3)).encode(),
    "Chinese short words": lambda size: "".join(
        chr(0x4E00 + at % 20_000) + chr(0x4E00 + at // 20_000) + " " for at in range(size // 7)
    ).encode(),
    "brackets": _again("("),
    "NUL": _again("\0", "a", "b"),
    "bytes that are no text": lambda size: b"\xff\xfe" * (size // 2) + b"abc",
    **MARKS,
}
STATE = '{"schema":"memcli.activation_state.v1","project_id":"ground","version":1,'
JSON_DOCUMENTS: Mapping[str, Callable[[int], bytes]] = {
    "nested lists": _again("["),
    "nested objects": _again('{"a":'),
    "nested lists that end": lambda size: b"[" * (size // 2) + b"]" * (size // 2),
    "a text": _again("a", '"', '"'),
    "an open text": _again("a", '{"a":"'),
    "names": _counted('"%d":1,', "{", '"a":1}'),
    "one name": _again('"a":1,', "{", '"a":1}'),
    "a long name": _again("a", '{"', '":1}'),
    "a long name in a state": _again("a", STATE + '"', '":1}'),
    "an integer": _again("9"),
    "an integer for a version": _again("9", '{"expected_version":', "}"),
    "a fraction": _again("9", '{"expected_version":0.', "}"),
    "spaces": _again(" ", "{", "}"),
    "surrogates": _again("\\ud800", '{"expected_version":1,"evidence":["', '"]}'),
    "NUL": _again("\0"),
    "marks": _again("\ufeff"),
    "evidence": _again('"rank:1",', '{"expected_version":1,"evidence":[', '"rank:1"]}'),
    "odd evidence": _counted('"rank:%d0000",', '{"expected_version":1,"evidence":[', '"a"]}'),
    "far ranks": _counted('"rank:9%d",', '{"expected_version":1,"evidence":[', '"rank:1"]}'),
    "a long spelling": _again("a", '{"expected_version":1,"evidence":["', '"]}'),
    "a long key": _again("a", '{"expected_version":1,"evidence":["unit:', '"]}'),
    "a deep chain": lambda size: f'{STATE}"units":[],"chain":{"[" * 1020}{"]" * 1020}}}'.encode(),
    "a deep version": lambda size: (
        STATE.replace('"version":1', f'"version":{"[" * 1000}1{"]" * 1000}').encode()
        + b'"units":[],"chain":"agent_activation.v2"}'
    ),
    "a long chain": _again("1,", STATE + '"units":[],"chain":[', "1]}"),
    "a long digest": _again(
        "f",
        STATE + '"chain":"agent_activation.v2","units":[{"unit_key":"a","content_hash":"',
        '"}]}',
    ),
    "many units": _counted(
        '{"unit_key":"%d","content_hash":"' + "0" * 64 + '"},',
        STATE + '"chain":"agent_activation.v2","units":[',
        '{"unit_key":"a","content_hash":"' + "0" * 64 + '"}]}',
    ),
}


def _large_body(size: int) -> bytes:
    document = fixture_document()
    document["bodies"] = {"0" * 64: "a" * size}
    return sealed(document)


def _fixture_with(place: str, unit: str) -> Callable[[int], bytes]:
    """A fixture whose first Case has, at ``place``, a value of the wanted size."""

    def make(size: int) -> bytes:
        document = fixture_document()
        document["cases"][0][place] = "@"
        text = json.dumps(document).replace('"@"', unit % ("a" * size))
        return text.encode()

    return make


def _many_cases(size: int) -> bytes:
    document = fixture_document()
    first = document["cases"][0]
    many = max(1, size // 2000)
    document["cases"] = [{**first, "case_id": f"c{at:06}"} for at in range(many)]
    document["counts"] = {**document["counts"], "cases": many, "evidence": many}
    return sealed(document)


def _many_candidates(size: int) -> bytes:
    document = fixture_document()
    (first, *_) = document["cases"][0]["candidates"]
    many = max(1, size // 900)
    document["cases"][0]["candidates"] = [
        {**first, "unit_key": f"a.md#root~{at}.0"} for at in range(many)
    ]
    return sealed(document)


def _full_times(size: int) -> bytes:
    """Times that are whole numbers by themselves and too large together."""
    document = fixture_document()
    times = document["cases"][0]["run"]["timings_us"]
    document["cases"][0]["run"]["timings_us"] = dict.fromkeys(times, 2**63 - 1)
    document["cases"][0]["query"] = "a" * size
    return sealed(document)


FIXTURES: Mapping[str, Callable[[int], bytes]] = {
    **{name: make for name, make in JSON_DOCUMENTS.items() if "evidence" not in name},
    "a body of another hash": _large_body,
    "a long query": _fixture_with("query", '"%s"'),
    "a long list for a query": lambda size: _fixture_with("query", "[%s1]")(0).replace(
        b"[1]", b"[" + b"1," * size + b"1]"
    ),
    "Cases": _many_cases,
    "candidates": _many_candidates,
    "times that overflow together": _full_times,
}


def shapes() -> Iterator[Shape]:
    """Every shape for every reader that it is for."""
    for name, make in SINGLE_LINES.items():
        yield Shape("front matter", name, make, LINE)
        yield Shape("chunker", name, make, NOTE)
    for name in ("words", "nothing but 'a'", "nothing but '`'", "nested quotes"):
        yield Shape("chunker", f"{name}, longer than a note", SINGLE_LINES[name], LINE, 60.0)
    for target in ("front matter", "chunker"):
        for name, make in LINES_OF_MARKDOWN.items():
            yield Shape(target, name, make, LINES)
        for name, make in MARKS.items():
            yield Shape(target, name, make, MIB)
    for language, fence, blocks in (("YAML", "---", YAML_BLOCKS), ("TOML", "+++", TOML_BLOCKS)):
        for name, make in blocks.items():
            fenced = _fenced(fence, make)
            yield Shape("front matter", f"{language}: {name}", fenced, BLOCK)
            yield Shape("front matter", f"{language}, too long: {name}", fenced, NOTE)
    yield Shape("front matter", "no end", _again("a: b\n", "---\n"), LINE)
    yield Shape("front matter", "ends that are none", _again("---  x\n", "---\na: b\n"), LINE)
    for name, make in CONFIGURATIONS.items():
        yield Shape("configuration", name, make, FILE)
    for name, make in QUERIES.items():
        yield Shape("query", name, make, MIB)
    for target, documents in (
        ("state", JSON_DOCUMENTS),
        ("resolution", JSON_DOCUMENTS),
        ("fixture", FIXTURES),
    ):
        for name, make in documents.items():
            yield Shape(target, name, make, LINE)


def _fenced(fence: str, make: Callable[[int], bytes]) -> Callable[[int], bytes]:
    mark = fence.encode()
    return lambda size: mark + b"\n" + make(size) + b"\n" + mark + b"\nbody\n"
