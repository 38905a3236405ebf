"""What the questions about Retrieval Runs answer, each with its JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memcli.errors import Failure
from memcli.history.documents import (
    candidate_document,
    clear_document,
    diff_document,
    run_document,
    run_list_document,
    run_summary,
)
from memcli.history.runs import NamedRun, RunDetail, RunRecord, near_ids

if TYPE_CHECKING:
    from memcli.history.blobs import BlobStore
    from memcli.history.clearing import ClearSummary
    from memcli.history.diff import RunDiff
    from memcli.history.traces import RecordedCandidate

SUMMARY_SCHEMA = "memcli.runs.summary.v1"
CANDIDATE_SCHEMA = "memcli.runs.candidate.v1"
PIN_SCHEMA = "memcli.runs.pin.v1"
NEAR_KEYS = 3


@dataclass(frozen=True, slots=True)
class RunListing:
    """Runs, newest first. ``project_id`` is the present project's; ``None`` where all are listed.

    ``more`` says that the limit left older Runs out; ``damaged`` are Runs, of
    whatever project, that are not what was recorded.
    """

    runs: tuple[RunRecord, ...]
    project_id: str | None
    more: bool
    damaged: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """What ``runs list --json`` prints."""
        return run_list_document(self.runs, self.damaged)

    def line_documents(self) -> list[dict[str, Any]]:
        """What ``runs list --ndjson`` prints, one a line."""
        return [{"schema": SUMMARY_SCHEMA, **run_summary(run)} for run in self.runs]


@dataclass(frozen=True, slots=True)
class RunView:
    """One Run with its candidates and corpus; ``project_id`` is the present project's."""

    detail: RunDetail
    project_id: str
    blobs: BlobStore

    @property
    def run(self) -> RunRecord:
        return self.detail.run

    @property
    def other_project(self) -> str | None:
        """Name and root of the Run's project where that is not the present one."""
        run = self.run
        return None if run.project_id == self.project_id else project_text(run)

    def document(self) -> dict[str, Any]:
        """What ``runs show --json`` prints."""
        return run_document(self.detail)

    def candidate(self, asked: str) -> RecordedCandidate:
        """The candidate named by its key, its RRF place, or a beginning of one key only.

        Raises:
            Failure: ``candidate_not_found``, naming near keys.
        """
        candidates = self.detail.candidates
        for found in (
            [each for each in candidates if each.unit_key == asked],
            [each for each in candidates if str(each.rrf_rank) == asked],
            [each for each in candidates if asked and each.unit_key.startswith(asked)],
        ):
            if len(found) == 1:
                return found[0]
            if found:
                raise self._candidate_not_found(
                    f"several candidates begin with {asked!r}", [each.unit_key for each in found]
                )
        keys = [each.unit_key for each in candidates]
        near = [key for key in keys if asked and asked in key] or near_ids(asked, keys)
        raise self._candidate_not_found(f"this run has no candidate {asked!r}", near)

    def _candidate_not_found(self, message: str, near: list[str]) -> Failure:
        hint = f"`memcli runs show {self.run.run_id}` lists its {len(self.detail.candidates)}."
        if near:
            hint = f"Did you mean: {', '.join(near[:NEAR_KEYS])}?"
        return Failure("candidate_not_found", message, hint)

    def text_of(self, candidate: RecordedCandidate) -> str:
        """The whole text of a candidate, from the frozen corpus.

        Raises:
            Failure: ``store_damaged``.
        """
        from memcli.history.traces import candidate_text

        return candidate_text(self.blobs, candidate, self.detail.resources)

    def candidate_document(self, candidate: RecordedCandidate) -> dict[str, Any]:
        """What ``runs show --candidate KEY --json`` prints."""
        return {
            "schema": CANDIDATE_SCHEMA,
            "run_id": self.run.run_id,
            "query": self.run.query,
            "candidate": {
                **candidate_document(candidate),
                "rerank_truncated": candidate.rerank_truncated,
            },
            "text": self.text_of(candidate),
        }


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two Runs and what differs between them."""

    diff: RunDiff

    def document(self) -> dict[str, Any]:
        """What ``runs diff --json`` prints."""
        return diff_document(self.diff)


@dataclass(frozen=True, slots=True)
class PinChange:
    """A Run that is pinned by hand now, or is not any more."""

    run_id: str
    pinned: bool

    def document(self) -> dict[str, Any]:
        """What ``runs pin --json`` and ``runs unpin --json`` print."""
        return {"schema": PIN_SCHEMA, "run_id": self.run_id, "pinned": self.pinned}


@dataclass(frozen=True, slots=True)
class Deletion:
    """What was deleted, or would be. ``subject`` is its name for a person."""

    summary: ClearSummary
    subject: str

    @property
    def is_empty(self) -> bool:
        summary = self.summary
        return not (summary.runs or summary.cases or summary.blobs)

    def document(self) -> dict[str, Any]:
        """What ``clear``, ``runs delete`` and ``forget`` print with ``--json``."""
        document: Mapping[str, Any] = clear_document(self.summary)
        return dict(document)


def project_text(run: RunRecord | NamedRun) -> str:
    """A project by name and root, or by its id where the registry does not know it."""
    if run.project_name is None:
        return run.project_id
    return f"{run.project_name} ({run.project_root})"
