"""Seeded inputs for the seven readers: pieces of their grammars, and valid inputs spoilt.

Every input follows from one ``random.Random``, so a trial's number gives it
again. What hangs or swells a reader by its size is in ``fuzz_shapes``.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from memcli.configuration import OPTIONS
from soaking.fuzz_targets import PROJECT

Generate = Callable[[random.Random], bytes]

SPACES = ("\n", "\n\n", " ", "  ", "\t", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u00a0")
ODD = (
    *("\0", "\x1b[2J", "\x07", "\x7f", "\ufeff", "\ufffe", "\ufffd", "\u200b", "\u200d", "\u202e"),
    *("\u2066", "\u0301", "\u0323\u0301", "e\u0301", "é", "İ", "ß", "ſ", "Σ", "ﬁ", "שלום", "مرحبا"),
    *(
        "部署",
        "回滚数据库。",
        "한국",
        "ก็",
        "👩‍👩‍👧‍👦",
        "🏳️‍🌈",
        "\U0010ffff",
        "\U000e0001",
        "a" * 300,
    ),
)
MARKDOWN = (
    *("# One", "###### Six", "#", "####### seven", "a\n===", "b\n---", "---", "***", "- a", "* b"),
    *("1. c", "999999999. d", "0) e", "    code", "> q", ">> q", "> - a", "- > b", "-", "+", "```"),
    *(
        "~~~~",
        "``` `x`",
        "````md",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "|",
        "|-|",
        "<div>",
        "</div>",
    ),
    *(
        "<!--",
        "-->",
        "<?",
        "<![CDATA[",
        "<script>",
        "[a]: /u 'title'",
        "[b]:",
        "[a\n]: <",
        "![",
        "]",
    ),
    *("(", "\\", "&#0;", "&amp;", "*", "**a", "_b_", "`", "``", "word", "word " * 30, "end. Next"),
    *("x" * 80, "- [ ] task", "[^1]: note", "$$", "\t- tab", "  - two", "      - six", "{#id}"),
)
YAML = (
    *("---", "...", "+++", "title: x", "id: docs/a", "kind: rule", "enabled: no", "description: d"),
    *("title:", "description: >\n  folded\n  text", "description: |-\n  kept\n", "id: [a, b]"),
    *("kind: {a: b}", "title: *x", "title: &x y", "id: !!binary aGk=", "id: !!python/object:os {}"),
    *("title: 2001-12-14t21:59:43.10-05:00", "id: 0x1F", "id: 0b1", "id: 0o17", "id: 190:20:30"),
    *("id: .inf", "id: .nan", "id: 1_000", "enabled: Yes", "enabled: y", "enabled: 0", "title: ~"),
    *("title: 'it''s'", 'title: "a\\u0000b"', 'id: "\\ud800"', 'title: "\\x1b[2J"', "<<: *x"),
    *("? a", ": b", "- c", "[", "]", "{", "}", "'", '"', "%YAML 9.9", "%TAG ! x", "# comment"),
    *("title = 'x'", "id = 1979-05-27", "description = '''\nd\n'''", "[table]", "enabled = false"),
    *("id = 0x" + "f" * 5000, "id = " + "9" * 5000, "a.b.c = 1", "title = inf", "\ttab: x"),
)
WORDS = (
    *("deploy", "C++", "C#", "what's", "docker-compose", "a:b", "NEAR(", "AND", "OR", "NOT", "*"),
    *('"', '""', "'", "^", "-", "--help", "{path}:", "title:x", "(", ")", ";", "ok", "a", "A_b"),
    *(
        "src/a.md",
        "v1.2.3",
        "部署",
        "怎么回滚",
        "한국어",
        "café",
        "cafe\u0301",
        "ﬀ",
        "½",
        "...",
        "+#",
    ),
)
TOML_VALUES = (
    *("1", "0", "-1", "true", '""', '"x"', '"~"', '"/etc"', '".."', '"."', '"docs"', "[]", "{}"),
    *("inf", "-inf", "nan", "1e308", "1e400", "0.5", "60", "60.1", "0x" + "f" * 300, "9" * 30),
    *("0x" + "f" * 5000, "9" * 5000, "1979-05-27", "07:32:00", "1979-05-27T07:32:00-08:00", "0o7"),
    *('"\\u0000"', '"\\u001b[2J"', '"off"', '"require"', '"m.gguf"', '"bundled"', '["a", 1]'),
    *('["*.md"]', '["[", "**", "!x"]', '["a/../b"]', "[[[[]]]]", "{a = {b = {c = 1}}}", "'''x'''"),
    *(
        '"a/b/c"',
        '"../x"',
        '"global"',
        '"local"',
        '"project"',
        '"部署"',
        '"\\u202e"',
        '"' + "a" * 9000 + '"',
    ),
)
TOML_KEYS = (
    *(option.key for option in OPTIONS),
    *("id", "source", "trust", "trust.roots", "scope", "root", "include", "exclude", "kind"),
    *("prefix", "unknown", "limits", "models", '""', "'a b'", "a.b.c", "limits.tokens.x", "源"),
)
JSON_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 2**31, 2**53, 2**63 - 1, -(2**63), 0.0, -0.5, 1e308, 5e-324),
    *(
        "",
        "x",
        "\0",
        "\x1b[2J",
        "[/b]",
        "部署",
        "\u202e",
        "a" * 9000,
        [],
        {},
        [[]],
        {"a": {"b": []}},
    ),
    *(["x", "x"], [None], {"resource_id": "a.md", "unit_key": None}, "rank:1", "0" * 64),
)
JSON_TEXTS = (
    *("{", "}", "[", "]", ",", ":", '"', "\\", "null", "true", "1", "1.0", "1e999", "-0", "NaN"),
    *("Infinity", "9" * 30, "9" * 5000, '"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', "[" * 900),
    *('"x":' * 3, "]" * 900, "\ufeff", " ", "//", "'a'", '{"a":1,"a":2}', '"resource:\\ud83d"'),
)


# Spoiling bytes


def mutated(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """``data`` after a few cuts, flips, insertions, repeats or splices."""
    spoilt = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(spoilt) + 1)
        end = min(len(spoilt), at + rng.choice((1, 1, 2, 8, 64)))
        match rng.randrange(7):
            case 0:
                del spoilt[at:end]
            case 1:
                spoilt[at:at] = rng.choice(ODD).encode("utf-8")
            case 2:
                spoilt[at:at] = bytes(spoilt[at:end]) * rng.choice((1, 2, 50))
            case 3:
                spoilt[at:end] = rng.randbytes(end - at)
            case 4:
                spoilt[at:] = rng.choice(others)[-rng.randrange(1, 200) :]
            case 5:
                spoilt[at:at] = rng.choice(JSON_TEXTS).encode("utf-8")
            case _ if at < len(spoilt):
                spoilt[at] ^= 1 << rng.randrange(8)
    return bytes(spoilt)


def encoded(text: str, rng: random.Random) -> bytes:
    """Mostly UTF-8; now and then with a mark, as UTF-16 or UTF-32, or cut within a character."""
    match rng.randrange(24):
        case 0:
            return text.encode("utf-8-sig", "replace")
        case 1:
            return text.encode(rng.choice(("utf-16", "utf-32")), "replace")
        case 2:
            return b"\xff\xfe" + text.encode("utf-16-be", "replace")
        case 3:
            return text.encode("utf-8", "replace")[: rng.randrange(1, 400)]
    return text.encode("utf-8", "replace")


def _joined(pieces: Sequence[str], rng: random.Random, most: int) -> str:
    chosen = []
    for _ in range(rng.randrange(1, most)):
        chosen.append(rng.choice(ODD) if rng.random() < 0.12 else rng.choice(pieces))
        chosen.append("\n" if rng.random() < 0.6 else rng.choice(SPACES))
    return "".join(chosen)


def _noise(rng: random.Random) -> str:
    top = rng.choice((0x80, 0x250, 0x3000, 0xD800, 0x110000))
    codes = (rng.randrange(top) for _ in range(rng.randrange(200)))
    return "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000)


# One generator a target


def _front_matter(rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return mutated(rng.choice(NOTES), NOTES, rng)
    if rng.random() < 0.1:
        return encoded(_noise(rng), rng)
    fence = rng.choice(("---", "---", "+++"))
    block = _joined(YAML, rng, 10)
    body = _joined(MARKDOWN, rng, 12)
    return encoded(f"{fence}\n{block}\n{rng.choice((fence, '...', ''))}\n{body}", rng)


def _chunker(rng: random.Random) -> bytes:
    if rng.random() < 0.25:
        return mutated(rng.choice(NOTES) * rng.choice((1, 3, 12)), NOTES, rng)
    if rng.random() < 0.1:
        return encoded(_noise(rng) * rng.choice((1, 20)), rng)
    text = _joined(MARKDOWN, rng, rng.choice((5, 20, 60)))
    if rng.random() < 0.3:
        line = rng.choice(MARKDOWN) + rng.choice(SPACES)
        text += line * rng.randrange(1, 400) + _joined(MARKDOWN, rng, 8)
    return text.encode("utf-8", "replace")


def _query(rng: random.Random) -> bytes:
    if rng.random() < 0.2:
        return rng.randbytes(rng.randrange(60))
    if rng.random() < 0.2:
        return _noise(rng).encode("utf-8")
    return mutated(_joined(WORDS, rng, 12).encode("utf-8"), [b"x"], rng)


def _state(rng: random.Random) -> bytes:
    return _json_case(rng, state_seed(rng), "units")


def _resolution(rng: random.Random) -> bytes:
    document: dict[str, Any] = {"expected_version": rng.choice((1, 2, 10**30))}
    if rng.random() < 0.3:
        document["none_matched"] = True
    else:
        document["evidence"] = [
            rng.choice(
                (
                    {"resource_id": "a.md"},
                    {"resource_id": "a.md", "unit_key": "a.md#root~0.0"},
                    *("rank:1", "unit:k", "resource:a.md", "rank:" + "9" * 12, "rank:²", "x"),
                )
            )
            for _ in range(rng.randrange(4))
        ]
    return _json_case(rng, document, "evidence")


def _json_case(rng: random.Random, document: Any, inner: str) -> bytes:
    """A document as it is, with values exchanged, or spoilt as text."""
    if rng.random() < 0.5:
        _spoil(document, rng)
    text = json.dumps(document, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.2:
        text = text.replace(rng.choice(('"', "1", inner, ",")), rng.choice(JSON_TEXTS), 1)
    data = text.encode(rng.choice(("utf-8",) * 9 + ("utf-16", "utf-32-le")), "surrogatepass")
    return mutated(data, [data], rng) if rng.random() < 0.3 else data


def _spoil(document: Any, rng: random.Random) -> None:
    """Exchange, drop, double or rename one thing somewhere in ``document``."""
    nodes = [document]
    for node in nodes:
        inside = node.values() if isinstance(node, dict) else node
        nodes += [each for each in inside if isinstance(each, (dict, list))]
    node = rng.choice(nodes)
    value = copy.deepcopy(rng.choice(JSON_VALUES))
    if isinstance(node, list):
        if node and rng.random() < 0.7:
            node[rng.randrange(len(node))] = value
        else:
            node.append(copy.deepcopy(rng.choice(node)) if node and rng.random() < 0.5 else value)
        return
    name = rng.choice([*node, "x"])
    if rng.random() < 0.15:
        node.pop(name, None)
    else:
        node["x" if rng.random() < 0.05 else name] = value


def _configuration(rng: random.Random) -> bytes:
    if rng.random() < 0.12:
        pairs = [f"{name} = {_toml_value(name, rng)}" for name in PROFILE_KEYS]
        kept = [pair for pair in pairs if rng.random() < 0.97]
        return "\n".join(('role = "embed"', *kept)).encode()
    if rng.random() < 0.2:
        return mutated(rng.choice(CONFIGURATIONS), CONFIGURATIONS, rng)
    lines: list[str] = []
    fit = rng.random() < 0.5
    for _ in range(rng.randrange(1, 6)):
        key = rng.choice(TOML_KEYS)
        if fit:
            option = rng.choice(OPTIONS)
            value = json.dumps(option.default)
            lines.append(f"{option.key} = {rng.choice((value, value, rng.choice(TOML_VALUES)))}")
            continue
        kind = rng.random()
        if kind < 0.15:
            lines.append(f"[[source]]\n{rng.choice(SOURCE_LINES)}")
        elif kind < 0.2:
            lines.append(f"[{key}]")
        else:
            lines.append(f"{key} = {rng.choice(TOML_VALUES)}")
    return encoded("\n".join(lines), rng)


SOURCE_LINES = (
    *('root = "docs"', 'scope = "local"', 'kind = "rule"', 'prefix = "a/b"', 'include = ["*.txt"]'),
    *(
        'exclude = ["a*a*a*a*a*b"]',
        'root = "../.."',
        'root = ".git"',
        'prefix = "../x"',
        "kind = 1",
    ),
)
PROFILE_KEYS = (
    *("file", "sha256", "size", "pooling", "query_prefix", "passage_prefix", "pair_form"),
    *(
        "max_tokens",
        "licence",
        "source",
        "added_at",
        "relevance.middle",
        "relevance.width",
        "relevance.floor",
    ),
)
PROFILE_VALUES = {
    "file": '"/m.gguf"',
    "sha256": f'"{"0" * 64}"',
    "size": "1",
    "pooling": '"mean"',
    "max_tokens": "512",
    "pair_form": '"file"',
    "added_at": '"2026-01-01T00:00:00Z"',
}


def _toml_value(name: str, rng: random.Random) -> str:
    fit = "0.5" if name.startswith("relevance") else PROFILE_VALUES.get(name, '"x"')
    return rng.choice(TOML_VALUES) if rng.random() < 0.12 else fit


def _fixture(rng: random.Random) -> bytes:
    document = fixture_document()
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4))):
        _spoil(document, rng)
    if rng.random() < 0.7:
        document = _consistent(document)
    data = sealed(document) if rng.random() < 0.9 else orjson.dumps(document)
    return mutated(data, [data], rng) if rng.random() < 0.15 else data


# Valid inputs

NOTES: tuple[bytes, ...] = tuple(
    text.encode("utf-8")
    for text in (
        "---\ntitle: On call\ndescription: Who carries the pager\nkind: runbook\n---\n# On call\n\n"
        "The pager is handed over on Tuesday.\n\n- one\n- two\n  - three\n",
        "+++\ntitle = 'Queue'\nid = \"queue\"\nenabled = true\n+++\n# The queue\n\n## Retries\n\n"
        "```sh\n# no heading\nmake\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        "# 部署手册\n\n部署前先通知值班同学，数据库迁移必须在低峰期执行。\n\n> quoted\n> text\n",
        "Title\n=====\n\n[ref]: /url 'title'\n\n<div>\n\nhtml\n\n</div>\n\n1. a\n2. b\n",
    )
)
CONFIGURATIONS = (
    b'id = "ground"\n[limits]\ntokens = 1200\n[models]\ngpu = "off"\n',
    b'[[source]]\nroot = "docs"\ninclude = ["*.md", "!x.md"]\nkind = "rule"\nprefix = "d"\n',
    b'[trust]\nroots = ["/a/b"]\n[[source]]\nroot = "/notes"\n',
)


def state_seed(rng: random.Random) -> dict[str, Any]:
    """A valid state of up to four units, now and then inside a whole answer."""
    units = [
        {"unit_key": f"a{at}.md#root~0.0", "content_hash": f"{at}" * 64}
        for at in range(rng.randrange(5))
    ]
    state = {
        "schema": "memcli.activation_state.v1",
        "project_id": PROJECT,
        "chain": "agent_activation.v2",
        "version": 1,
        "units": units,
    }
    return {"fragments": [], "state": state} if rng.random() < 0.2 else state


def _candidate(rank: int, resource: str) -> dict[str, Any]:
    return {
        **dict.fromkeys(("exact_tier", "exact_rank", "exclusion_reason")),
        **{f"{stage}_rank": rank for stage in ("bm25", "vector", "rrf", "rerank", "final")},
        **{f"{stage}_score": 1 / rank for stage in ("bm25", "vector", "rrf", "rerank", "final")},
        "unit_key": f"{resource}#root~0.0",
        "content_hash": "1" * 64,
        "resource_id": resource,
        "resource_hash": "2" * 64,
        "scope": "project",
        "kind": "note",
        "path": resource,
        "heading_path": ["One"],
        "locator": {"start_line": 1, "end_line": 2, "start_char": 0, "end_char": 9},
        "token_count": 3,
        "rerank_truncated": False,
        "relevance": 0.9,
        "action": "add",
        "excerpt": "text",
    }


def fixture_document() -> dict[str, Any]:
    """A small valid fixture: two Cases over one corpus, one left out."""
    bodies = {hashlib.sha256(text).hexdigest(): text.decode() for text in (b"# One\n", b"Two")}
    names = ("a.md", "b.md")
    resources = [
        {
            **{"ordinal": at, "resource_id": name, "scope": "project", "kind": "note"},
            **{"path": name, "title": name, "description": "", "resource_hash": "2" * 64},
            "body_sha256": body,
        }
        for at, (name, body) in enumerate(zip(names, bodies, strict=True))
    ]
    run = {
        **{"run_id": "r", "chain": "agent_activation.v2", "created_at": "2026-01-01T00:00:00Z"},
        **{"completed_at": None, "revision_id": "v", "effective_hash": "3" * 64, "recipe": {}},
        **{"models": {}, "counts": {"units": 2}, "limits": {"tokens": 2400}},
        "timings_us": dict.fromkeys(("lexical", "embed", "vector", "fusion", "rerank"), 9),
        "lexical": {"terms": ["one"], "skipped": []},
    }
    cases = [
        {
            **{"case_id": f"c{at}", "project_id": PROJECT, "query": "one?", "version": 2},
            "corpus_hash": "",
            "evidence": evidence,
            "run": copy.deepcopy(run),
            "candidates": [_candidate(rank, name) for rank, name in enumerate(names, 1)],
        }
        for at, evidence in enumerate(
            (
                [{"resource_id": "a.md", "unit_key": None}],
                [{"resource_id": "b.md", "unit_key": "b.md#root~0.0"}],
            )
        )
    ]
    document: dict[str, Any] = {
        "bodies": bodies,
        "cases": cases,
        "corpora": {"": {"effective_hash": "3" * 64, "resources": resources}},
        "counts": {},
        "excluded": [{"case_id": "c9", "status": "draft", "reason": "no evidence yet"}],
        "schema": "memcli.fixture.v1",
    }
    return _consistent(document)


def _consistent(document: dict[str, Any]) -> dict[str, Any]:
    """The hashes and counts made to fit again, wherever what they are over still has a shape."""
    try:
        changed = copy.deepcopy(document)
        bodies = changed["bodies"]
        new_name = {old: hashlib.sha256(text.encode()).hexdigest() for old, text in bodies.items()}
        changed["bodies"] = {new_name[old]: text for old, text in bodies.items()}
        corpora = {}
        for old, corpus in changed["corpora"].items():
            for one in corpus["resources"]:
                one["body_sha256"] = new_name.get(one["body_sha256"], one["body_sha256"])
            manifest = orjson.dumps(corpus["resources"], option=orjson.OPT_SORT_KEYS)
            name = hashlib.sha256(manifest).hexdigest()
            corpora[name] = corpus
            for case in changed["cases"]:
                if case["corpus_hash"] == old:
                    case["corpus_hash"] = name
        changed["corpora"] = corpora
        changed["counts"] = {
            "bodies": len(changed["bodies"]),
            "cases": len(changed["cases"]),
            "corpora": len(corpora),
            "evidence": sum(len(case["evidence"]) for case in changed["cases"]),
            "excluded": len(changed["excluded"]),
            "resources": sum(len(corpus["resources"]) for corpus in corpora.values()),
        }
    except (AttributeError, KeyError, TypeError):
        return document
    return changed


def sealed(document: Mapping[str, Any]) -> bytes:
    """The document with its own hash at the end, as an export writes it."""
    content = {name: value for name, value in document.items() if name != "sha256"}
    line = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    digest = hashlib.sha256(line).hexdigest().encode()
    return line[:-1] + b',"sha256":"' + digest + b'"}\n'


GENERATORS: Mapping[str, Generate] = {
    "front matter": _front_matter,
    "chunker": _chunker,
    "query": _query,
    "state": _state,
    "fixture": _fixture,
    "configuration": _configuration,
    "resolution": _resolution,
}
