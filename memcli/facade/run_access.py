"""Retrieval Runs through the facade: list, read, compare, keep, and delete for good."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime
from typing import TYPE_CHECKING

from memcli.errors import InvalidInput
from memcli.facade.run_views import (
    Deletion,
    PinChange,
    RunComparison,
    RunListing,
    RunView,
    project_text,
)
from memcli.history.digests import list_damaged_runs
from memcli.history.runs import get_run, list_runs, near_ids

if TYPE_CHECKING:
    from memcli.history.projects import RegisteredProject
    from memcli.history.store import HistoryStore
    from memcli.memory.identity import Identity
    from memcli.memory.project import Project

MOST_OF_QUERY = 60


class RunAccess(ABC):
    """The part of ``Memcli`` that works on history alone; none of it loads a model."""

    project: Project

    @property
    @abstractmethod
    def history(self) -> HistoryStore:
        """The central store."""

    @abstractmethod
    def identity(self, *, settle: bool) -> Identity:
        """The project's id."""

    def list_retrieval_runs(
        self,
        *,
        status: str | None = None,
        since: datetime | None = None,
        limit: int | None = None,
        all_projects: bool = False,
    ) -> RunListing:
        """Runs of this project or of all, newest first.

        ``status`` is ``running``, ``succeeded`` or ``failed``. Raises
        ``Failure``: ``store_damaged``, ``store_too_new``.
        """
        project_id = None if all_projects else self._project_id
        most = None if limit is None else limit + 1
        runs = list_runs(
            self.history, project_id=project_id, status=status, since=since, limit=most
        )
        shown = runs[:limit]
        damaged = tuple(list_damaged_runs(self.history))
        return RunListing(tuple(shown), project_id, len(runs) > len(shown), damaged)

    def get_retrieval_run(self, reference: str = "last") -> RunView:
        """The Run named by an id, a unique beginning of one, or ``last``.

        Raises ``Failure``: ``run_not_found``, ``store_damaged``, ``store_too_new``.
        """
        project_id = self._project_id
        detail = get_run(self.history, reference, project_id=project_id)
        return RunView(detail, project_id, self.history.blobs)

    def name_retrieval_run(self, reference: str) -> str:
        """The id of the Run that ``reference`` names, be it a damaged one."""
        from memcli.history.runs import name_run

        return name_run(self.history, reference, project_id=self._project_id).run_id

    def diff_retrieval_runs(self, a: str, b: str) -> RunComparison:
        """What the Run ``b`` ranked otherwise than ``a``, and what else differs between them."""
        from memcli.history.diff import diff_runs

        return RunComparison(
            diff_runs(self.get_retrieval_run(a).detail, self.get_retrieval_run(b).detail)
        )

    def pin_run(self, reference: str) -> PinChange:
        """Keep a Run from retention and ``clear`` until it is unpinned."""
        from memcli.history.pinning import pin_run

        return PinChange(pin_run(self.history, reference, project_id=self._project_id), True)

    def unpin_run(self, reference: str) -> PinChange:
        """Let retention and ``clear`` have a Run again.

        Raises ``Conflict`` ``evaluation_case_conflict`` for the source of a Case.
        """
        from memcli.history.pinning import unpin_run

        return PinChange(unpin_run(self.history, reference, project_id=self._project_id), False)

    def delete_run(self, reference: str, *, dry_run: bool = False) -> Deletion:
        """Delete one Run, pinned by hand or not, and every body that nothing needs then.

        Raises ``Failure`` ``run_not_found``; ``Conflict``:
        ``evaluation_case_conflict`` for the source of a Case, ``busy`` while it runs.
        """
        from memcli.history.clearing import delete_run
        from memcli.history.excerpts import excerpt_of
        from memcli.history.runs import name_run

        run = name_run(self.history, reference, project_id=self._project_id)
        other = run.project_id != self._project_id
        where = f" of another project, {project_text(run)}" if other else ""
        summary = delete_run(self.history, run.run_id, project_id=self._project_id, dry_run=dry_run)
        return Deletion(
            summary, f"run {run.run_id}{where}, {excerpt_of(run.query, MOST_OF_QUERY)!r}"
        )

    def clear_retrieval_runs(
        self, *, all_projects: bool = False, dry_run: bool = False
    ) -> Deletion:
        """Delete ended, unpinned Runs, then every body that nothing needs, of whatever project."""
        from memcli.history.clearing import clear_runs

        project_id = None if all_projects else self._project_id
        summary = clear_runs(self.history, project_id=project_id, dry_run=dry_run)
        return Deletion(summary, "all projects" if all_projects else "this project")

    def forget_project(self, project_id: str | None = None, *, dry_run: bool = False) -> Deletion:
        """Delete a project (default: this one) with all its Runs and Cases from the store.

        Raises ``InvalidInput`` ``project_not_found``, naming near ids.
        """
        from memcli.history.clearing import forget_project
        from memcli.history.projects import CentralRegistry

        wanted = project_id or self._project_id
        known = {each.project_id: each for each in CentralRegistry(self.history).projects()}
        try:
            summary = forget_project(self.history, wanted, dry_run=dry_run)
        except InvalidInput as error:
            if project_id is None:
                message = f"nothing is stored for the project {self.project.root}"
                raise InvalidInput(error.code, message, error.hint) from None
            if near := near_ids(wanted, list(known)):
                hint = f"Did you mean: {', '.join(near)}?"
                raise InvalidInput(error.code, error.message, hint) from None
            raise
        return Deletion(summary, _project_name(wanted, known.get(wanted)))

    @property
    def _project_id(self) -> str:
        return self.identity(settle=False).project_id


def _project_name(project_id: str, project: RegisteredProject | None) -> str:
    return f"project {project_id}" + (f" ({project.root})" if project else "")
