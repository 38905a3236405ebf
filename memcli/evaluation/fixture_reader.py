"""Reads a fixture back as an evaluation set; refuses one that is not just what was written."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from memcli.evaluation import fixture_shape as shape
from memcli.evaluation.fixture_shape import checked, invalid, too_new
from memcli.evaluation.frozen import (
    ExcludedCase,
    FrozenCase,
    FrozenCorpus,
    SourceRun,
    canonical_manifest,
)
from memcli.evaluation.matching import EvidenceItem, in_order
from memcli.evaluation.report import REPORT_SCHEMA, report_document
from memcli.history.corpus import ManifestResource
from memcli.history.traces import RecordedCandidate
from memcli.index.unit import Locator

SCHEMA = re.compile(re.escape(shape.FIXTURE_NAME) + r"\.v([0-9]{1,9})")
LAST_MEMBER = re.compile(rb',"sha256":"([0-9a-f]{64})"\}\Z')

Case = FrozenCase[RecordedCandidate]


class FixtureSet:
    """An :class:`~memcli.evaluation.frozen.EvaluationSet` that is whole in memory."""

    def __init__(
        self,
        cases: Sequence[Case],
        corpora: Mapping[str, FrozenCorpus],
        bodies: Mapping[str, str],
        excluded: Sequence[ExcludedCase],
    ) -> None:
        self._cases = sorted(cases, key=lambda case: case.case_id)
        self._corpora = dict(sorted(corpora.items()))
        self._bodies = dict(sorted(bodies.items()))
        self._excluded = sorted(excluded, key=lambda case: case.case_id)
        self._hashes = {
            name: {one.resource_id: one.resource_hash for one in corpus.resources}
            for name, corpus in corpora.items()
        }

    @property
    def case_count(self) -> int:
        return len(self._cases)

    @property
    def excluded(self) -> Sequence[ExcludedCase]:
        return self._excluded

    def frozen_cases(self) -> Iterator[Case]:
        return iter(self._cases)

    def ranked_cases(self) -> Iterator[Case]:
        return iter(self._cases)

    def corpora(self) -> Iterator[FrozenCorpus]:
        return iter(self._corpora.values())

    def resource_hashes(self, corpus_hash: str) -> Mapping[str, str]:
        return self._hashes[corpus_hash]

    def body_hashes(self) -> Sequence[str]:
        return list(self._bodies)

    def body(self, body_sha256: str) -> str:
        return self._bodies[body_sha256]


def report_from_fixture(source: bytes | Path) -> dict[str, Any]:
    """The report of a fixture: the one its export gave, from the file alone.

    Raises:
        Failure: ``fixture_invalid``, ``fixture_too_new``.
        NotReady: ``case_not_ready``, when the fixture holds no Case.
    """
    return report_document(read_fixture(source))


def read_fixture(source: bytes | Path) -> FixtureSet:
    """The set in a fixture, given as its bytes or its path.

    Bodies, manifests and the whole content are held against their hashes.

    Raises:
        Failure: ``fixture_invalid``, saying what is wrong with it: not JSON, cut
            short, edited, incomplete, unreadable; ``fixture_too_new``.
    """
    data = _bytes_of(source)
    document = _parsed(data)
    bodies: dict[str, str] = document["bodies"]
    for sha256, text in bodies.items():
        if not isinstance(text, str) or _sha256(text.encode()) != sha256:
            raise invalid(f"the body {sha256[:12]} is not what its hash says: it was edited")
    corpora = {name: _corpus(name, value, bodies) for name, value in document["corpora"].items()}
    _require_whole(data)
    cases = [_case(one, f"cases[{at}]", corpora) for at, one in enumerate(document["cases"])]
    excluded = [
        ExcludedCase(**checked(one, shape.EXCLUDED, f"excluded[{at}]"))
        for at, one in enumerate(document["excluded"])
    ]
    _require_counts(document["counts"], cases, corpora, bodies, excluded)
    return FixtureSet(cases, corpora, bodies, excluded)


def _bytes_of(source: bytes | Path) -> bytes:
    if isinstance(source, bytes):
        return source
    try:
        return source.read_bytes()
    except OSError as error:
        raise invalid(f"{source} cannot be read: {error.strerror or error}") from error


def _parsed(data: bytes) -> dict[str, Any]:
    if not data.strip():
        raise invalid("it is empty")
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        begun = data.startswith(b'{"bodies":')
        what = "it is cut short or damaged" if begun else "it is not JSON"
        raise invalid(f"{what}: {error}") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema == REPORT_SCHEMA:
        raise invalid("it is a report; the fixture is the file beside it")
    found = SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    if found is None:
        raise invalid("it is JSON, but no fixture of memcli")
    if int(found[1]) > shape.FIXTURE_VERSION:
        raise too_new(int(found[1]))
    if schema != shape.FIXTURE_SCHEMA:
        raise invalid(f"there is no fixture version {found[1]}")
    return checked(document, shape.FIXTURE, "the document")


def _require_whole(data: bytes) -> None:
    line = data.rstrip(b"\r\n")
    last = LAST_MEMBER.search(line, max(0, len(line) - 128))
    if last is None:
        raise invalid("it does not end with its own hash: it was edited or formatted")
    content = hashlib.sha256(memoryview(line)[: last.start()])
    content.update(b"}")
    if content.hexdigest().encode() != last[1]:
        raise invalid("its content is not what its hash says: it was edited")


def _corpus(name: str, value: object, bodies: Mapping[str, str]) -> FrozenCorpus:
    document = checked(value, shape.CORPUS, f"corpora.{name[:12]}")
    resources = tuple(
        ManifestResource(**checked(one, shape.RESOURCE, f"corpora.{name[:12]}.resources[{at}]"))
        for at, one in enumerate(document["resources"])
    )
    if hashlib.sha256(canonical_manifest(resources)).hexdigest() != name:
        raise invalid(f"the manifest {name[:12]} is not what its hash says: it was edited")
    for resource in resources:
        if resource.body_sha256 not in bodies:
            raise invalid(f"the body of {resource.path} is missing")
    return FrozenCorpus(name, document["effective_hash"], resources)


def _case(value: object, where: str, corpora: Mapping[str, FrozenCorpus]) -> Case:
    document = checked(value, shape.CASE, where)
    if document["corpus_hash"] not in corpora:
        raise invalid(f"{where} names a corpus that is missing")
    evidence = [
        EvidenceItem(**checked(one, shape.EVIDENCE, f"{where}.evidence[{at}]"))
        for at, one in enumerate(document["evidence"])
    ]
    if not evidence or len(set(evidence)) < len(evidence):
        raise invalid(f"{where} has no evidence, or some of it twice")
    candidates = tuple(
        _candidate(one, f"{where}.candidates[{at}]")
        for at, one in enumerate(document["candidates"])
    )
    corpus = corpora[document["corpus_hash"]]
    known = {one.unit_key for one in candidates}
    known |= {one.resource_id for one in corpus.resources}
    if any((item.unit_key or item.resource_id) not in known for item in evidence):
        raise invalid(f"{where} has evidence that neither its trace nor its corpus has")
    return FrozenCase(
        case_id=document["case_id"],
        project_id=document["project_id"],
        query=document["query"],
        version=document["version"],
        corpus_hash=document["corpus_hash"],
        evidence=in_order(evidence),
        run=_run(document["run"], f"{where}.run"),
        candidates=candidates,
    )


def _run(value: object, where: str) -> SourceRun:
    fields = dict(checked(value, shape.RUN, where))
    lexical = checked(fields.pop("lexical"), shape.LEXICAL, f"{where}.lexical")
    return SourceRun(
        **fields,
        lexical_terms=tuple(lexical["terms"]),
        lexical_skipped=tuple(lexical["skipped"]),
    )


def _candidate(value: object, where: str) -> RecordedCandidate:
    fields = dict(checked(value, shape.CANDIDATE, where))
    locator = checked(fields.pop("locator"), shape.LOCATOR, f"{where}.locator")
    heading_path = tuple(fields.pop("heading_path"))
    return RecordedCandidate(**fields, heading_path=heading_path, locator=Locator(**locator))


def _require_counts(
    counts: Mapping[str, int],
    cases: Sequence[Case],
    corpora: Mapping[str, FrozenCorpus],
    bodies: Mapping[str, str],
    excluded: Sequence[ExcludedCase],
) -> None:
    if len({case.case_id for case in cases}) < len(cases):
        raise invalid("it holds a case twice")
    held = {
        "bodies": len(bodies),
        "cases": len(cases),
        "corpora": len(corpora),
        "evidence": sum(len(case.evidence) for case in cases),
        "excluded": len(excluded),
        "resources": sum(len(corpus.resources) for corpus in corpora.values()),
    }
    if counts != held:
        raise invalid("it does not hold as many cases and bodies as it says")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
