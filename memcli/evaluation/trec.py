"""Writes an evaluation set as TREC qrels and run files, on which trec_eval's family agrees with us.

A candidate that satisfies a resource item is written under the resource id,
any other under its unit key. Ids are percent-encoded; only a unit key keeps a
bare ``#``, so that the two kinds never meet. Score is N - rank: no ties, for
those tools ignore the rank and break ties by id. A ranking without candidates
gets one line that no qrel names, for some of them drop a query without lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

from memcli.evaluation.export import ExportSummary, require_directory
from memcli.evaluation.frozen import EvaluationSet, FrozenCase
from memcli.evaluation.matching import EvidenceItem, match
from memcli.evaluation.output_file import reporting_write_faults
from memcli.evaluation.rankings import VARIANTS, Ranked, rankings_of
from memcli.evaluation.report import report_document
from memcli.locations import private_directory, replacing

QRELS_FILE = "qrels.txt"
# Brackets are encoded in every id, so this is the id of nothing.
NOTHING = "(nothing)"


def run_file(variant: str) -> str:
    """``b1_bm25.run`` and the like."""
    return f"{variant}.run"


def export_trec(source: EvaluationSet, directory: Path) -> ExportSummary:
    """Write ``qrels.txt`` and the four run files; queries are the Cases' ids.

    Raises:
        NotReady: ``case_not_ready``, when no Case is ready. InvalidInput:
            ``invalid_output``. Failure: ``export_failed``.
    """
    if not source.case_count:
        report_document(source)  # raises, saying why
    require_directory(directory)
    names = (QRELS_FILE, *(run_file(variant) for variant in VARIANTS))
    paths = tuple(directory / name for name in names)
    with reporting_write_faults(directory), ExitStack() as stack:
        private_directory(directory)
        streams = [stack.enter_context(replacing(path)) for path in paths]
        for case in source.ranked_cases():
            streams[0].write(_text(qrel_lines(case)))
            rankings = rankings_of(case.candidates)
            for variant, stream in zip(VARIANTS, streams[1:], strict=True):
                stream.write(_text(run_lines(case, variant, rankings[variant])))
    return ExportSummary(paths, source.case_count, len(source.excluded))


def qrel_lines(case: FrozenCase[Ranked]) -> Iterator[str]:
    """One line a piece of evidence, found by a ranking or not."""
    query = encoded_id(case.case_id)
    for item in case.evidence:
        yield f"{query} 0 {document_id(item)} 1"


def run_lines(case: FrozenCase[Ranked], variant: str, ranking: Sequence[Ranked]) -> Iterator[str]:
    """One line a candidate, or the line of nothing."""
    query = encoded_id(case.case_id)
    if not ranking:
        yield f"{query} Q0 {NOTHING} 1 0 {variant}"
    satisfied = match(ranking, case.evidence)
    for rank, (candidate, item) in enumerate(zip(ranking, satisfied, strict=True), 1):
        written = item or EvidenceItem(candidate.resource_id, candidate.unit_key)
        yield f"{query} Q0 {document_id(written)} {rank} {len(ranking) - rank} {variant}"


def document_id(item: EvidenceItem) -> str:
    """The id of a unit, with its ``#``, or of a resource, without any."""
    if item.unit_key is None:
        return encoded_id(item.resource_id)
    return quote(item.unit_key, safe="/#")


def encoded_id(text: str) -> str:
    """Percent-encoded but for ASCII letters, digits, ``_ . - ~ /``."""
    return quote(text, safe="/")


def _text(lines: Iterator[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("ascii")
