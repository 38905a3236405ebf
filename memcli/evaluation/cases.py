"""Reads Evaluation Cases: the list, one with all it froze, how a person names one; deletes one."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memcli.errors import Failure
from memcli.evaluation.frozen import SourceRun, canonical_manifest
from memcli.evaluation.matching import EvidenceItem, in_order
from memcli.evaluation.source_runs import read_source_run
from memcli.history.case_digests import (
    damaged_case,
    damaged_cases,
    require_whole_case,
)
from memcli.history.corpus import ManifestResource
from memcli.history.digests import lost_by_index, require_whole_run
from memcli.history.excerpts import excerpt_of
from memcli.history.runs import near_ids
from memcli.history.store import HistoryStore
from memcli.history.traces import RecordedCandidate, read_candidates
from memcli.sqlite_files import snapshot, transaction

DRAFT = "draft"
READY = "ready"
NEEDS_EVIDENCE = "needs_evidence"
STATUSES = (DRAFT, READY, NEEDS_EVIDENCE)
IDS_TO_COMPARE = 2000

SELECT_CASE = """
SELECT case_id, run_id, project_id, query, corpus_hash, status, version,
    (SELECT count(*) FROM evaluation_evidence AS item WHERE item.case_id = one.case_id)
        AS evidence_count,
    created_at, updated_at
FROM evaluation_cases AS one
"""
# Lists come from the table itself: an index that lost an entry would hide a Case.
LIST_CASES = f"""
{SELECT_CASE} NOT INDEXED
WHERE (:project_id IS NULL OR project_id = :project_id)
AND (:status IS NULL OR status = :status)
ORDER BY created_at, case_id
"""
BY_PREFIX = """
SELECT case_id, project_id FROM evaluation_cases
WHERE case_id >= :prefix AND case_id < :prefix || char(1114111) ORDER BY case_id LIMIT 20
"""
RECENT_IDS = "SELECT case_id FROM evaluation_cases ORDER BY created_at DESC LIMIT ?"
IS_THERE = "SELECT 1 FROM evaluation_cases NOT INDEXED WHERE case_id = ?"
IS_A_RUN = "SELECT 1 FROM retrieval_runs WHERE run_id = ?"
EVIDENCE = "SELECT resource_id, unit_key FROM evaluation_evidence WHERE case_id = ?"
FROZEN_MANIFEST = """
SELECT ordinal, resource_id, scope, kind, path, title, description, resource_hash, body_sha256
FROM evaluation_corpus_resources WHERE corpus_hash = ? ORDER BY ordinal
"""
EFFECTIVE_HASH = "SELECT effective_hash FROM evaluation_corpora WHERE corpus_hash = ?"
DELETE_CASE = (
    "DELETE FROM evaluation_evidence WHERE case_id = ?",
    "DELETE FROM evaluation_cases WHERE case_id = ?",
)
# The Run keeps a manifest of its own, and bodies stay for history's collector.
DELETE_CORPUS_OF_NO_CASE = (
    """
    DELETE FROM evaluation_corpus_resources
    WHERE corpus_hash = ?1 AND ?1 NOT IN (SELECT corpus_hash FROM evaluation_cases NOT INDEXED)
    """,
    """
    DELETE FROM evaluation_corpora
    WHERE corpus_hash = ?1 AND ?1 NOT IN (SELECT corpus_hash FROM evaluation_cases NOT INDEXED)
    """,
)


@dataclass(frozen=True, slots=True)
class Case:
    """One Evaluation Case as it is listed; ``version`` counts from 1, moments are UTC text."""

    case_id: str
    run_id: str
    project_id: str
    query: str
    corpus_hash: str
    status: str
    version: int
    evidence_count: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class ConfirmedEvidence:
    """One piece of evidence with where it stands and how it begins.

    ``excerpt`` comes from the trace for a unit and from the frozen body for a
    resource; ``None`` where that body cannot be read any more.
    """

    item: EvidenceItem
    path: str
    heading_path: tuple[str, ...]
    excerpt: str | None


@dataclass(frozen=True, slots=True)
class CaseDetail:
    """One Case with its source Run, the trace in RRF order, the frozen manifest, the evidence."""

    case: Case
    run: SourceRun
    candidates: tuple[RecordedCandidate, ...]
    resources: tuple[ManifestResource, ...]
    evidence: tuple[ConfirmedEvidence, ...]


def list_cases(
    store: HistoryStore, *, project_id: str | None, status: str | None = None
) -> list[Case]:
    """Cases, oldest first: of one project, or of all for ``None``.

    Raises:
        Failure: ``store_damaged``, ``store_too_new``.
    """
    with store.reading() as connection:
        if connection is None:
            return []
        rows = connection.execute(LIST_CASES, {"project_id": project_id, "status": status})
        return [Case(*row) for row in rows]


def list_damaged_cases(store: HistoryStore) -> list[str]:
    """Ids of Cases whose row or evidence is not what was confirmed, of whatever project."""
    with store.reading() as connection:
        if connection is None:
            return []
        # Of one moment: a Case that is being resolved is not damaged.
        with snapshot(connection):
            return damaged_cases(connection)


def next_unresolved(
    store: HistoryStore, *, project_id: str | None, skipping: Collection[str] = ()
) -> Case | None:
    """The oldest draft that is not in ``skipping``, or ``None``.

    A Case that ``needs_evidence`` was looked at and is not offered again.
    """
    drafts = list_cases(store, project_id=project_id, status=DRAFT)
    passed_over = {*skipping, *list_damaged_cases(store)}
    return next((case for case in drafts if case.case_id not in passed_over), None)


def get_case(store: HistoryStore, reference: str, *, project_id: str | None) -> CaseDetail:
    """The Case named by an id or a unique beginning of one, with all it froze.

    Raises:
        Failure: ``case_not_found``, naming near ids; ``store_damaged``, ``store_too_new``.
    """
    with store.reading() as connection:
        if connection is None:
            raise case_not_found(reference, "there are no cases yet")
        with snapshot(connection):
            case = find_case(connection, reference, project_id)
            require_whole_case(connection, case.case_id)
            run = read_source_run(connection, case.run_id)
            if run is None:
                raise damaged_case(case.case_id, "its source run is gone")
            require_whole_run(connection, case.run_id, None)
            candidates = read_candidates(connection, case.run_id)
            resources = read_frozen_manifest(connection, case.corpus_hash)
            if not is_frozen_corpus(connection, case.corpus_hash, resources):
                raise damaged_case(case.case_id, "its frozen manifest is not what was frozen")
            items = read_evidence(connection, case.case_id)
    evidence = tuple(_confirmed(store, item, candidates, resources) for item in items)
    return CaseDetail(case, run, candidates, resources, evidence)


def delete_case(store: HistoryStore, reference: str, *, project_id: str | None) -> Case:
    """Delete a Case and its evidence; its Run is pinned no longer, unless it was by hand.

    Raises:
        Failure: ``case_not_found``. Conflict: ``busy``.
    """
    require_case(store, reference, project_id)
    with store.writing() as connection:
        # A query or a resource id may be the very secret that is to go.
        connection.execute("PRAGMA secure_delete = ON")
        with transaction(connection):
            case = find_case(connection, reference, project_id)
            for statement in DELETE_CASE:
                connection.execute(statement, (case.case_id,))
            for statement in DELETE_CORPUS_OF_NO_CASE:
                connection.execute(statement, (case.corpus_hash,))
    return case


def require_case(store: HistoryStore, reference: str, project_id: str | None) -> Case:
    """The Case without what it froze, before anything is written (or a store created).

    Raises:
        Failure: ``case_not_found``.
    """
    with store.reading() as connection:
        if connection is None:
            raise case_not_found(reference, "there are no cases yet")
        return find_case(connection, reference, project_id)


def find_case(connection: sqlite3.Connection, reference: str, project_id: str | None) -> Case:
    """The Case for ``reference``; a beginning that fits one Case of this project goes first.

    Raises:
        Failure: ``case_not_found``.
    """
    prefix = reference.strip().lower()
    found = connection.execute(BY_PREFIX, {"prefix": prefix}).fetchall() if prefix else []
    for candidates in (
        [case_id for case_id, _ in found if case_id == prefix],
        [case_id for case_id, project in found if project == project_id],
        [case_id for case_id, _ in found],
    ):
        if len(candidates) == 1:
            row = connection.execute(f"{SELECT_CASE} WHERE case_id = ?", candidates).fetchone()
            return Case(*row)
        if candidates:
            raise case_not_found(reference, f"several cases begin so: {', '.join(candidates)}")
    if connection.execute(IS_THERE, (prefix,)).fetchone():
        raise lost_by_index(f"case {prefix}")
    if connection.execute(IS_A_RUN, (prefix,)).fetchone():
        raise case_not_found(reference, f"but a run is: `memcli case create {prefix}`")
    recent = [row[0] for row in connection.execute(RECENT_IDS, (IDS_TO_COMPARE,))]
    near = near_ids(prefix, recent)
    raise case_not_found(reference, f"did you mean {' or '.join(near)}?" if near else "")


def case_not_found(reference: str, more: str) -> Failure:
    message = f"no case is named {reference!r}" + (f"; {more}" if more else "")
    return Failure("case_not_found", message, "`memcli case list` lists the cases.")


def read_evidence(connection: sqlite3.Connection, case_id: str) -> tuple[EvidenceItem, ...]:
    """The evidence of a Case in its one order."""
    return in_order(EvidenceItem(*row) for row in connection.execute(EVIDENCE, (case_id,)))


def read_frozen_manifest(
    connection: sqlite3.Connection, corpus_hash: str
) -> tuple[ManifestResource, ...]:
    """The frozen resources in corpus order."""
    rows = connection.execute(FROZEN_MANIFEST, (corpus_hash,))
    return tuple(ManifestResource(*row) for row in rows)


def is_frozen_corpus(
    connection: sqlite3.Connection, corpus_hash: str, resources: Sequence[ManifestResource]
) -> bool:
    """Whether the corpus is there and these rows are what its hash names."""
    row = connection.execute(EFFECTIVE_HASH, (corpus_hash,)).fetchone()
    return row is not None and (
        hashlib.sha256(canonical_manifest(resources)).hexdigest() == corpus_hash
    )


def _confirmed(
    store: HistoryStore,
    item: EvidenceItem,
    candidates: tuple[RecordedCandidate, ...],
    resources: tuple[ManifestResource, ...],
) -> ConfirmedEvidence:
    if item.unit_key is not None:
        for candidate in candidates:
            if candidate.unit_key == item.unit_key:
                return ConfirmedEvidence(
                    item, candidate.path, candidate.heading_path, candidate.excerpt
                )
    for resource in resources:
        if resource.resource_id == item.resource_id:
            excerpt = None if item.unit_key else _preview(store, resource)
            return ConfirmedEvidence(item, resource.path, (), excerpt)
    return ConfirmedEvidence(item, item.resource_id, (), None)


def _preview(store: HistoryStore, resource: ManifestResource) -> str | None:
    try:
        body = store.blobs.read(resource.body_sha256).decode("utf-8")
    except (Failure, UnicodeDecodeError):
        # A report names a damaged body; showing the Case must not fail for it.
        return None
    return excerpt_of(body if body.strip() else resource.description)
