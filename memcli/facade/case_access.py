"""Evaluation Cases through the facade: make, read, resolve, delete, score, write out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING

from memcli.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

    from memcli.evaluation.cases import Case
    from memcli.evaluation.creation import Creation
    from memcli.evaluation.evidence import Named
    from memcli.facade.case_views import (
        CaseChange,
        CaseCreations,
        CaseDeletion,
        CaseListing,
        CaseView,
        ExportView,
        FrozenSearchView,
        ReportView,
    )
    from memcli.history.store import HistoryStore
    from memcli.memory.identity import Identity


class ExportFormat(str, Enum):
    """What ``export_evaluation_set`` writes."""

    JSON = "json"
    TREC = "trec"
    BEIR = "beir"


class CaseAccess(ABC):
    """The part of ``Memcli`` that turns history into judgement; none of it loads a model."""

    @property
    @abstractmethod
    def history(self) -> HistoryStore:
        """The central store."""

    @abstractmethod
    def identity(self, *, settle: bool) -> Identity:
        """The project's id."""

    # Making Cases

    def create_evaluation_case(self, run: str = "last") -> Case:
        """The one Case of a Run: new, or the one that was made before.

        Raises ``NotReady`` ``run_not_evaluable`` with the reason; ``Failure``
        ``run_not_found``, ``history_write_failed``; ``Conflict`` ``busy``.
        """
        from memcli.evaluation.creation import create_case

        return create_case(self.history, run, project_id=self._own_id)

    def create_evaluation_cases(self, runs: Sequence[str]) -> CaseCreations:
        """The Case of each Run, or the refusal. Every name is resolved before the first is made.

        Raises ``Failure`` ``run_not_found``; nothing was made then.
        """
        from memcli.facade.case_views import CaseCreations

        ids = self._run_ids(runs)
        made = self._create(ids)
        named = tuple(replace(one, reference=name) for one, name in zip(made, runs, strict=True))
        return CaseCreations(named, selected=False)

    def create_evaluation_cases_since(
        self, since: datetime | None = None
    ) -> tuple[CaseCreations, list[str]]:
        """The Cases of every Run of this project since a moment (``None``: ever), oldest first.

        Runs that failed or still run are refused like any other; their ids are
        the second part of the answer.
        """
        from memcli.facade.case_views import CaseCreations
        from memcli.history.runs import list_runs

        newest_first = list_runs(self.history, project_id=self._own_id, since=since)
        runs = newest_first[::-1]
        made = self._create([run.run_id for run in runs])
        unanswered = [run.run_id for run in runs if run.status != "succeeded"]
        return CaseCreations(tuple(made), selected=True), unanswered

    # Reading them

    def list_evaluation_cases(
        self, *, status: str | None = None, all_projects: bool = False
    ) -> CaseListing:
        """Cases of this project or of all, oldest first.

        ``status`` is ``draft``, ``ready`` or ``needs_evidence``.
        """
        from memcli.evaluation.cases import list_cases, list_damaged_cases
        from memcli.facade.case_views import CaseListing

        project_id = None if all_projects else self._own_id
        cases = list_cases(self.history, project_id=project_id, status=status)
        damaged = tuple(list_damaged_cases(self.history))
        whole = tuple(case for case in cases if case.case_id not in damaged)
        return CaseListing(whole, project_id, damaged)

    def get_evaluation_case(self, reference: str) -> CaseView:
        """The Case named by an id or a unique beginning of one.

        Raises ``Failure``: ``case_not_found``, naming near ids; ``store_damaged``.
        """
        from memcli.evaluation.cases import get_case
        from memcli.facade.case_views import CaseView

        own = self._own_id
        return CaseView(get_case(self.history, reference, project_id=own), own, self.history)

    def next_evaluation_case(self, *, skipping: Collection[str] = ()) -> CaseView | None:
        """The oldest Case of this project that nobody has resolved yet, if there is one."""
        from memcli.evaluation.cases import next_unresolved

        case = next_unresolved(self.history, project_id=self._own_id, skipping=skipping)
        return None if case is None else self.get_evaluation_case(case.case_id)

    def search_frozen_corpus(self, reference: str, text: str) -> FrozenSearchView:
        """Look through the frozen corpus of a Case for evidence that no stage found.

        Raises ``Failure`` ``case_not_found``; ``InvalidInput`` ``invalid_query``.
        """
        from memcli.facade.case_views import FrozenSearchView

        view = self.get_evaluation_case(reference)
        return FrozenSearchView(view.case, view.search(text))

    # Changing them

    def resolve_evaluation_case(
        self,
        reference: str,
        *,
        expected_version: int,
        evidence: Sequence[Named] = (),
        none_matched: bool = False,
    ) -> CaseChange:
        """Replace all evidence of a Case, or say that none matched; compare-and-swap.

        ``evidence`` holds items or spellings: ``unit:KEY``, ``resource:ID``, ``rank:N``.
        Raises ``InvalidInput`` ``invalid_resolution``; ``Failure``
        ``case_not_found``, ``evidence_invalid``; ``Conflict``
        ``evaluation_case_conflict``, ``busy``.
        """
        from memcli.evaluation.resolve import resolve_case
        from memcli.facade.case_views import CaseChange

        return CaseChange(
            resolve_case(
                self.history,
                reference,
                project_id=self._own_id,
                expected_version=expected_version,
                evidence=evidence,
                none_matched=none_matched,
            )
        )

    def resolve_evaluation_case_json(self, reference: str, resolution: bytes) -> CaseChange:
        """The same from one JSON document; raises ``InvalidInput`` ``invalid_resolution`` too."""
        from memcli.evaluation.evidence import parse_resolution

        asked = parse_resolution(resolution)
        return self.resolve_evaluation_case(
            reference,
            expected_version=asked.expected_version,
            evidence=asked.evidence,
            none_matched=asked.none_matched,
        )

    def delete_evaluation_case(self, reference: str, *, dry_run: bool = False) -> CaseDeletion:
        """Delete a Case with its evidence; its Run is kept no longer, unless pinned by hand.

        Raises ``Failure`` ``case_not_found``; ``Conflict`` ``busy``.
        """
        from memcli.evaluation.cases import delete_case, require_case
        from memcli.facade.case_views import CaseDeletion

        if dry_run:
            return CaseDeletion(require_case(self.history, reference, self._own_id), dry_run)
        return CaseDeletion(delete_case(self.history, reference, project_id=self._own_id), dry_run)

    # Scoring and writing out

    def report(
        self, references: Sequence[str] | None = None, *, all_projects: bool = False
    ) -> ReportView:
        """Score the recorded Runs of all Cases of this project, of all projects, or of those named.

        Raises ``NotReady`` ``case_not_ready`` when none can be scored; ``Failure``
        ``case_not_found``.
        """
        from memcli.evaluation.report import report_document
        from memcli.evaluation.stored_set import stored_set
        from memcli.facade.case_views import ReportView

        project_id = None if all_projects else self._own_id
        with stored_set(self.history, project_id=project_id, references=references) as cases:
            return ReportView(report_document(cases), named=references is not None)

    @staticmethod
    def report_fixture(source: bytes | Path) -> ReportView:
        """The report of a fixture, from the file alone: no project and no store are looked at.

        Raises ``Failure`` ``fixture_invalid``, ``fixture_too_new``; ``NotReady``
        ``case_not_ready``.
        """
        from memcli.evaluation.fixture_reader import report_from_fixture
        from memcli.facade.case_views import ReportView

        return ReportView(report_from_fixture(source))

    def export_evaluation_set(
        self,
        out: Path,
        references: Sequence[str] | None = None,
        *,
        form: ExportFormat = ExportFormat.JSON,
        fixture: bool = True,
        report: bool = True,
        all_projects: bool = False,
    ) -> ExportView:
        """Write the ready Cases: ``fixture_json`` and ``report``, or TREC's or BEIR's files.

        Raises ``NotReady`` ``case_not_ready``; ``Failure`` ``case_not_found``,
        ``export_failed``; ``InvalidInput`` ``invalid_output``; ``Conflict`` ``busy``.
        """
        from memcli.evaluation.beir import export_beir
        from memcli.evaluation.export import ExportTargets, export_set, export_targets
        from memcli.evaluation.stored_set import stored_set
        from memcli.evaluation.trec import export_trec
        from memcli.facade.case_views import ExportView

        targets = ExportTargets(None, None)
        if form is ExportFormat.JSON:
            targets = export_targets(out, fixture=fixture, report=report)
        elif not (fixture and report):
            raise InvalidInput("invalid_output", f"{form.value} files hold no report")
        project_id = None if all_projects else self._own_id
        with stored_set(self.history, project_id=project_id, references=references) as cases:
            if form is ExportFormat.JSON:
                summary = export_set(cases, targets)
            else:
                export = export_trec if form is ExportFormat.TREC else export_beir
                summary = export(cases, out)
            return ExportView(
                form=form.value,
                files=summary.files,
                fixture=targets.fixture,
                report=targets.report,
                cases=summary.cases,
                excluded=tuple(cases.excluded),
                named=references is not None,
            )

    @property
    def _own_id(self) -> str:
        return self.identity(settle=False).project_id

    def _run_ids(self, references: Sequence[str]) -> list[str]:
        from memcli.history.runs import find_run, run_not_found
        from memcli.sqlite_files import snapshot

        with self.history.reading() as connection:
            if connection is None:
                raise run_not_found(references[0], "there are no runs yet")
            with snapshot(connection):
                return [find_run(connection, each, self._own_id) for each in references]

    def _create(self, run_ids: Sequence[str]) -> list[Creation]:
        from memcli.evaluation.creation import create_cases

        return create_cases(self.history, run_ids, project_id=self._own_id)
