"""Writes an evaluation set to files: fixture and report side by side, or one of them alone."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from memcli.errors import InvalidInput
from memcli.evaluation.fixture import write_fixture
from memcli.evaluation.frozen import EvaluationSet
from memcli.evaluation.output_file import reporting_write_faults
from memcli.evaluation.report import ReportBuilder, report_bytes, report_document
from memcli.locations import private_directory, replacing

FIXTURE_FILE = "fixture.json"
REPORT_FILE = "report.json"


@dataclass(frozen=True, slots=True)
class ExportTargets:
    """Where the two siblings go; ``None`` for one that is not written."""

    fixture: Path | None
    report: Path | None


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """What an export wrote, in the order of writing, and how many Cases are in it or left out."""

    files: tuple[Path, ...]
    cases: int
    excluded: int


def export_targets(out: Path, *, fixture: bool = True, report: bool = True) -> ExportTargets:
    """The files that ``--out`` means.

    A name ending in ``.json`` that is no directory is the file itself (of the
    fixture; the report is ``NAME.report.json`` beside it, or the file when it is
    written alone). Everything else is a directory for ``fixture.json`` and
    ``report.json``.

    Raises:
        InvalidInput: ``invalid_output``, for neither of the two, or a directory
            that is a file.
    """
    if not (fixture or report):
        raise InvalidInput("invalid_output", "neither fixture nor report was asked for")
    if out.suffix == ".json" and not out.is_dir():
        beside = out.with_name(f"{out.stem}.report.json") if fixture else out
        return ExportTargets(out if fixture else None, beside if report else None)
    require_directory(out)
    return ExportTargets(
        out / FIXTURE_FILE if fixture else None, out / REPORT_FILE if report else None
    )


def require_directory(out: Path) -> None:
    """Refuse a file where a directory is to be."""
    if out.exists() and not out.is_dir():
        raise InvalidInput("invalid_output", f"{out} is a file, not a directory")


def export_set(source: EvaluationSet, targets: ExportTargets) -> ExportSummary:
    """Write the siblings that ``targets`` names, in one pass over the Cases.

    Both appear under their names only when both are complete.

    Raises:
        NotReady: ``case_not_ready``, when no Case is ready; nothing is written then.
        Failure: ``export_failed``. Conflict: ``busy``.
    """
    if not source.case_count:
        report_document(source)  # raises, saying why
    files = tuple(path for path in (targets.fixture, targets.report) if path is not None)
    builder = ReportBuilder(source)
    first = files[0]
    with reporting_write_faults(first), ExitStack() as stack:
        private_directory(first.parent)
        streams = {path: stack.enter_context(replacing(path)) for path in files}
        if targets.fixture is not None:
            write_fixture(source, streams[targets.fixture].write, on_case=builder.add)
        else:
            for case in source.ranked_cases():
                builder.add(case)
        if targets.report is not None:
            streams[targets.report].write(report_bytes(builder.document()))
    return ExportSummary(files, source.case_count, len(source.excluded))
