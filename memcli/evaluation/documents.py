"""The JSON documents of Cases. Their names are part of the interface (design, section 11)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from memcli.evaluation.cases import Case, CaseDetail, ConfirmedEvidence
from memcli.evaluation.corpus_search import FrozenSearch
from memcli.evaluation.creation import Creation
from memcli.evaluation.fixture import run_document, trace_document
from memcli.evaluation.rankings import labelling_order, suggestions
from memcli.history.documents import resource_document

CASE_SCHEMA = "memcli.case.v1"
CASE_LIST_SCHEMA = "memcli.case.list.v1"
CASE_CREATE_SCHEMA = "memcli.case.create.v1"
CASE_SHOW_SCHEMA = "memcli.case.show.v1"
CASE_SEARCH_SCHEMA = "memcli.case.search.v1"


def case_document(case: Case) -> dict[str, Any]:
    """``case resolve --json``."""
    return {"schema": CASE_SCHEMA, "case": asdict(case)}


def case_list_document(cases: Iterable[Case], damaged: Iterable[str] = ()) -> dict[str, Any]:
    """``case list --json``, oldest first."""
    return {
        "schema": CASE_LIST_SCHEMA,
        "cases": [asdict(case) for case in cases],
        "damaged": list(damaged),
    }


def case_create_document(made: Iterable[Creation]) -> dict[str, Any]:
    """``case create --json``: one entry a Run, refused ones too."""
    return {
        "schema": CASE_CREATE_SCHEMA,
        "created": [
            {
                "reference": one.reference,
                "case": asdict(one.case) if one.case else None,
                "is_new": one.is_new,
                "refusal": (
                    {"code": one.refusal.code, "message": one.refusal.message}
                    if one.refusal
                    else None
                ),
            }
            for one in made
        ],
    }


def case_show_document(detail: CaseDetail) -> dict[str, Any]:
    """``case show --json``; ``rank`` is what ``rank:N`` means, ``suggested`` comes first."""
    suggested = {one.unit_key for one in suggestions(detail.candidates)}
    return {
        "schema": CASE_SHOW_SCHEMA,
        "case": asdict(detail.case),
        "evidence": [evidence_document(one) for one in detail.evidence],
        "run": run_document(detail.run),
        "candidates": [
            {
                "rank": rank,
                "suggested": candidate.unit_key in suggested,
                **trace_document(candidate),
            }
            for rank, candidate in enumerate(labelling_order(detail.candidates), 1)
        ],
        "resources": [resource_document(resource) for resource in detail.resources],
    }


def evidence_document(evidence: ConfirmedEvidence) -> dict[str, Any]:
    return {
        "resource_id": evidence.item.resource_id,
        "unit_key": evidence.item.unit_key,
        "path": evidence.path,
        "heading_path": list(evidence.heading_path),
        "excerpt": evidence.excerpt,
    }


def case_search_document(search: FrozenSearch) -> dict[str, Any]:
    """A search of the frozen corpus of a Case."""
    return {
        "schema": CASE_SEARCH_SCHEMA,
        "total": search.total,
        "unreadable": list(search.unreadable),
        "hits": [
            {
                "resource_id": hit.resource.resource_id,
                "path": hit.resource.path,
                "title": hit.resource.title,
                "words": hit.words,
                "body_line": hit.body_line,
                "excerpt": hit.excerpt,
                "unit_keys": list(hit.unit_keys),
            }
            for hit in search.hits
        ],
    }
