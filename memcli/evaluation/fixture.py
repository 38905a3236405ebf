"""Writes ``fixture_json``: a whole evaluation set in one self-contained, deterministic file.

The file is one line of JSON with sorted names and no white space::

    {"bodies": {sha256: text}, "cases": [...], "corpora": {hash: manifest},
     "counts": {...}, "excluded": [...], "schema": "memcli.fixture.v1", "sha256": "..."}

``sha256`` is that of the line without its last member, ``,"sha256":"..."``.
Bodies are named by their SHA-256 and manifests by that of their canonical form;
each is in the file once, however many Cases share it. Nothing tells when,
where, by whom or by which version the file was written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from memcli.evaluation.fixture_shape import CANDIDATE, FIXTURE_SCHEMA
from memcli.evaluation.frozen import EvaluationSet, FrozenCase, SourceRun, canonical_manifest
from memcli.evaluation.report import excluded_document, item_document
from memcli.history.traces import RecordedCandidate
from memcli.memory.hashing import canonical_json

# Small pieces are joined before they are hashed and written.
PIECE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class FixtureSummary:
    """What was written; ``sha256`` is the file's own member of that name."""

    cases: int
    excluded: int
    corpora: int
    bodies: int
    bytes: int
    sha256: str


def write_fixture(
    source: EvaluationSet,
    write: Callable[[bytes], object],
    *,
    on_case: Callable[[FrozenCase[RecordedCandidate]], object] = lambda case: None,
) -> FixtureSummary:
    """Write the fixture piece by piece: one body, one manifest, one Case in memory at a time.

    ``on_case`` is given every Case on the way, so that a report needs no second pass.

    Raises:
        Conflict: ``busy``, when a body was collected meanwhile.
    """
    counts: dict[str, int] = {}
    content = hashlib.sha256()
    size = 0
    buffer = bytearray()

    def flush() -> None:
        nonlocal size
        data = bytes(buffer)
        buffer.clear()
        content.update(data)
        size += len(data)
        write(data)

    for piece in _content(source, counts, on_case):
        buffer += piece
        if len(buffer) >= PIECE_BYTES:
            flush()
    flush()
    content.update(b"}")
    end = b',"sha256":"%s"}\n' % content.hexdigest().encode()
    write(end)
    return FixtureSummary(
        cases=counts["cases"],
        excluded=counts["excluded"],
        corpora=counts["corpora"],
        bodies=counts["bodies"],
        bytes=size + len(end),
        sha256=content.hexdigest(),
    )


def _content(
    source: EvaluationSet,
    counts: dict[str, int],
    on_case: Callable[[FrozenCase[RecordedCandidate]], object],
) -> Iterator[bytes]:
    hashes = source.body_hashes()
    yield b'{"bodies":{'
    yield from _joined(
        b'"%s":%s' % (one.encode(), canonical_json(source.body(one))) for one in hashes
    )
    yield b'},"cases":['
    counts |= {"bodies": len(hashes), "cases": 0, "corpora": 0, "evidence": 0, "resources": 0}
    yield from _joined(_cases(source, counts, on_case))
    yield b'],"corpora":{'
    yield from _joined(_corpora(source, counts))
    counts["excluded"] = len(source.excluded)
    yield b'},"counts":%s' % canonical_json(counts)
    yield b',"excluded":%s' % canonical_json([excluded_document(one) for one in source.excluded])
    yield b',"schema":%s' % canonical_json(FIXTURE_SCHEMA)


def _cases(
    source: EvaluationSet,
    counts: dict[str, int],
    on_case: Callable[[FrozenCase[RecordedCandidate]], object],
) -> Iterator[bytes]:
    for case in source.frozen_cases():
        on_case(case)
        counts["cases"] += 1
        counts["evidence"] += len(case.evidence)
        yield canonical_json(case_document(case))


def _corpora(source: EvaluationSet, counts: dict[str, int]) -> Iterator[bytes]:
    for corpus in source.corpora():
        counts["corpora"] += 1
        counts["resources"] += len(corpus.resources)
        yield b'"%s":{"effective_hash":%s,"resources":%s}' % (
            corpus.corpus_hash.encode(),
            canonical_json(corpus.effective_hash),
            canonical_manifest(corpus.resources),
        )


def case_document(case: FrozenCase[RecordedCandidate]) -> dict[str, Any]:
    """One Case in the fixture, with its evidence, its source Run and the trace."""
    return {
        "case_id": case.case_id,
        "project_id": case.project_id,
        "query": case.query,
        "version": case.version,
        "corpus_hash": case.corpus_hash,
        "evidence": [item_document(item) for item in case.evidence],
        "run": run_document(case.run),
        "candidates": [trace_document(candidate) for candidate in case.candidates],
    }


def run_document(run: SourceRun) -> dict[str, Any]:
    """The source Run in the names of ``runs show``."""
    document = asdict(run)
    terms, skipped = document.pop("lexical_terms"), document.pop("lexical_skipped")
    return {**document, "lexical": {"terms": list(terms), "skipped": list(skipped)}}


def trace_document(candidate: RecordedCandidate) -> dict[str, Any]:
    """One candidate in the names of ``runs show``, and whether the reranker saw all of it."""
    document = {name: getattr(candidate, name) for name in CANDIDATE}
    document["heading_path"] = list(candidate.heading_path)
    document["locator"] = asdict(candidate.locator)
    return document


def _joined(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for at, piece in enumerate(pieces):
        yield b"," + piece if at else piece
