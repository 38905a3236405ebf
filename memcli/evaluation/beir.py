"""Writes an evaluation set in BEIR's layout: corpus.jsonl, queries.jsonl, qrels.tsv.

BEIR judges documents, so evidence counts for its resource: a unit and its
resource, or two units of one, make one line. A resource that has the same
content in all corpora of the set is one document under its percent-encoded id;
where its content differs between them, each version is one, ``ID@`` and the
first 12 digits of its resource hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from memcli.evaluation.export import ExportSummary, require_directory
from memcli.evaluation.frozen import EvaluationSet, FrozenCase
from memcli.evaluation.output_file import reporting_write_faults
from memcli.evaluation.rankings import Ranked
from memcli.evaluation.report import report_document
from memcli.evaluation.trec import encoded_id
from memcli.history.traces import RecordedCandidate
from memcli.locations import private_directory, replacing
from memcli.memory.hashing import canonical_json

CORPUS_FILE = "corpus.jsonl"
QUERIES_FILE = "queries.jsonl"
QRELS_FILE = "qrels.tsv"
QRELS_HEADER = b"query-id\tcorpus-id\tscore\n"

Version = tuple[str, str]
"""A resource id and the resource hash of one content of it."""

Versions = Mapping[str, set[str]]
"""Resource hashes by resource id, over a whole set."""


def export_beir(source: EvaluationSet, directory: Path) -> ExportSummary:
    """Write the three files; queries are the Cases' ids.

    Raises:
        NotReady: ``case_not_ready``, when no Case is ready. InvalidInput:
            ``invalid_output``. Failure: ``export_failed``. Conflict: ``busy``.
    """
    if not source.case_count:
        report_document(source)  # raises, saying why
    require_directory(directory)
    paths = tuple(directory / name for name in (CORPUS_FILE, QUERIES_FILE, QRELS_FILE))
    with reporting_write_faults(directory):
        private_directory(directory)
        with (
            replacing(paths[0]) as corpus,
            replacing(paths[1]) as queries,
            replacing(paths[2]) as qrels,
        ):
            strays = _strays(source)
            versions = _versions(source, strays)
            _write_corpus(source, versions, strays, corpus)
            qrels.write(QRELS_HEADER)
            for case in source.ranked_cases():
                query_id = encoded_id(case.case_id)
                query = {"_id": query_id, "text": case.query}
                queries.write(canonical_json(query) + b"\n")
                relevant = dict.fromkeys(
                    _document_id(version, versions) for version in _evidence_of(source, case)
                )
                for document_id in relevant:
                    qrels.write(f"{query_id}\t{document_id}\t1\n".encode("ascii"))
    return ExportSummary(paths, source.case_count, len(source.excluded))


def _evidence_of(source: EvaluationSet, case: FrozenCase[Ranked]) -> Iterator[Version]:
    """The resource of each item as it is frozen, or as the trace knew it where it is not."""
    frozen = source.resource_hashes(case.corpus_hash)
    in_trace = {one.unit_key: (one.resource_id, one.resource_hash) for one in case.candidates}
    for item in case.evidence:
        if item.unit_key is None or item.resource_id in frozen:
            yield item.resource_id, frozen[item.resource_id]
        else:
            yield in_trace[item.unit_key]


def _strays(source: EvaluationSet) -> dict[Version, RecordedCandidate]:
    """Candidates that are evidence though their resource is in no frozen corpus."""
    strays = {}
    for case in source.frozen_cases():
        frozen = source.resource_hashes(case.corpus_hash)
        units = {item.unit_key for item in case.evidence if item.resource_id not in frozen}
        for one in case.candidates:
            if one.unit_key in units:
                strays[one.resource_id, one.resource_hash] = one
    return strays


def _versions(source: EvaluationSet, strays: Iterable[Version]) -> Versions:
    versions: dict[str, set[str]] = {}
    for corpus in source.corpora():
        for resource in corpus.resources:
            versions.setdefault(resource.resource_id, set()).add(resource.resource_hash)
    for resource_id, resource_hash in strays:
        versions.setdefault(resource_id, set()).add(resource_hash)
    return versions


def _write_corpus(
    source: EvaluationSet,
    versions: Versions,
    strays: Mapping[Version, RecordedCandidate],
    stream: BinaryIO,
) -> None:
    written: set[Version] = set()
    for corpus in source.corpora():
        for resource in corpus.resources:
            version = (resource.resource_id, resource.resource_hash)
            if version not in written:
                written.add(version)
                stream.write(
                    _line(
                        _document_id(version, versions),
                        resource.title,
                        [resource.description, source.body(resource.body_sha256)],
                    )
                )
    for version, candidate in sorted(strays.items(), key=lambda pair: pair[0]):
        if version not in written:
            title = candidate.path
            stream.write(_line(_document_id(version, versions), title, [candidate.excerpt]))


def _line(document_id: str, title: str, texts: Iterable[str]) -> bytes:
    text = "\n\n".join(text for text in texts if text)
    return canonical_json({"_id": document_id, "title": title, "text": text}) + b"\n"


def _document_id(version: Version, versions: Versions) -> str:
    resource_id, resource_hash = version
    one = encoded_id(resource_id)
    return one if len(versions[resource_id]) == 1 else f"{one}@{resource_hash[:12]}"
