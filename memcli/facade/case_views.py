"""What the questions about Evaluation Cases answer, each with its JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from memcli.errors import NotReady
from memcli.evaluation.cases import Case, CaseDetail

if TYPE_CHECKING:
    from pathlib import Path

    from memcli.evaluation.corpus_search import FrozenSearch
    from memcli.evaluation.creation import Creation
    from memcli.evaluation.frozen import ExcludedCase
    from memcli.history.corpus import ManifestResource
    from memcli.history.store import HistoryStore
    from memcli.history.traces import RecordedCandidate

DELETE_SCHEMA = "memcli.case.delete.v1"
EXPORT_SCHEMA = "memcli.export.v1"


@dataclass(frozen=True, slots=True)
class CaseCreations:
    """What became of each Run that a Case was asked of, in the order of asking.

    ``selected`` says that the Runs were found by a condition, not named: those
    that never gave an answer are then no fault.
    """

    made: tuple[Creation, ...]
    selected: bool

    @property
    def refused(self) -> tuple[Creation, ...]:
        return tuple(each for each in self.made if each.refusal is not None)

    def raise_refusals(self, unanswered: Sequence[str] = ()) -> None:
        """Raise ``NotReady`` ``run_not_evaluable`` where a Run was refused that should not be.

        ``unanswered`` are Runs that failed or still run.
        """
        refused = [each for each in self.refused if each.reference not in unanswered]
        if len(refused) == 1 and refused[0].refusal is not None:
            raise refused[0].refusal
        if refused:
            raise NotReady(
                "run_not_evaluable",
                f"{len(refused)} of {len(self.made)} runs cannot become evaluation cases",
                "The reason stands beside each of them.",
            )

    def document(self) -> dict[str, Any]:
        """What ``case create --json`` prints."""
        from memcli.evaluation.documents import case_create_document

        return case_create_document(self.made)


@dataclass(frozen=True, slots=True)
class CaseListing:
    """Cases, oldest first; ``project_id`` is ``None`` where those of all projects are listed.

    ``damaged`` are Cases, of whatever project, that are not what was confirmed.
    """

    cases: tuple[Case, ...]
    project_id: str | None
    damaged: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """What ``case list --json`` prints."""
        from memcli.evaluation.documents import case_list_document

        return case_list_document(self.cases, self.damaged)


@dataclass(frozen=True, slots=True)
class CaseView:
    """One Case with all it froze; ``project_id`` is the present project's."""

    detail: CaseDetail
    project_id: str
    store: HistoryStore

    @property
    def case(self) -> Case:
        return self.detail.case

    @property
    def other_project(self) -> str | None:
        """The Case's project where that is not the present one."""
        project_id = self.case.project_id
        return None if project_id == self.project_id else project_id

    def document(self) -> dict[str, Any]:
        """What ``case show --json`` and ``case next --json`` print."""
        from memcli.evaluation.documents import case_show_document

        return case_show_document(self.detail)

    def text_of(self, candidate: RecordedCandidate) -> str:
        """The whole text of a candidate, from the frozen corpus.

        Raises ``Failure``: ``store_damaged``.
        """
        from memcli.history.traces import candidate_text

        return candidate_text(self.store.blobs, candidate, self.detail.resources)

    def body_of(self, resource: ManifestResource) -> str:
        """The whole body of a frozen resource, as it was searched.

        Raises ``Failure``: ``store_damaged``.
        """
        from memcli.evaluation.corpus_search import frozen_body

        return frozen_body(self.store, resource)

    def search(self, text: str) -> FrozenSearch:
        """Resources of the frozen corpus that hold words of ``text``, best first.

        Raises ``InvalidInput`` ``invalid_query`` for a blank text.
        """
        from memcli.evaluation.corpus_search import search_frozen_corpus

        return search_frozen_corpus(self.store, self.detail, text)


@dataclass(frozen=True, slots=True)
class FrozenSearchView:
    """A search of the frozen corpus of a Case."""

    case: Case
    search: FrozenSearch

    def document(self) -> dict[str, Any]:
        """What ``case show --search TEXT --json`` prints."""
        from memcli.evaluation.documents import case_search_document

        return case_search_document(self.search)


@dataclass(frozen=True, slots=True)
class CaseChange:
    """A Case as it is after its evidence was replaced."""

    case: Case

    def document(self) -> dict[str, Any]:
        """What ``case resolve --json`` prints."""
        from memcli.evaluation.documents import case_document

        return case_document(self.case)


@dataclass(frozen=True, slots=True)
class CaseDeletion:
    """A Case as it was when it was deleted, or would be."""

    case: Case
    dry_run: bool

    def document(self) -> dict[str, Any]:
        """What ``case delete --json`` prints."""
        return {"schema": DELETE_SCHEMA, "dry_run": self.dry_run, "case": asdict(self.case)}


@dataclass(frozen=True, slots=True)
class CaseSource:
    """Which Cases: those of a fixture where one is given, else of the store."""

    references: Sequence[str] | None = None
    all_projects: bool = False
    fixture: bytes | Path | None = None


@dataclass(frozen=True, slots=True)
class ReportView:
    """A report, and what of it somebody should be told.

    ``named`` says that the Cases were asked for by name: each that is left out
    is a loss then, as is every Case that a person resolved.
    """

    report: Mapping[str, Any]
    named: bool = False

    def to_bytes(self) -> bytes:
        """What ``report --json`` prints and ``export`` writes: the one serialisation."""
        from memcli.evaluation.report import report_bytes

        return report_bytes(dict(self.report))

    def csv_bytes(self) -> bytes:
        """The report for a spreadsheet."""
        from memcli.evaluation.csv_report import csv_report

        return csv_report(self.report)

    def html_bytes(self) -> bytes:
        """The report as a page that stands alone."""
        from memcli.evaluation.html_report import html_report

        return html_report(self.report)

    @staticmethod
    def write(path: Path, data: bytes) -> None:
        """Write one of these to a file, for its owner alone.

        Raises ``InvalidInput`` ``invalid_output``; ``Failure`` ``export_failed``.
        """
        from memcli.evaluation.output_file import write_output

        write_output(path, data)

    def raise_losses(self) -> None:
        """Raise ``NotReady`` ``case_not_ready`` where a Case is missing that should not be."""
        _raise_losses(
            [(one["case_id"], one["status"], one["reason"]) for one in self.report["excluded"]],
            self.named,
        )


@dataclass(frozen=True, slots=True)
class ExportView:
    """What an export wrote, in the order of writing; ``fixture`` and ``report`` where it did."""

    form: str
    files: tuple[Path, ...]
    fixture: Path | None
    report: Path | None
    cases: int
    excluded: tuple[ExcludedCase, ...]
    named: bool = False

    def document(self) -> dict[str, Any]:
        """What ``export --json`` prints."""
        return {
            "schema": EXPORT_SCHEMA,
            "format": self.form,
            "files": [str(path) for path in self.files],
            "fixture": None if self.fixture is None else str(self.fixture),
            "report": None if self.report is None else str(self.report),
            "cases": self.cases,
            "excluded": [asdict(each) for each in self.excluded],
        }

    def raise_losses(self) -> None:
        """Raise ``NotReady`` ``case_not_ready`` where a Case is missing that should not be."""
        _raise_losses(
            [(each.case_id, each.status, each.reason) for each in self.excluded], self.named
        )


def _raise_losses(excluded: Sequence[tuple[str, str, str]], named: bool) -> None:
    """An unresolved Case that nobody asked for is no loss; a ready or damaged one is."""
    from memcli.evaluation.frozen import is_loss

    lost = [each for each in excluded if named or is_loss(each[1], each[2])]
    if not lost:
        return
    reasons = "; ".join(f"{case_id} ({status}): {reason}" for case_id, status, reason in lost[:5])
    more = f"; and {len(lost) - 5} more" if len(lost) > 5 else ""
    cases = "1 case is" if len(lost) == 1 else f"{len(lost)} cases are"
    raise NotReady(
        "case_not_ready",
        f"{cases} missing from the figures: {reasons}{more}",
        "`memcli case show` tells more; the figures of the others are complete.",
    )
