"""What is asked of a damaged ground, and what makes two answers the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from soaking.ground import QUERIES, Ended

# Besides the ground's own: an identity hit, a prefix, a word too short for trigrams.
ASKED = (
    *QUERIES,
    "docs/rollback.md",
    "on c",
    "部署",
    "it",
    "what waits for a person in the queue?",
)
LINES = b"".join(orjson.dumps({"query": query}) + b"\n" for query in ASKED)
# What differs from one asking, or one place, to the next.
_ALWAYS_VARIES = frozenset(("timings_us", "notices", "sizes", "seconds", "last_seen"))
_VARIES = _ALWAYS_VARIES | {
    "run_id",
    "case_id",
    "created_at",
    "updated_at",
    "completed_at",
    "file",
    "files",
}
_REBUILT = frozenset(("revision_id", "rerank_rank"))
SCORE_SHIFT = 0.02


@dataclass(frozen=True, slots=True)
class Ids:
    """The Runs and Cases of a staged ground."""

    runs: Sequence[str]
    cases: Sequence[str]


@dataclass(frozen=True, slots=True)
class Question:
    """A command line; ``asks`` for those that search, ``reads_only`` for those that write nothing.

    ``varies`` tells that ids and times in the answer are new each time,
    ``follows_an_answer`` that it is about a Run just recorded, ``tells`` that
    the answer itself says what is wrong.
    """

    name: str
    arguments: tuple[str, ...]
    given: bytes = b""
    asks: bool = False
    reads_only: bool = True
    varies: bool = False
    follows_an_answer: bool = False
    tells: bool = False


BUILD = Question("index build", ("index", "build", "--json"), reads_only=False)
_DOCTOR = Question("doctor", ("doctor", "--json"))
ASK = Question(
    "activate", ("activate", "--queries", "-", "--json"), LINES, True, False, True
)  # fmt: skip
_TRACE = Question(
    "the trace of the last query",
    ("runs", "show", "last", "--json"),
    varies=True,
    follows_an_answer=True,
)
_WHY = Question("why", ("why", QUERIES[0], "docs/rollback.md", "--json"), asks=True)


def _asked(*words: str) -> Question:
    return Question(" ".join(words), (*words, "--json"))


def questions_of(kind: str, ids: Ids) -> list[Question]:
    """Everything that reads a file of this kind, ``doctor`` before all, readers before writers."""
    runs = [_asked("runs", "show", run) for run in ids.runs]
    cases = [_asked("case", "show", case) for case in ids.cases]
    status, report = _asked("status"), _asked("report")
    lists = [_asked("runs", "list"), _asked("case", "list")]
    diff = _asked("runs", "diff", ids.runs[0], ids.runs[-1])
    head = [_asked("index", "list"), _asked("head", "show"), _asked("memory", "list")]
    new = Question(
        "case create", ("case", "create", ids.runs[-1], "--json"), reads_only=False, varies=True
    )
    return {
        "index": [_DOCTOR, status, *head, ASK, _TRACE, _WHY],
        "store": [
            *(_DOCTOR, status, *lists, report, _asked("case", "next"), *runs, diff, *cases),
            *(_EXPORT, ASK, _TRACE),
        ],
        "blobs": [_DOCTOR, *runs[:2], *cases, report, _EXPORT, new],
        "fixture": [_asked("report", "../exports/fixture.json")],
        "project": [_DOCTOR, status, *lists],
        "models": [_DOCTOR, *_MODELS, ASK, _JUDGED],
    }[kind]


_EXPORT = Question("export", ("export", "--out", "../exported", "--yes", "--json"))
_MODELS = tuple(
    Question(" ".join(words), (*words, "--json"), tells=True, reads_only=False)
    for words in (
        ("models", "list"),
        ("models", "verify"),
        # Nobody knows the digest of a file that is new.
        ("models", "add", "another", "../models/mine.gguf"),
        ("models", "add", "second", "../models/judge.gguf"),
    )
)
_JUDGED = Question(
    "activate with a cross-encoder",
    ("activate", QUERIES[0], "--no-record", "--reranker", "judge", "--json"),
    asks=True,
    varies=True,
)


def answered(question: Question, ended: Ended) -> Any:
    """The answer without what varies; lines of JSON as a list."""
    documents = [orjson.loads(line) for line in ended.out.splitlines()]
    return plain(documents, varies=question.varies)


def errors_of(question: Question, ended: Ended, expected: int) -> list[dict[str, str]]:
    """The errors of a command that was to end with ``expected``: on standard error, or in lines."""
    if ended.status in (0, expected) or question.tells:
        return []
    lines = ended.out.splitlines() if question.given else ended.err.splitlines()
    documents = [orjson.loads(line) for line in lines if line.startswith(b"{")]
    return [each["error"] for each in documents if "error" in each] or [
        {"code": "none", "message": ended.err.decode("utf-8", "replace")[-200:], "hint": ""}
    ]


def plain(value: Any, *, varies: bool) -> Any:
    """A document without ids and times that are new each time."""
    if isinstance(value, dict):
        dropped = _VARIES if varies else _ALWAYS_VARIES
        return {key: plain(it, varies=varies) for key, it in value.items() if key not in dropped}
    if isinstance(value, list):
        return [plain(each, varies=varies) for each in value]
    return value


def is_rebuilt(expected: Any, found: Any) -> bool:
    """Whether a rebuilt index answers alike: another revision, scores equal to two hundredths.

    Passages that are embedded again are in other batches, which shifts the last
    digits of llama.cpp's results; fragments and their order are the same.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(
            key in _REBUILT or is_rebuilt(expected[key], found[key]) for key in expected
        )
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(is_rebuilt, expected, found))
    if isinstance(expected, float) and isinstance(found, float):
        return abs(expected - found) < SCORE_SHIFT
    return bool(expected == found)


def is_told(question: Question, expected: Any, found: Any, ended: Ended) -> bool:
    """Whether an answer that is another one says itself what it lacks."""
    if question.name in ("report", "export"):
        now, then = found[0], expected[0]
        return len(now.get("excluded") or ()) > len(then.get("excluded") or ()) or (
            isinstance(now.get("excluded"), int) and now["excluded"] > then["excluded"]
        )
    if question.name.startswith("case show"):
        return _only_lost_excerpts(expected, found)
    if question.name.startswith("case create"):
        return bool(found[0]["created"][0]["refusal"])
    if question.tells:
        return True
    if question.name == "status":
        # An older index, or one that lost its head, says that it is to be built.
        return bool(found[0]["warnings"] or found[0]["next_command"])
    if question.name == "index list":
        return found[0]["head"] is None
    if question.name in ("runs list", "case list"):
        return bool(found[0].get("damaged"))
    return False


def _only_lost_excerpts(expected: Any, found: Any) -> bool:
    one, other = expected[0], found[0]
    if {**one, "evidence": None} != {**other, "evidence": None}:
        return False
    pairs = zip(one["evidence"], other["evidence"], strict=True)
    return all(b == a or b == {**a, "excerpt": None} for a, b in pairs)
