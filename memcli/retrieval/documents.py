"""The JSON shapes of an activation: names that are part of the interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memcli.retrieval.activation import Activation, Candidate

ACTIVATE_SCHEMA = "memcli.activate.v1"


def activation_document(
    activation: Activation,
    run_id: str | None,
    timings_us: Mapping[str, int],
    *,
    explain: bool = False,
) -> dict[str, Any]:
    """What ``activate --json`` prints; with ``explain`` every candidate too."""
    document: dict[str, Any] = {
        "schema": ACTIVATE_SCHEMA,
        "run_id": run_id,
        "project_id": activation.project_id,
        "query": activation.query,
        "chain": activation.state["chain"],
        "revision_id": activation.revision_id,
        "effective_hash": activation.effective_hash,
        "fragments": [fragment_document(each) for each in activation.fragments],
        "remove": list(activation.removed),
        "state": dict(activation.state),
        "budget": {
            "fragments": activation.counts.fragments,
            "max_fragments": activation.limits.fragments,
            "tokens": activation.counts.tokens,
            "max_tokens": activation.limits.tokens,
        },
        "lexical": {
            "terms": list(activation.lexical_terms),
            "skipped": list(activation.lexical_skipped),
        },
        "timings_us": dict(timings_us),
        "notices": [
            {"code": notice.code, "message": notice.message} for notice in activation.notices
        ],
    }
    if explain:
        document["relevance_floor"] = activation.relevance_floor
        document["candidates"] = [candidate_document(each) for each in activation.candidates]
    return document


def fragment_document(fragment: Candidate) -> dict[str, Any]:
    """One returned fragment; its text is left out where the client still holds it."""
    document: dict[str, Any] = {
        "unit_key": fragment.unit_key,
        "content_hash": fragment.content_hash,
        "resource_id": fragment.resource_id,
        "resource_hash": fragment.resource_hash,
        "scope": fragment.scope,
        "kind": fragment.kind,
        "path": fragment.path,
        "heading_path": list(fragment.heading_path),
        "locator": locator_document(fragment),
        "action": fragment.action,
    }
    if fragment.action != "reuse":
        document["text"] = fragment.text
    return document | {
        "token_count": fragment.token_count,
        "final_rank": fragment.final_rank,
        "final_score": fragment.final_score,
        "ranks": {
            "exact": fragment.exact_rank,
            "bm25": fragment.bm25_rank,
            "vector": fragment.vector_rank,
            "rrf": fragment.rrf_rank,
            "rerank": fragment.rerank_rank,
        },
        "scores": {
            "bm25": fragment.bm25_score,
            "vector": fragment.vector_score,
            "rrf": fragment.rrf_score,
            "rerank": fragment.rerank_score,
        },
    }


def candidate_document(candidate: Candidate) -> dict[str, Any]:
    """One candidate of the trace, in the names of ``runs show``."""
    return {
        "unit_key": candidate.unit_key,
        "content_hash": candidate.content_hash,
        "resource_id": candidate.resource_id,
        "resource_hash": candidate.resource_hash,
        "scope": candidate.scope,
        "kind": candidate.kind,
        "path": candidate.path,
        "heading_path": list(candidate.heading_path),
        "locator": locator_document(candidate),
        "token_count": candidate.token_count,
        "exact_tier": candidate.exact_tier,
        "exact_rank": candidate.exact_rank,
        "bm25_rank": candidate.bm25_rank,
        "bm25_score": candidate.bm25_score,
        "vector_rank": candidate.vector_rank,
        "vector_score": candidate.vector_score,
        "rrf_rank": candidate.rrf_rank,
        "rrf_score": candidate.rrf_score,
        "rerank_rank": candidate.rerank_rank,
        "rerank_score": candidate.rerank_score,
        "rerank_truncated": candidate.rerank_truncated,
        "relevance": candidate.relevance,
        "final_rank": candidate.final_rank,
        "final_score": candidate.final_score,
        "exclusion_reason": candidate.exclusion_reason,
        "action": candidate.action,
    }


def locator_document(candidate: Candidate) -> dict[str, int | None]:
    """Lines of the file (1-based) and code points in the body; null characters: a description."""
    locator = candidate.locator
    return {
        "start_line": locator.start_line,
        "end_line": locator.end_line,
        "start_char": locator.start_char,
        "end_char": locator.end_char,
    }
