"""Replaces the evidence of a Case by compare-and-swap: what is stored is what the version says."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from memcli.errors import Conflict, InvalidInput, clipped, shown
from memcli.evaluation.cases import (
    NEEDS_EVIDENCE,
    READY,
    Case,
    find_case,
    read_frozen_manifest,
    require_case,
)
from memcli.evaluation.evidence import INVALID_RESOLUTION, Named, evidence_invalid, named_items
from memcli.evaluation.matching import EvidenceItem
from memcli.history.case_digests import require_whole_case, seal_case
from memcli.history.clocks import stamp
from memcli.history.store import HistoryStore
from memcli.history.traces import RecordedCandidate, read_candidates
from memcli.sqlite_files import transaction

DELETE_EVIDENCE = "DELETE FROM evaluation_evidence WHERE case_id = ?"
INSERT_EVIDENCE = """
INSERT INTO evaluation_evidence (case_id, resource_id, unit_key) VALUES (?, ?, ?)
"""
SET_STATUS = """
UPDATE evaluation_cases SET status = ?, version = version + 1, updated_at = ? WHERE case_id = ?
"""


def resolve_case(
    store: HistoryStore,
    reference: str,
    *,
    project_id: str | None,
    expected_version: int,
    evidence: Sequence[Named] = (),
    none_matched: bool = False,
) -> Case:
    """Replace all evidence (``ready``), or say that none matched (``needs_evidence``).

    ``evidence`` holds items or their spellings. Every success adds 1 to the
    version; anything that is refused changes nothing.

    Raises:
        InvalidInput: ``invalid_resolution``, for both forms at once, or neither.
        Failure: ``case_not_found``; ``evidence_invalid``, naming what is
            unknown, of another Run or corpus, or given twice.
        Conflict: ``evaluation_case_conflict``, with the current version, when
            it is not ``expected_version``; ``busy``.
    """
    if bool(evidence) == none_matched:
        what = "evidence and none_matched exclude each other" if none_matched else "no evidence"
        raise InvalidInput(
            INVALID_RESOLUTION,
            f"{what}: give a non-empty list of evidence, or say that none matched",
            "Either --evidence (repeatable) or --none-matched.",
        )
    require_case(store, reference, project_id)
    with store.writing() as connection, transaction(connection):
        case = find_case(connection, reference, project_id)
        if case.version != expected_version:
            raise _conflict(case, expected_version)
        require_whole_case(connection, case.case_id)
        items = _checked_items(connection, case, evidence)
        connection.execute(DELETE_EVIDENCE, (case.case_id,))
        connection.executemany(
            INSERT_EVIDENCE, ((case.case_id, item.resource_id, item.unit_key) for item in items)
        )
        status = READY if items else NEEDS_EVIDENCE
        connection.execute(SET_STATUS, (status, stamp(store.now()), case.case_id))
        seal_case(connection, case.case_id)
        return find_case(connection, case.case_id, project_id)


def _checked_items(
    connection: sqlite3.Connection, case: Case, evidence: Sequence[Named]
) -> list[EvidenceItem]:
    if not evidence:
        return []
    candidates = read_candidates(connection, case.run_id)
    items = named_items(candidates, evidence)
    manifest = read_frozen_manifest(connection, case.corpus_hash)
    frozen = {resource.resource_id for resource in manifest}
    if faults := _faults(items, candidates, frozen):
        raise evidence_invalid(faults)
    return items


def _faults(
    items: Sequence[EvidenceItem], candidates: Sequence[RecordedCandidate], frozen: set[str]
) -> list[str]:
    resource_of = {one.unit_key: one.resource_id for one in candidates}
    seen: set[EvidenceItem] = set()
    faults = []
    for item in items:
        name = clipped(item.spelling)
        if item in seen:
            faults.append(f"{name} is given twice")
        elif item.unit_key is None:
            if item.resource_id not in frozen:
                faults.append(f"{name} is not in the frozen corpus")
        elif item.unit_key not in resource_of:
            faults.append(f"{name} is no candidate of the run")
        elif resource_of[item.unit_key] != item.resource_id:
            owner = resource_of[item.unit_key]
            faults.append(f"{name} is of {owner!r}, not of {shown(item.resource_id)}")
        seen.add(item)
    return faults


def _conflict(case: Case, expected_version: int) -> Conflict:
    return Conflict(
        "evaluation_case_conflict",
        f"case {case.case_id} is at version {case.version}, not {expected_version}; "
        "nothing was changed",
        f"See what it holds now with `memcli case show {case.case_id}`, then resolve again "
        f"with --expected-version {case.version}.",
    )
