"""The shape of fixture version 1: frozen, whatever becomes of the tables and of ``runs show``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memcli.errors import Failure

FIXTURE_NAME = "memcli.fixture"
FIXTURE_VERSION = 1
FIXTURE_SCHEMA = f"{FIXTURE_NAME}.v{FIXTURE_VERSION}"


def is_text(value: object) -> bool:
    return type(value) is str


def is_count(value: object) -> bool:
    """A whole number from 0 that any reader of JSON keeps exactly, and so does a sum of some."""
    return type(value) is int and 0 <= value < 1 << 53


def is_place(value: object) -> bool:
    """A count from 1."""
    return is_count(value) and value != 0


def is_status(value: object) -> bool:
    return value in ("draft", "ready", "needs_evidence")


def is_number(value: object) -> bool:
    return type(value) is float or type(value) is int


def is_truth(value: object) -> bool:
    return type(value) is bool


def is_object(value: object) -> bool:
    return type(value) is dict


def is_list(value: object) -> bool:
    return type(value) is list


def is_texts(value: object) -> bool:
    return isinstance(value, list) and all(type(one) is str for one in value)


def are_counts(value: object) -> bool:
    """An object of counts."""
    return isinstance(value, dict) and all(is_count(one) for one in value.values())


def or_null(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or check(value)


Shape = Mapping[str, Callable[[object], bool]]

FIXTURE: Shape = {
    "bodies": is_object,
    "cases": is_list,
    "corpora": is_object,
    "counts": are_counts,
    "excluded": is_list,
    "schema": is_text,
    "sha256": is_text,
}
EXCLUDED: Shape = {"case_id": is_text, "status": is_status, "reason": is_text}
CORPUS: Shape = {"effective_hash": is_text, "resources": is_list}
RESOURCE: Shape = {
    "ordinal": is_count,
    "resource_id": is_text,
    "scope": is_text,
    "kind": is_text,
    "path": is_text,
    "title": is_text,
    "description": is_text,
    "resource_hash": is_text,
    "body_sha256": is_text,
}
CASE: Shape = {
    "case_id": is_text,
    "project_id": is_text,
    "query": is_text,
    "version": is_place,
    "corpus_hash": is_text,
    "evidence": is_list,
    "run": is_object,
    "candidates": is_list,
}
EVIDENCE: Shape = {"resource_id": is_text, "unit_key": or_null(is_text)}
RUN: Shape = {
    "run_id": is_text,
    "chain": is_text,
    "created_at": is_text,
    "completed_at": or_null(is_text),
    "revision_id": or_null(is_text),
    "effective_hash": is_text,
    "recipe": is_object,
    "models": is_object,
    "counts": are_counts,
    "limits": is_object,
    "timings_us": are_counts,
    "lexical": is_object,
}
LEXICAL: Shape = {"terms": is_texts, "skipped": is_texts}
LOCATOR: Shape = {
    "start_line": is_place,
    "end_line": is_place,
    "start_char": or_null(is_count),
    "end_char": or_null(is_count),
}
CANDIDATE: Shape = {
    "unit_key": is_text,
    "content_hash": is_text,
    "resource_id": is_text,
    "resource_hash": is_text,
    "scope": is_text,
    "kind": is_text,
    "path": is_text,
    "heading_path": is_texts,
    "locator": is_object,
    "token_count": is_count,
    "exact_tier": or_null(is_place),
    "exact_rank": or_null(is_place),
    "bm25_rank": or_null(is_place),
    "bm25_score": or_null(is_number),
    "vector_rank": or_null(is_place),
    "vector_score": or_null(is_number),
    "rrf_rank": or_null(is_place),
    "rrf_score": or_null(is_number),
    "rerank_rank": or_null(is_place),
    "rerank_score": or_null(is_number),
    "rerank_truncated": is_truth,
    "relevance": or_null(is_number),
    "final_rank": or_null(is_place),
    "final_score": or_null(is_number),
    "exclusion_reason": or_null(is_text),
    "action": or_null(is_text),
    "excerpt": is_text,
}


def checked(value: object, shape: Shape, where: str) -> dict[str, Any]:
    """``value``, when it is an object with just the names of ``shape``, each of its kind.

    Raises:
        Failure: ``fixture_invalid``, saying where it is not.
    """
    if not isinstance(value, dict):
        raise invalid(f"{where} is no object")
    if value.keys() != shape.keys():
        odd = sorted(value.keys() ^ shape.keys())[0]
        raise invalid(f"{where} {'lacks' if odd in shape else 'has the unknown name'} {odd!r}")
    for name, check in shape.items():
        if not check(value[name]):
            raise invalid(f"{where}.{name} is not of its kind")
    return value


def invalid(reason: str) -> Failure:
    """``fixture_invalid`` with the reason."""
    return Failure(
        "fixture_invalid",
        f"the fixture cannot be used: {reason}",
        "Take an unchanged copy, or write it again with `memcli export`.",
    )


def too_new(version: int) -> Failure:
    """``fixture_too_new``: written by a later memcli."""
    return Failure(
        "fixture_too_new",
        f"the fixture is of version {version}; this memcli reads up to {FIXTURE_VERSION}",
        "Update memcli.",
    )
