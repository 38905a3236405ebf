"""The JSON documents of Runs. Their names are part of the interface (design, section 11)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields
from typing import Any

from memcli.history.clearing import ClearSummary
from memcli.history.corpus import ManifestResource
from memcli.history.diff import CandidateDifference, Difference, RunDiff
from memcli.history.runs import RunDetail, RunRecord
from memcli.history.traces import RecordedCandidate

RUN_LIST_SCHEMA = "memcli.runs.list.v1"
RUN_SCHEMA = "memcli.runs.show.v1"
DIFF_SCHEMA = "memcli.runs.diff.v1"
CLEAR_SCHEMA = "memcli.clear.v1"

CANDIDATE_NAMES = tuple(
    field.name for field in fields(RecordedCandidate) if field.name != "rerank_truncated"
)


def run_list_document(runs: Iterable[RunRecord], damaged: Iterable[str] = ()) -> dict[str, Any]:
    """``runs list --json``; with ``--ndjson`` each line is one :func:`run_summary`."""
    return {
        "schema": RUN_LIST_SCHEMA,
        "runs": [run_summary(run) for run in runs],
        "damaged": list(damaged),
    }


def run_summary(run: RunRecord) -> dict[str, Any]:
    """One Run of the list: what it was and how it ended, under the names of ``runs show``."""
    document = run_fields(run)
    for name in ("recipe", "models", "limits"):
        del document[name]
    return {**document, "case": case_document(run)}


def run_document(detail: RunDetail) -> dict[str, Any]:
    """``runs show --json``."""
    return {
        "schema": RUN_SCHEMA,
        "run": run_fields(detail.run),
        "case": case_document(detail.run),
        "candidates": [candidate_document(candidate) for candidate in detail.candidates],
        "resources": [resource_document(resource) for resource in detail.resources],
    }


def run_fields(run: RunRecord) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "project_id": run.project_id,
        "query": run.query,
        "status": run.status,
        "created_at": run.created_at,
        "completed_at": run.completed_at,
        "revision_id": run.revision_id,
        "effective_hash": run.effective_hash,
        "chain": run.chain,
        "recipe": run.recipe,
        "models": run.models,
        "counts": asdict(run.counts) if run.counts else None,
        "limits": run.limits,
        "timings_us": run.timings_us,
        "error": asdict(run.error) if run.error else None,
        "pinned": run.pinned,
    }


def case_document(run: RunRecord) -> dict[str, Any] | None:
    return asdict(run.case) if run.case else None


def candidate_document(candidate: RecordedCandidate) -> dict[str, Any]:
    document = {name: getattr(candidate, name) for name in CANDIDATE_NAMES}
    document["heading_path"] = list(candidate.heading_path)
    document["locator"] = asdict(candidate.locator)
    return document


def resource_document(resource: ManifestResource) -> dict[str, Any]:
    return asdict(resource)


def diff_document(diff: RunDiff) -> dict[str, Any]:
    """``runs diff --json``."""
    return {
        "schema": DIFF_SCHEMA,
        "a": _side(diff.a.run),
        "b": _side(diff.b.run),
        "same_query": diff.same_query,
        "index": _pairs(diff.index),
        "models": _pairs(diff.models),
        "limits": _pairs(diff.limits),
        "memory": {
            "known": diff.memory.known,
            "added": list(diff.memory.added),
            "removed": list(diff.memory.removed),
            "changed": list(diff.memory.changed),
        },
        "candidates": [_candidate_difference(candidate) for candidate in diff.candidates],
    }


def clear_document(summary: ClearSummary) -> dict[str, Any]:
    """``clear --json``, ``runs delete --json`` and ``forget --json``; no project means all."""
    return {"schema": CLEAR_SCHEMA, **asdict(summary), "backups": list(summary.backups)}


def _side(run: RunRecord) -> dict[str, Any]:
    names = ("run_id", "project_id", "query", "status", "created_at")
    return {name: getattr(run, name) for name in names}


def _pairs(differences: Iterable[Difference]) -> dict[str, dict[str, Any]]:
    return {difference.name: {"a": difference.a, "b": difference.b} for difference in differences}


def _candidate_difference(candidate: CandidateDifference) -> dict[str, Any]:
    reason = candidate.exclusion_reason
    return {
        "unit_key": candidate.unit_key,
        "path": candidate.path,
        "heading_path": list(candidate.heading_path),
        "presence": candidate.presence,
        "content_changed": candidate.content_changed,
        "ranks": _pairs(candidate.ranks),
        "exclusion_reason": {"a": reason.a, "b": reason.b} if reason else None,
    }
