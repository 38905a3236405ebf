"""The seven readers of what others wrote, each as one function from bytes to an outcome.

A target feeds the bytes to its reader and checks what must hold of whatever the
reader makes of them. It returns how the reader took the input: ``accepted``,
the code of a refusal, or the kinds of its warnings. Every exception that comes
out of a target is a fault: ``Broken`` for a wrong result, any other for a crash.
"""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from memcli.errors import MemcliError

Target = Callable[[bytes], str]

PROJECT = "ground"
LONGEST_MESSAGE = 4_000
REAL_TOKENIZER_EVERY = 8
WORD = re.compile(r"\w+|[^\w\s]")


class Broken(Exception):
    """What a reader made of its input is not what it promises."""


def must(holds: bool, what: str) -> None:
    """Raise ``Broken`` with ``what`` unless it ``holds``."""
    if not holds:
        raise Broken(what)


def refused(error: MemcliError, codes: Iterable[str]) -> str:
    """The code of a refusal that is one of ``codes``, and that a person can be shown."""
    must(error.code in codes, f"refused as {error.code}")
    must(bool(error.message), "a refusal says nothing")
    for text in (error.message, error.hint):
        must(len(text) <= LONGEST_MESSAGE, f"a message of {len(text)} characters")
        must(_is_utf8(text), "a message is no UTF-8")
    return error.code


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


# Front matter


def front_matter(data: bytes) -> str:
    """A file's bytes to front matter, body and title."""
    from memcli.index.text_folding import fold
    from memcli.memory.decoding import Unreadable, decode
    from memcli.memory.front_matter import split_front_matter
    from memcli.memory.hashing import resource_hash
    from memcli.memory.resource import Scope
    from memcli.memory.title import first_heading

    document = decode(data)
    if isinstance(document, Unreadable):
        return document.reason
    text = document.text
    must("\0" not in text and "\r" not in text and _is_utf8(text), "the text is not clean")
    front = split_front_matter(text)
    must(text.endswith(front.body), "the body is not the end of the file")
    before = text[: len(text) - len(front.body)]
    must(
        front.body_first_line == before.count("\n") + 1 or not front.body,
        "the body's first line is another",
    )
    values = (front.resource_id, front.title, front.description, front.kind)
    for value in (each for each in values if each is not None):
        must(value == value.strip() != "" and "\n" not in value, "a value is no line of text")
        must(_is_utf8(value) and len(value) <= 1 << 16, "a value cannot be stored")
    for name in (front.resource_id or "a", front.kind or "a"):
        must(name.isprintable() and len(name) <= 512, "an unfit id or kind")
    line = front.description_line
    must((line is None) == (front.description is None), "a description without its line")
    must(line is None or 1 < line <= before.count("\n"), "the description's line is outside")
    heading = first_heading(front.body)
    must(heading is None or ("\n" not in heading and heading != ""), "the heading is no line")
    title = front.title or heading or "a"
    fold(title)
    resource_hash(
        resource_id=front.resource_id or "a.md",
        scope=Scope.PROJECT,
        kind=front.kind or "note",
        path="a.md",
        title=title,
        description=front.description or "",
        body=front.body,
    )
    warnings = {kind for kind, _ in front.warnings}
    if document.warning is not None:
        warnings.add(document.warning[0])
    must(all(_is_utf8(what) and len(what) <= 400 for _, what in front.warnings), "a long warning")
    return " ".join(sorted(warnings)) or "accepted"


# Chunker


def chunker(data: bytes) -> str:
    """A body to units; every eighth with the model's own tokenizer, else with a simple one."""
    from memcli.index.chunking import cut_resource, model_heading_path
    from memcli.index.text_folding import fts_text
    from memcli.index.token_spans import trimmed

    body = _text(data)
    real = zlib.crc32(data) % REAL_TOKENIZER_EVERY == 0
    count = _model_tokens() if real else _words
    resource = _resource(body)
    units = cut_resource(resource, count)
    must(bool(units) == bool(body.strip()), "a body without units, or units without a body")
    must(len({unit.unit_key for unit in units}) == len(units), "two units share a key")
    spans: list[tuple[int, int]] = []
    for position, unit in enumerate(units):
        start, end = unit.locator.start_char, unit.locator.end_char
        if start is None or end is None:
            raise Broken("a unit of the body has no place in it")
        must(unit.position == position, "positions are not counted")
        must(unit.text == body[start:end], "a text is not the body at its locator")
        must(trimmed(body, start, end) == (start, end) and start < end, "blank ends")
        must(unit.token_count == count(unit.text), "a token count is another text's")
        must(unit.token_count <= 480 or end - start == 1, f"a unit of {unit.token_count} tokens")
        must(all(map(_is_utf8, unit.heading_path)), "a heading cannot be stored")
        model_heading_path(resource.title, unit.heading_path)
        fts_text(unit.text)
        spans.append((start, end))
    _check_cover(body, spans, count)
    _check_lines(body, resource.body_first_line, spans, [unit.locator for unit in units])
    return "accepted"


def _check_cover(body: str, spans: list[tuple[int, int]], count: Callable[[str], int]) -> None:
    """Every non-blank character in a unit; in two only where neighbouring windows overlap."""
    reached = behind = 0
    for start, end in spans:
        must(not body[reached:start].strip(), "a character is in no unit")
        must(start >= behind, "a character is in three units")
        must(end > reached, "a unit lies within another")
        if start < reached:
            must(count(body[start:reached]) <= 48, "an overlap of more than 48 tokens")
        reached, behind = end, reached
    must(not body[reached:].strip(), "the end is in no unit")


def _check_lines(
    body: str, first_line: int, spans: list[tuple[int, int]], locators: list[Any]
) -> None:
    line, place = first_line, 0
    for (start, end), locator in zip(spans, locators, strict=True):
        line += (
            body.count("\n", place, start) if start >= place else -body.count("\n", start, place)
        )
        place = start
        must(locator.start_line == line, "a unit begins on another line")
        must(locator.end_line == line + body.count("\n", start, end - 1), "it ends on another")


def _words(text: str) -> int:
    return len(WORD.findall(text))


@lru_cache(maxsize=1)
def _model_tokens() -> Callable[[str], int]:
    from memcli.models.devices import choose_device
    from memcli.models.loading import load_embedder
    from memcli.models.profile import BUNDLED_EMBEDDER

    return load_embedder(BUNDLED_EMBEDDER, choose_device("off", 1)).count_tokens


def _resource(body: str) -> Any:
    from memcli.memory.resource import Scope, SourceResource

    return SourceResource(
        resource_id="a#~%.md",
        scope=Scope.PROJECT,
        kind="note",
        path="a.md",
        title="A [title](x)",
        description="",
        body=body,
        body_sha256="",
        resource_hash="",
        body_first_line=3,
        description_line=None,
        file_path="/project/a.md",
    )


# Query


MATCHING = "SELECT rowid FROM search_units_fts WHERE search_units_fts MATCH ? LIMIT 60"
INSERT_TEXT = """
INSERT INTO search_units_fts (path, title, heading, body) VALUES ('', '', '', ?)
"""


def query_in(folder: Path) -> Target:
    """A target for queries, over an empty index of the real schema, held in memory."""

    def query(data: bytes) -> str:
        connection = _empty_index(folder)
        try:
            return _asked(data, connection)
        finally:
            connection.rollback()

    return query


def _asked(data: bytes, connection: sqlite3.Connection) -> str:
    """An argument's bytes to terms that FTS5 takes, and that find a text which holds them."""
    from memcli.index.short_words import scan_words
    from memcli.index.text_folding import fold, fts_text
    from memcli.retrieval.chain import valid_query
    from memcli.retrieval.query_terms import MOST_WINDOWS, parse_query

    # As Python reads arguments: bytes that are no UTF-8 become lone surrogates.
    try:
        asked = valid_query(data.decode("utf-8", "surrogateescape"))
    except MemcliError as error:
        return refused(error, ["invalid_query"])
    must(_is_utf8(asked), "the query cannot be stored")
    fold(asked.strip())
    parsed = parse_query(asked)
    must(all(len(term) >= 3 for term in parsed.terms), "a term of under three characters")
    must(all(0 < len(word) < 3 for word in parsed.skipped), "a word was skipped for nothing")
    windows = sum(not term.isascii() for term in parsed.terms)
    must(windows <= MOST_WINDOWS, f"{windows} windows")
    if parsed.terms:
        one = parsed.terms[zlib.crc32(data) % len(parsed.terms)]
        connection.execute(INSERT_TEXT, (fts_text(one),))
        found = connection.execute(MATCHING, (parsed.match_expression,)).fetchall()
        must(bool(found), f"{one[:40]!r} is not found in a text of just that")
        return "accepted"
    if parsed.skipped:
        one = parsed.skipped[zlib.crc32(data) % len(parsed.skipped)]
        row = connection.execute(INSERT_TEXT, (fts_text(f"x {one} y"),))
        connection.execute("INSERT INTO search_units VALUES (?, 'r', 0)", (row.lastrowid,))
        scanned = scan_words(connection, "r", parsed.skipped, 60)
        must(bool(scanned), f"{one!r} is not found by the scan")
        return "accepted (short words)"
    return "accepted (no words)"


@lru_cache(maxsize=1)
def _empty_index(folder: Path) -> sqlite3.Connection:
    from memcli.index.schema import open_index

    folder.mkdir(parents=True, exist_ok=True)
    stored = open_index(folder / "search-index.sqlite")
    connection = sqlite3.connect(":memory:")
    stored.backup(connection)
    stored.close()
    # The scan needs no more of a unit than its order.
    connection.execute("DROP TABLE search_units")
    connection.execute("CREATE TABLE search_units (unit_rowid, revision_id, ordinal)")
    connection.commit()
    return connection


# Activation state


def activation_state(data: bytes) -> str:
    """The bytes of ``--state`` to held units, which make the same state again."""
    from memcli.retrieval.delta import (
        MOST_HELD,
        activation_delta,
        parse_state,
        read_state,
        state_document,
        state_fingerprint,
    )

    try:
        held = parse_state(data, PROJECT)
    except MemcliError as error:
        return refused(error, ["invalid_activation_state"])
    must(len(held) <= MOST_HELD, "more units than a state holds")
    document = state_document(PROJECT, held)
    must(read_state(orjson.loads(orjson.dumps(document)), PROJECT) == held, "no round trip")
    given = orjson.loads(data)
    must(document == given.get("state", given), "another state was read than was given")
    must(len(state_fingerprint(held)) == 64, "no fingerprint")
    delta = activation_delta(held, held[:1], {})
    must(len(delta.held) <= MOST_HELD, "the next state holds too many")
    must(len(delta.removed) == len(held[1:]), "what is gone is not removed")
    return "accepted"


# Fixture


def fixture(data: bytes) -> str:
    """A fixture's bytes to its report in every form, or a clear refusal."""
    from memcli.evaluation.csv_report import csv_report
    from memcli.evaluation.fixture_reader import report_from_fixture
    from memcli.evaluation.html_report import html_report
    from memcli.evaluation.report import report_bytes
    from memcli.evaluation.scoring import METRICS

    try:
        report = report_from_fixture(data)
    except MemcliError as error:
        return refused(error, ["fixture_invalid", "fixture_too_new", "case_not_ready"])
    must(orjson.loads(report_bytes(report)) == report, "the report is not its own bytes")
    scores = [*report["variants"].values()]
    scores += [score for case in report["per_case"] for score in case["variants"].values()]
    for score in scores:
        for name in METRICS:
            must(0 <= score[name] <= 1 + 1e-12, f"{name} is {score[name]}")
    must(report["cases"] == len(report["per_case"]), "the cases are miscounted")
    _report_schema().validate(report)
    csv_report(report)
    html_report(report)
    return "accepted"


@lru_cache(maxsize=1)
def _report_schema() -> Any:
    from importlib.resources import files

    from jsonschema import Draft202012Validator

    schema = files("memcli.evaluation").joinpath("schemas/memcli.report.v1.json").read_bytes()
    return Draft202012Validator(orjson.loads(schema))


# Configuration


def config_in(folder: Path) -> Target:
    """A target for ``memcli.toml``, the user's ``config.toml`` and profiles, kept in ``folder``."""
    root, directory = folder / "project", folder / "config"
    for each in (root, directory / "models"):
        each.mkdir(parents=True, exist_ok=True)
    places = (root / "memcli.toml", directory / "config.toml", directory / "models" / "m.toml")
    environ = {"MEMCLI_CONFIG": str(directory), "HOME": str(folder)}

    def configuration(data: bytes) -> str:
        place = places[(zlib.crc32(data) >> 8) % 8 // 4 if data[:6] != b"role =" else 2]
        place.write_bytes(data)
        try:
            return _configured(root, directory, environ, place)
        finally:
            place.unlink()

    return configuration


def _configured(root: Path, directory: Path, environ: Mapping[str, str], place: Path) -> str:
    from memcli.configuration import OPTIONS, resolve_configuration
    from memcli.memory.patterns import Patterns
    from memcli.memory.sources import effective_sources
    from memcli.models.profile_store import ProfileStore

    if place.parent.name == "models":
        return _stored_profile(ProfileStore(directory))
    try:
        settled = resolve_configuration(root, environ, {})
        sources = effective_sources(settled)
    except MemcliError as error:
        return refused(error, ["configuration_invalid", "source_outside_project"])
    for option in OPTIONS:
        value = next(it.value for it in settled.settings if it.key == option.key)
        must(type(value) is type(option.default), f"{option.key} is a {type(value).__name__}")
        must(option.is_model or option.read(value) == value, f"{option.key} is out of range")
        if option.key.startswith("limits.") and isinstance(option.default, (int, float)):
            must(0 < float(value) <= option.default, f"{option.key} was raised")
            must(math.isfinite(float(value)), f"{option.key} has no end")
    identity = settled.project_id
    must(identity is None or re.fullmatch(r"[A-Za-z0-9._-]{1,64}", identity) is not None, "an id")
    for source in sources:
        inside = os.path.realpath(source.root).startswith(os.path.realpath(root))
        must(inside or not source.listed or source.within is None, "a source lies outside")
        must(source.key_prefix.isprintable(), "a prefix cannot be shown")
        for patterns in (source.include, source.exclude):
            Patterns(patterns, "").covers("docs/" + "a" * 100 + "/b.md")
    return "accepted"


def _stored_profile(store: Any) -> str:
    stored = store.load()
    if problems := list(stored.problems.values()):
        return refused(problems[0], ["configuration_invalid"])
    (profile,) = stored.profiles.values()
    must(os.path.isabs(profile.profile.file), "a model's file is relative")
    must(profile.profile.max_tokens >= 0, "a profile's limit is below zero")
    return f"accepted (profile, {'in' if profile.is_in_place else 'not in'} place)"


# Resolution


def resolution(data: bytes) -> str:
    """The bytes of ``case resolve -`` to an expected version and evidence."""
    from memcli.evaluation.evidence import named_items, parse_resolution
    from memcli.evaluation.matching import EvidenceItem

    try:
        asked = parse_resolution(data)
    except MemcliError as error:
        return refused(error, ["invalid_resolution"])
    given = json.loads(data)
    must(isinstance(given, dict), "it is no object")
    must(given.keys() <= {"expected_version", "evidence", "none_matched"}, "an unknown name")
    must(type(asked.expected_version) is int and asked.expected_version >= 1, "a version")
    must(asked.expected_version == given["expected_version"], "another version")
    must(asked.none_matched is given.get("none_matched", False), "another none_matched")
    must(len(asked.evidence) == len(given.get("evidence", [])), "evidence was lost")
    for item in asked.evidence:
        texts = [item] if isinstance(item, str) else [item.resource_id, item.unit_key or ""]
        must(all(map(_is_utf8, texts)), "evidence that cannot be stored")
    try:
        items = named_items((), asked.evidence)
    except MemcliError as error:
        return f"accepted ({refused(error, ['invalid_resolution', 'evidence_invalid'])})"
    must(all(isinstance(item, EvidenceItem) for item in items), "evidence is no item")
    return "accepted"


def targets(folder: Path) -> dict[str, Target]:
    """The seven by name; ``folder`` is for those that need files."""
    return {
        "front matter": front_matter,
        "chunker": chunker,
        "query": query_in(folder),
        "state": activation_state,
        "fixture": fixture,
        "configuration": config_in(folder),
        "resolution": resolution,
    }
