"""Corpora and activations made by hand, for the tests of history."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from memcli.history.corpus import ManifestResource
from memcli.index.unit import Locator
from memcli.retrieval.activation import (
    Activation,
    ActivationLimits,
    Candidate,
    Counts,
    Notice,
)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


class Corpus:
    """A small Effective Memory; counts how often it was read."""

    def __init__(self, bodies: Mapping[str, str], description: str = "") -> None:
        self.bodies = dict(bodies)
        self.reads = 0
        self.resources = tuple(
            ManifestResource(
                ordinal=ordinal,
                resource_id=resource_id,
                scope="project",
                kind="note",
                path=f"{resource_id}.md",
                title=resource_id.title(),
                description=description,
                resource_hash=sha256(f"{resource_id}\0{description}\0{body}"),
                body_sha256=sha256(body),
            )
            for ordinal, (resource_id, body) in enumerate(self.bodies.items())
        )
        pairs = [[one.resource_id, one.resource_hash] for one in self.resources]
        self.effective_hash = sha256(json.dumps(pairs))

    def manifest(self) -> Iterator[ManifestResource]:
        self.reads += 1
        return iter(self.resources)

    def body(self, resource_id: str) -> str:
        self.reads += 1
        return self.bodies[resource_id]


def numbered_corpus(size: int, seed: str = "note") -> Corpus:
    return Corpus(
        {f"{seed}-{n}": f"# {seed} {n}\n\nBody of {seed} number {n}.\n" for n in range(size)}
    )


def make_candidate(resource: ManifestResource, text: str, rank: int, **changes: Any) -> Candidate:
    """One candidate over a whole body, first in every stage's order by ``rank``."""
    values: dict[str, Any] = {
        "unit_key": f"{resource.resource_id}#root~0.0",
        "content_hash": sha256(text),
        "resource_id": resource.resource_id,
        "resource_hash": resource.resource_hash,
        "scope": resource.scope,
        "kind": resource.kind,
        "path": resource.path,
        "heading_path": (resource.title, "Überblick 概览"),
        "locator": Locator(1, text.count("\n") + 1, 0, len(text)),
        "token_count": len(text.split()),
        "text": text,
        "exact_tier": 1 if rank == 1 else None,
        "exact_rank": 1 if rank == 1 else None,
        "bm25_rank": rank,
        "bm25_score": 10.0 / rank,
        "vector_rank": rank,
        "vector_score": 1.0 / rank,
        "rrf_rank": rank,
        "rrf_score": 2 / (60 + rank),
        "rerank_rank": rank if rank <= 24 else None,
        "rerank_score": 5.0 / rank if rank <= 24 else None,
        "rerank_truncated": rank == 2,
        "relevance": 1.0 / rank if rank <= 24 else None,
        "final_rank": rank if rank <= 2 else None,
        "final_score": 1.0 / rank if rank <= 2 else None,
        "exclusion_reason": None if rank <= 2 else "below_relevance",
        "action": "add" if rank <= 2 else None,
    }
    return Candidate(**{**values, **changes})


def make_activation(
    corpus: Corpus,
    *,
    project_id: str = "harbor",
    query: str = "how do we moor at night?",
    candidates: tuple[Candidate, ...] | None = None,
    most: int = 120,
    **changes: Any,
) -> Activation:
    if candidates is None:
        candidates = tuple(
            make_candidate(resource, corpus.bodies[resource.resource_id], rank)
            for rank, resource in enumerate(corpus.resources[:most], start=1)
        )
    fragments = tuple(one for one in candidates if one.final_rank is not None)
    values: dict[str, Any] = {
        "project_id": project_id,
        "query": query,
        "revision_id": f"rev-{corpus.effective_hash[:8]}",
        "effective_hash": corpus.effective_hash,
        "recipe": {"chunker": "1", "limits": {"root": 384}},
        "models": {
            "embedder": {"profile": "e5", "sha256": "a" * 64},
            "reranker": {"profile": "late", "sha256": "a" * 64},
        },
        "relevance_floor": 0.3,
        "limits": ActivationLimits(),
        "counts": Counts(
            resources=len(corpus.resources),
            units=len(corpus.resources),
            candidates=len(candidates),
            reranked=min(24, len(candidates)),
            fragments=len(fragments),
            tokens=sum(one.token_count for one in fragments),
        ),
        "candidates": candidates,
        "fragments": fragments,
        "removed": ("gone#root~0.0",),
        "state": {},
        "lexical_terms": ("moor", "night"),
        "lexical_skipped": ("at", "we"),
        "timings_us": {"open": 10, "lexical": 200, "total": 900},
        "notices": (Notice("query_shortened", "The query was shortened."),),
    }
    return Activation(**{**values, **changes})
