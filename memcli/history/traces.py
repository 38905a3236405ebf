"""The recorded candidates of a Run, and the full text of one from the frozen corpus."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, fields

from memcli.errors import Failure
from memcli.history.blobs import BlobStore
from memcli.history.corpus import ManifestResource
from memcli.index.unit import Locator


@dataclass(frozen=True, slots=True)
class RecordedCandidate:
    """A candidate as stored: all of the activation's, with an excerpt in place of the text.

    The full text is :func:`candidate_text`'s, from the frozen body.
    """

    unit_key: str
    content_hash: str
    resource_id: str
    resource_hash: str
    scope: str
    kind: str
    path: str
    heading_path: tuple[str, ...]
    locator: Locator
    token_count: int
    exact_tier: int | None
    exact_rank: int | None
    bm25_rank: int | None
    bm25_score: float | None
    vector_rank: int | None
    vector_score: float | None
    rrf_rank: int | None
    rrf_score: float | None
    rerank_rank: int | None
    rerank_score: float | None
    rerank_truncated: bool
    relevance: float | None
    final_rank: int | None
    final_score: float | None
    exclusion_reason: str | None
    action: str | None
    excerpt: str


PLAIN = tuple(
    field.name
    for field in fields(RecordedCandidate)
    if field.name not in ("heading_path", "locator", "rerank_truncated")
)
CANDIDATES = f"""
SELECT {", ".join(PLAIN)}, heading_path, rerank_truncated,
    start_line, end_line, start_char, end_char
FROM retrieval_run_candidates WHERE run_id = ? ORDER BY ordinal
"""


def read_candidates(connection: sqlite3.Connection, run_id: str) -> tuple[RecordedCandidate, ...]:
    """Every candidate of a Run in RRF order."""
    return tuple(
        RecordedCandidate(
            **{name: row[name] for name in PLAIN},
            heading_path=tuple(json.loads(row["heading_path"] or "[]")),
            locator=Locator(row["start_line"], row["end_line"], row["start_char"], row["end_char"]),
            rerank_truncated=bool(row["rerank_truncated"]),
        )
        for row in connection.execute(CANDIDATES, (run_id,))
    )


def candidate_text(
    blobs: BlobStore, candidate: RecordedCandidate, resources: Sequence[ManifestResource]
) -> str:
    """The whole text of a candidate: its place in the frozen body, or the frozen description.

    Raises:
        Failure: ``store_damaged``, when the body is missing or damaged, or the
            text found is not the one that was searched.
    """
    for resource in resources:
        if resource.resource_id == candidate.resource_id:
            break
    else:
        raise _not_that_text(candidate, "its resource is not in the stored corpus")
    locator = candidate.locator
    if locator.start_char is None or locator.end_char is None:
        text = resource.description
    else:
        body = blobs.read(resource.body_sha256).decode("utf-8")
        text = body[locator.start_char : locator.end_char]
    if hashlib.sha256(text.encode("utf-8")).hexdigest() != candidate.content_hash:
        raise _not_that_text(candidate, "the stored corpus has another text at its place")
    return text


def _not_that_text(candidate: RecordedCandidate, why: str) -> Failure:
    return Failure(
        "store_damaged",
        f"the text of {candidate.unit_key} cannot be shown: {why}",
        "Its excerpt, ranks and scores are still there.",
    )
