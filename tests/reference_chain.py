"""The whole retrieval chain again, slow and obvious, written from the design and nothing else.

Plain lists and loops; the only machinery shared with memcli is the data it is
given (units and resources as read back from the index, and the stand-in models).
"""

from __future__ import annotations

import sqlite3
import string
import unicodedata
from dataclasses import dataclass, field
from typing import Any

WEIGHTS = "0, 0, 8, 6, 4, 1"


@dataclass
class Unit:
    """What the chain knows of a unit; units are listed in unit order."""

    key: str
    resource_id: str
    resource_order: int
    position: int
    path: str
    title: str
    headings: list[str]
    text: str
    content_hash: str
    tokens: int
    span: tuple[int, int] | None
    vector: Any
    rerank_score: float
    relevance: float


@dataclass
class Row:
    """The trace of one candidate."""

    unit: Unit
    exact_tier: int | None = None
    exact_rank: int | None = None
    bm25_rank: int | None = None
    vector_rank: int | None = None
    rrf_rank: int = 0
    rrf_score: float = 0.0
    rerank_rank: int | None = None
    final_rank: int | None = None
    reason: str | None = None


@dataclass
class Expected:
    """Candidates in RRF order and the keys returned, in final order."""

    rows: list[Row] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)


def nfc_fold(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def words_of(query: str) -> list[str]:
    """Split at white space and punctuation except ``_ - . / : + #`` inside a word."""
    inner = "_-./:+#"
    words, word = [], ""
    for character in unicodedata.normalize("NFC", query) + " ":
        splits = (
            character in set(string.punctuation) - set(inner)
            or character.isspace()
            or (not character.isascii() and unicodedata.category(character)[0] in "PZC")
            or (character.isascii() and not character.isprintable())
        )
        if not splits:
            word += character
            continue
        core = word.strip(inner)
        end = word.rstrip("_-./:")
        plus = ""
        while end and end[-1] in "+#":
            plus, end = end[-1] + plus, end[:-1]
        if core:
            words.append(core + plus)
        word = ""
    distinct: list[str] = []
    for each in words:
        if each.casefold() not in [other.casefold() for other in distinct]:
            distinct.append(each)
    return distinct


def terms_of(words: list[str]) -> list[str]:
    windows: list[str] = []
    for word in words:
        if len(word) >= 3 and not word.isascii():
            for at in range(len(word) - 2):
                if word[at : at + 3].casefold() not in [w.casefold() for w in windows]:
                    windows.append(word[at : at + 3])
    if len(windows) > 32:
        windows = [windows[round(at * (len(windows) - 1) / 31)] for at in range(32)]
    terms = [word for word in words if len(word) >= 3 and word.isascii()]
    return terms + windows


def identity_list(query: str, units: list[Unit]) -> list[tuple[Unit, int]]:
    asked = nfc_fold(query.strip())
    tiers: dict[str, int] = {}
    for unit in units:
        names = [nfc_fold(unit.resource_id), nfc_fold(unit.path), nfc_fold(unit.title)]
        if names[0] == asked:
            tiers[unit.resource_id] = 1
        elif asked in names[1:]:
            tiers[unit.resource_id] = 2
        elif any(name.startswith(asked) for name in names):
            tiers[unit.resource_id] = 3
    hits = [(unit, tiers[unit.resource_id]) for unit in units if unit.resource_id in tiers]
    hits.sort(key=lambda hit: (hit[1], hit[0].position, hit[0].resource_order))
    whole = [hit for hit in hits if hit[1] < 3]
    return whole + [hit for hit in hits if hit[1] == 3][:20]


def bm25_list(words: list[str], units: list[Unit]) -> list[Unit]:
    terms = terms_of(words)
    short = [word for word in words if len(word) < 3]
    if not terms:
        return scan_list(short, units) if short else []
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE fts USING fts5(revision_id UNINDEXED, unit_key UNINDEXED, "
        "path, title, heading, body, tokenize='trigram case_sensitive 0')"
    )
    for at, unit in enumerate(units):
        columns = [unit.path, unit.title, " > ".join(unit.headings), unit.text]
        nfc = [unicodedata.normalize("NFC", column) for column in columns]
        connection.execute(
            "INSERT INTO fts(rowid, path, title, heading, body) VALUES (?, ?, ?, ?, ?)",
            (at + 1, *nfc),
        )
    match = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
    rows = connection.execute(
        f"SELECT rowid, bm25(fts, {WEIGHTS}) FROM fts WHERE fts MATCH ?", (match,)
    ).fetchall()
    rows.sort(key=lambda row: (row[1], row[0]))
    return [units[rowid - 1] for rowid, _ in rows]


def scan_list(words: list[str], units: list[Unit]) -> list[Unit]:
    """Distinct words, then the best column, then unit order."""
    found = []
    for order, unit in enumerate(units):
        columns = [unit.path, unit.title, " > ".join(unit.headings), unit.text]
        held, best = 0, len(columns)
        for word in words:
            places = [at for at, column in enumerate(columns) if holds(column, word)]
            held += bool(places)
            best = min([best, *places])
        if held:
            found.append((-held, best, order))
    return [units[order] for _, _, order in sorted(found)]


def holds(column: str, word: str) -> bool:
    """ASCII words as whole words, others as substrings; without regard to case."""
    text, wanted = nfc_fold(column), nfc_fold(word)
    if not wanted.isascii():
        return wanted in text
    at = text.find(wanted)
    while at >= 0:
        before = text[at - 1] if at else " "
        after = text[at + len(wanted)] if at + len(wanted) < len(text) else " "
        if not is_word(before) and not is_word(after):
            return True
        at = text.find(wanted, at + 1)
    return False


def is_word(character: str) -> bool:
    return character == "_" or (character.isascii() and character.isalnum())


def expected(query: str, cosines: list[float], units: list[Unit], limits: Any) -> Expected:
    """``cosines`` of all units, from one product: two ways to add floats break ties apart."""
    words = words_of(query)
    identity = identity_list(query, units)
    found = bm25_list(words, units)[: limits.lexical]
    lexical: list[Unit] = []
    for unit in [hit[0] for hit in identity] + found:
        if unit.key not in [each.key for each in lexical]:
            lexical.append(unit)
    lexical = lexical[: limits.lexical]
    dense = [units[at] for at in sorted(range(len(units)), key=lambda at: (-cosines[at], at))][
        : limits.vector
    ]

    rows: list[Row] = []
    for unit in units:
        places = [r.index(unit) + 1 for r in (lexical, dense) if unit in r]
        if places:
            row = Row(unit, rrf_score=sum(1 / (60 + place) for place in places))
            if unit in lexical:
                for place, (hit, tier) in enumerate(identity, 1):
                    if hit is unit:
                        row.exact_rank, row.exact_tier = place, tier
                if unit in found:
                    row.bm25_rank = found.index(unit) + 1
            if unit in dense:
                row.vector_rank = dense.index(unit) + 1
            rows.append(row)
    order = {id(unit): at for at, unit in enumerate(units)}

    def best_place(row: Row) -> int:
        return min(r.index(row.unit) + 1 for r in (lexical, dense) if row.unit in r)

    rows.sort(key=lambda row: (-row.rrf_score, best_place(row), order[id(row.unit)]))
    for place, row in enumerate(rows, 1):
        row.rrf_rank = place
        row.reason = "not_reranked"
    judged = rows[: min(limits.fused, limits.reranked)]
    judged.sort(key=lambda row: (-row.unit.rerank_score, row.rrf_rank))
    for place, row in enumerate(judged, 1):
        row.rerank_rank = place
    return Expected(rows, assemble(judged, limits))


def assemble(judged: list[Row], limits: Any) -> list[str]:
    returned: list[Row] = []
    spent, ended = 0, False
    for row in judged:
        unit = row.unit
        row.reason = None
        if unit.relevance < 0.5 and row.exact_tier not in (1, 2):
            row.reason = "below_relevance"
        elif any(overlap(unit, other.unit) for other in returned):
            row.reason = "overlap"
        elif sum(o.unit.resource_id == unit.resource_id for o in returned) >= limits.per_resource:
            row.reason = "resource_limit"
        elif ended or spent + unit.tokens > limits.tokens:
            row.reason, ended = "token_budget", True
        elif len(returned) >= limits.fragments:
            row.reason = "fragment_limit"
        else:
            returned.append(row)
            spent += unit.tokens
            row.final_rank = len(returned)
    return [row.unit.key for row in returned]


def overlap(one: Unit, other: Unit) -> bool:
    if one.content_hash == other.content_hash:
        return True
    if one.resource_id != other.resource_id or one.span is None or other.span is None:
        return False
    return bool(set(range(*one.span)) & set(range(*other.span)))
