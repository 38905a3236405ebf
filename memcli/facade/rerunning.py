"""Ask frozen Cases again under the present models and settings, apart from index and history."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memcli.evaluation.csv_report import csv_report
from memcli.evaluation.fixture_reader import read_fixture
from memcli.evaluation.frozen import EvaluationSet, is_loss
from memcli.evaluation.gate import Rule, gate_document, judge
from memcli.evaluation.report import report_document
from memcli.evaluation.rerun import RerunPlan, rerun_document
from memcli.evaluation.stored_set import stored_set
from memcli.facade.case_views import CaseSource, ReportView
from memcli.index.seeding import seed_index
from memcli.index.storage import IndexStorage
from memcli.models.loaded_model import never

if TYPE_CHECKING:
    from memcli.facade.workspace import Memcli, Progress


@dataclass(frozen=True, slots=True)
class RerunView:
    """The document of a rerun; ``named`` as in ``ReportView``."""

    document: Mapping[str, Any]
    named: bool = False

    def csv_bytes(self) -> bytes:
        """The scores of the rerun in the columns of a report."""
        return csv_report(self.document)

    @staticmethod
    def write(path: Path, data: bytes) -> None:
        """As ``ReportView.write``."""
        ReportView.write(path, data)

    def raise_losses(self) -> None:
        """Raise ``NotReady`` ``case_not_ready`` where a Case is missing that should not be."""
        ReportView(self.document, self.named).raise_losses()


def rerun(memcli: Memcli, source: CaseSource, rounds: int, progress: Progress) -> RerunView:
    """See ``Memcli.rerun_evaluation_set``."""
    with _opened(memcli, source) as cases:
        return RerunView(_rerun(memcli, cases, rounds, progress), source.references is not None)


def gate(
    memcli: Memcli,
    source: CaseSource,
    rules: Sequence[Rule],
    recorded: bool,
    rounds: int,
    progress: Progress,
) -> dict[str, Any]:
    """See ``Memcli.gate_evaluation_set``."""
    with _opened(memcli, source) as cases:
        document = report_document(cases) if recorded else _rerun(memcli, cases, rounds, progress)
    lost = [
        each["case_id"]
        for each in document["excluded"]
        if source.references is not None or is_loss(each["status"], each["reason"])
    ]
    return gate_document(document, judge(document, rules), lost)


def _rerun(
    memcli: Memcli, cases: EvaluationSet, rounds: int, progress: Callable[[str, int, int], None]
) -> dict[str, Any]:
    around = memcli.surroundings
    embedder = memcli.shelf.configured_embedder()
    with tempfile.TemporaryDirectory(prefix="memcli-rerun-") as folder:
        if memcli.storage.database.exists():
            seed_index(IndexStorage(Path(folder)), memcli.storage)
        return rerun_document(
            cases,
            RerunPlan(
                folder=Path(folder),
                embedder=embedder,
                reranker=memcli.shelf.reranker_for(embedder, never),
                limits=memcli.configuration.limits,
                rounds=rounds,
                now=around.now,
                clock=around.clock,
                progress=progress,
            ),
        )


@contextmanager
def _opened(memcli: Memcli, source: CaseSource) -> Iterator[EvaluationSet]:
    if source.fixture is not None:
        yield read_fixture(source.fixture)
        return
    project_id = None if source.all_projects else memcli.identity(settle=False).project_id
    with stored_set(memcli.history, project_id=project_id, references=source.references) as cases:
        yield cases
