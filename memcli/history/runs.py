"""Reads Retrieval Runs: the list, one with all it holds, and how a person names one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memcli.errors import Failure
from memcli.history.clocks import stamp
from memcli.history.corpus import ManifestResource, read_manifest
from memcli.history.digests import (
    RUN_COLUMNS,
    digest_of,
    lost_by_index,
    require_whole_run,
    run_row_digests,
)
from memcli.history.interruption import (
    INTERRUPTED_CODE,
    INTERRUPTED_STAGE,
    INTERRUPTED_SUMMARY,
    interrupted_runs,
)
from memcli.history.store import HistoryStore
from memcli.history.traces import RecordedCandidate, read_candidates
from memcli.retrieval.activation import Counts
from memcli.sqlite_files import snapshot

STATUSES = ("running", "succeeded", "failed")
NEAR_IDS = 3
IDS_TO_COMPARE = 2000

# Lists and links come from the tables themselves: an index that lost an entry would hide a
# Run, or its Case. The limit keeps SQLite from looking a link up after all.
SELECT_RUN = """
SELECT run.*, projects.name AS project_name, projects.root AS project_root,
    link.case_id, link.status AS case_status, link.version AS case_version
FROM retrieval_runs AS run {}
LEFT JOIN projects ON projects.project_id = run.project_id
LEFT JOIN (
    SELECT case_id, run_id, status, version FROM evaluation_cases NOT INDEXED LIMIT -1
) AS link ON link.run_id = run.run_id
"""
# A running Run may turn out to be interrupted, so statuses are compared after reading.
LIST_RUNS = f"""
{SELECT_RUN.format("NOT INDEXED")}
WHERE (:project_id IS NULL OR run.project_id = :project_id)
AND (:since IS NULL OR run.created_at >= :since)
AND (:status IS NULL OR run.status IN (:status, 'running'))
ORDER BY run.created_at DESC, run.rowid DESC
"""
ONE_RUN = f"{SELECT_RUN.format('')} WHERE run.run_id = ?"
LAST_RUN = """
SELECT run_id FROM retrieval_runs NOT INDEXED WHERE project_id = ?
ORDER BY created_at DESC, rowid DESC LIMIT 1
"""
BY_PREFIX = """
SELECT run_id FROM retrieval_runs
WHERE run_id >= :prefix AND run_id < :prefix || char(1114111)
AND (:project_id IS NULL OR project_id = :project_id) ORDER BY run_id LIMIT 20
"""
IS_THERE = "SELECT 1 FROM retrieval_runs NOT INDEXED WHERE run_id = ?"
RECENT_IDS = "SELECT run_id FROM retrieval_runs ORDER BY created_at DESC LIMIT ?"


@dataclass(frozen=True, slots=True)
class RunError:
    """How a Run failed: the stage, a stable code, a summary of at most 500 characters."""

    stage: str
    code: str
    summary: str


@dataclass(frozen=True, slots=True)
class CaseLink:
    """The one Evaluation Case that was made of a Run."""

    case_id: str
    status: str
    version: int


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One Run without its candidates and corpus.

    ``created_at`` and ``completed_at`` are UTC text; the latter is ``None``
    while it runs and when it was interrupted. ``pinned`` is true for a Run
    pinned by hand or by its Case. ``project_name`` and ``project_root`` are
    ``None`` for a project the registry does not know.
    """

    run_id: str
    project_id: str
    project_name: str | None
    project_root: str | None
    query: str
    status: str
    chain: str
    created_at: str
    completed_at: str | None
    revision_id: str | None
    effective_hash: str | None
    recipe: Mapping[str, Any] | None
    models: Mapping[str, Any] | None
    counts: Counts | None
    limits: Mapping[str, Any] | None
    timings_us: Mapping[str, int] | None
    lexical_terms: tuple[str, ...]
    lexical_skipped: tuple[str, ...]
    removed: tuple[str, ...]
    notices: tuple[Mapping[str, str], ...]
    state_fingerprint: str | None
    error: RunError | None
    pinned: bool
    case: CaseLink | None


@dataclass(frozen=True, slots=True)
class NamedRun:
    """As much of a Run as it takes to say which one it is; not verified."""

    run_id: str
    project_id: str
    project_name: str | None
    project_root: str | None
    query: str


@dataclass(frozen=True, slots=True)
class RunDetail:
    """One Run with its candidates in RRF order and the manifest of what it searched.

    ``corpus_is_complete`` says whether every resource of the revision is there,
    as an Evaluation Case needs it.
    """

    run: RunRecord
    candidates: tuple[RecordedCandidate, ...]
    resources: tuple[ManifestResource, ...]

    @property
    def corpus_is_complete(self) -> bool:
        if self.run.status != "succeeded" or self.run.counts is None:
            return False
        return self.run.counts.resources == len(self.resources)


def list_runs(
    store: HistoryStore,
    *,
    project_id: str | None,
    status: str | None = None,
    since: datetime | None = None,
    limit: int | None = None,
) -> list[RunRecord]:
    """Runs, newest first: of one project, or of all for ``None``.

    Those that are not what was recorded are left out; ``list_damaged_runs`` names them.

    Raises:
        Failure: ``store_damaged``, ``store_too_new``.
    """
    conditions = {
        "project_id": project_id,
        "status": status,
        "since": stamp(since) if since else None,
    }
    runs: list[RunRecord] = []
    with _reading_runs(store) as (connection, interrupted):
        if connection is None or limit == 0:
            return runs
        digests = run_row_digests(connection)
        for row in connection.execute(LIST_RUNS, conditions):
            kept = digests.get(row["run_id"])
            if kept is not None and kept != digest_of([[row[name] for name in RUN_COLUMNS]]):
                continue  # damaged_runs names it
            run = _record(row, interrupted)
            if status in (None, run.status):
                runs.append(run)
                if len(runs) == limit:
                    break
    return runs


def get_run(store: HistoryStore, reference: str, *, project_id: str) -> RunDetail:
    """The Run named by an id, a unique beginning of one, or ``last`` (this project's newest).

    A Run of another project is found too; its ``project_id`` tells.

    Raises:
        Failure: ``run_not_found``, naming near ids; ``store_damaged``, also where
            the Run alone is not what was recorded; ``store_too_new``.
    """
    with _reading_runs(store) as (connection, interrupted):
        if connection is None:
            raise run_not_found(reference, "there are no runs yet")
        run_id = find_run(connection, reference, project_id)
        row = connection.execute(ONE_RUN, (run_id,)).fetchone()
        require_whole_run(connection, run_id, row["effective_hash"])
        run = _record(row, interrupted)
        resources: tuple[ManifestResource, ...] = ()
        if run.status == "succeeded" and run.effective_hash is not None:
            resources = read_manifest(connection, run.effective_hash)
        return RunDetail(run, read_candidates(connection, run_id), resources)


def name_run(store: HistoryStore, reference: str, *, project_id: str) -> NamedRun:
    """Which Run :func:`get_run` would read, damaged or not; raises as it does otherwise."""
    with store.reading() as connection:
        if connection is None:
            raise run_not_found(reference, "there are no runs yet")
        with snapshot(connection):
            run_id = find_run(connection, reference, project_id)
            row = connection.execute(ONE_RUN, (run_id,)).fetchone()
            return NamedRun(
                run_id, str(row["project_id"]), row["project_name"], _root(row), str(row["query"])
            )


def find_run(connection: sqlite3.Connection, reference: str, project_id: str) -> str:
    """The full id for ``reference``; a beginning that fits one Run of this project goes first.

    Raises:
        Failure: ``run_not_found``.
    """
    if reference == "last":
        row = connection.execute(LAST_RUN, (project_id,)).fetchone()
        if row is None:
            raise run_not_found(reference, "this project has no runs yet")
        return str(row[0])
    prefix = reference.strip().lower()
    if connection.execute("SELECT 1 FROM retrieval_runs WHERE run_id = ?", (prefix,)).fetchone():
        return prefix
    for project in (project_id, None) if prefix else ():
        named = {"prefix": prefix, "project_id": project}
        candidates = [str(row[0]) for row in connection.execute(BY_PREFIX, named)]
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            raise run_not_found(reference, f"several runs begin so: {', '.join(candidates)}")
    if connection.execute(IS_THERE, (prefix,)).fetchone():
        raise lost_by_index(f"run {prefix}")
    recent = [row[0] for row in connection.execute(RECENT_IDS, (IDS_TO_COMPARE,))]
    near = near_ids(prefix, recent)
    raise run_not_found(reference, f"did you mean {' or '.join(near)}?" if near else "")


def near_ids(reference: str, known: list[str]) -> list[str]:
    """Up to three known ids that resemble ``reference``, compared over its own length."""
    from difflib import SequenceMatcher

    if len(reference) < 2:
        return []
    likeness = [
        (SequenceMatcher(None, reference, known_id[: len(reference)]).ratio(), known_id)
        for known_id in known
    ]
    near = sorted((pair for pair in likeness if pair[0] >= 0.6), key=lambda pair: -pair[0])
    return [known_id for _, known_id in near[:NEAR_IDS]]


@contextmanager
def _reading_runs(
    store: HistoryStore,
) -> Iterator[tuple[sqlite3.Connection | None, frozenset[str]]]:
    """A snapshot of the store, and which of its ``running`` Runs are really interrupted."""
    with store.reading() as connection:
        if connection is None:
            yield None, frozenset()
            return
        interrupted = interrupted_runs(connection, store.now())
        with snapshot(connection):
            yield connection, interrupted


def run_not_found(reference: str, more: str) -> Failure:
    """``run_not_found`` for what a person typed, with whatever helps to find the right one."""
    message = f"no run is named {reference!r}" + (f"; {more}" if more else "")
    return Failure("run_not_found", message, "`memcli runs list --all-projects` lists all runs.")


def _record(row: sqlite3.Row, interrupted: frozenset[str]) -> RunRecord:
    status = str(row["status"])
    error = None
    if status == "running" and row["run_id"] in interrupted:
        status = "failed"
        error = RunError(INTERRUPTED_STAGE, INTERRUPTED_CODE, INTERRUPTED_SUMMARY)
    elif row["error_code"] is not None:
        error = RunError(row["error_stage"], row["error_code"], row["error_summary"])
    case = None
    if row["case_id"] is not None:
        case = CaseLink(row["case_id"], row["case_status"], row["case_version"])
    lexical = _parsed(row["lexical"]) or {}
    return RunRecord(
        run_id=row["run_id"],
        project_id=row["project_id"],
        project_name=row["project_name"],
        project_root=_root(row),
        query=row["query"],
        status=status,
        chain=row["chain"],
        created_at=row["created_at"],
        completed_at=row["completed_at"],
        revision_id=row["revision_id"],
        effective_hash=row["effective_hash"],
        recipe=_parsed(row["recipe"]),
        models=_parsed(row["models"]),
        counts=_counts(row),
        limits=_parsed(row["limits"]),
        timings_us=_parsed(row["timings_us"]),
        lexical_terms=tuple(lexical.get("terms", ())),
        lexical_skipped=tuple(lexical.get("skipped", ())),
        removed=tuple(_parsed(row["removed"]) or ()),
        notices=tuple(_parsed(row["notices"]) or ()),
        state_fingerprint=row["state_fingerprint"],
        error=error,
        pinned=bool(row["pinned"]) or case is not None,
        case=case,
    )


def _root(row: sqlite3.Row) -> str | None:
    root = row["project_root"] or None
    return root.decode("utf-8", "replace") if isinstance(root, bytes) else root


def _counts(row: sqlite3.Row) -> Counts | None:
    if row["resource_count"] is None:
        return None
    return Counts(
        resources=row["resource_count"],
        units=row["unit_count"],
        candidates=row["candidate_count"],
        reranked=row["reranked_count"],
        fragments=row["fragment_count"],
        tokens=row["token_count"],
    )


def _parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)
