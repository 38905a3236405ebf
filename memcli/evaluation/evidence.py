"""How a caller names evidence: ``unit:KEY``, ``resource:ID``, ``rank:N``, or JSON on stdin."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memcli.errors import Failure, InvalidInput, clipped, shown
from memcli.evaluation.matching import EvidenceItem
from memcli.evaluation.rankings import labelling_order
from memcli.history.traces import RecordedCandidate

SURROGATE = re.compile("[\ud800-\udfff]")
INVALID_RESOLUTION = "invalid_resolution"
MOST_NAMED = 10
LONGEST_NUMBER = 100
HOW_TO_SPELL = "Name evidence as unit:KEY, resource:ID or rank:N."
HOW_TO_RESOLVE = (
    'Give {"expected_version": N, "evidence": [{"resource_id": "...", "unit_key": "..."}]} '
    'or {"expected_version": N, "none_matched": true}.'
)

Named = EvidenceItem | str
"""An item, or a spelling of one that :func:`named_items` turns into it."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What ``case resolve`` is asked to do; ``evidence`` may hold spellings still."""

    expected_version: int
    evidence: tuple[Named, ...]
    none_matched: bool


def named_items(
    candidates: Sequence[RecordedCandidate], evidence: Sequence[Named]
) -> list[EvidenceItem]:
    """The items that ``evidence`` names; ``rank:N`` counts in the labelling order, from 1.

    Raises:
        InvalidInput: ``invalid_resolution``, for a spelling of no known form.
        Failure: ``evidence_invalid``, naming every unit and rank the trace does not have.
    """
    resource_of = {one.unit_key: one.resource_id for one in candidates}
    order = labelling_order(candidates)
    items: list[EvidenceItem] = []
    unknown: list[str] = []
    for named in evidence:
        if isinstance(named, EvidenceItem):
            items.append(named)
            continue
        form, _, value = named.partition(":")
        if not value or form not in ("unit", "resource", "rank"):
            raise InvalidInput(
                INVALID_RESOLUTION, f"{shown(named)} names no evidence", HOW_TO_SPELL
            )
        if form == "resource":
            items.append(EvidenceItem(value))
        elif form == "unit":
            if value in resource_of:
                items.append(EvidenceItem(resource_of[value], value))
            else:
                unknown.append(f"{clipped(named)} is no candidate of the run")
        else:
            place = _place(named, value)
            if place <= len(order):
                candidate = order[place - 1]
                items.append(EvidenceItem(candidate.resource_id, candidate.unit_key))
            else:
                unknown.append(f"{named} is past the last of {len(order)} candidates")
    if unknown:
        raise evidence_invalid(unknown)
    return items


def evidence_invalid(faults: Sequence[str]) -> Failure:
    """The error for evidence that is unknown, foreign or given twice; one phrase a fault."""
    further = len(faults) - MOST_NAMED
    return Failure(
        "evidence_invalid",
        "; ".join(faults[:MOST_NAMED]) + (f"; and {further} more" if further > 0 else ""),
        "`memcli case show` lists the candidates and resources that can be evidence.",
    )


def parse_resolution(data: bytes) -> Resolution:
    """Read ``{"expected_version", "evidence", "none_matched"}``, with no other name and no repeats.

    ``evidence`` is a list of ``{"resource_id", "unit_key"}`` objects, the key
    ``null`` or left out for a whole resource, or of spellings. It may be left
    out beside ``none_matched``, which is ``false`` when left out.

    Raises:
        InvalidInput: ``invalid_resolution``, saying what is wrong.
    """
    try:
        document = json.loads(data, object_pairs_hook=_without_repeats, parse_int=_whole)
    except RecursionError as error:
        raise _malformed("the resolution is not JSON: it is nested too deeply") from error
    except ValueError as error:
        raise _malformed(f"the resolution is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise _malformed("the resolution is no JSON object")
    _only(document, ("expected_version", "evidence", "none_matched"), "the resolution")
    version = document.get("expected_version")
    if type(version) is not int or version < 1:
        raise _malformed("expected_version must be a whole number from 1")
    none_matched = document.get("none_matched", False)
    if type(none_matched) is not bool:
        raise _malformed("none_matched must be true or false")
    evidence = document.get("evidence", [])
    if not isinstance(evidence, list):
        raise _malformed("evidence must be a list")
    items = tuple(_item(item, f"evidence[{at}]") for at, item in enumerate(evidence))
    return Resolution(version, items, none_matched)


def _item(value: Any, where: str) -> Named:
    if isinstance(value, str):
        return _storable(value, where)
    if not isinstance(value, dict):
        raise _malformed(f"{where} must be an object or a spelling such as unit:KEY")
    _only(value, ("resource_id", "unit_key"), where)
    resource_id, unit_key = value.get("resource_id"), value.get("unit_key")
    if not isinstance(resource_id, str) or not resource_id:
        raise _malformed(f"{where}.resource_id must be a text")
    if unit_key is not None and (not isinstance(unit_key, str) or not unit_key):
        raise _malformed(f"{where}.unit_key must be a text or null")
    _storable(f"{resource_id}{unit_key}", where)
    return EvidenceItem(resource_id, unit_key)


def _storable(text: str, where: str) -> str:
    """JSON can spell half of a surrogate pair, which is no character and cannot be stored."""
    if SURROGATE.search(text):
        raise _malformed(f"{where} holds half a surrogate pair: {shown(text)}")
    return text


def _place(named: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= 9 and int(value) > 0):
        raise InvalidInput(INVALID_RESOLUTION, f"{shown(named)} has no rank from 1", HOW_TO_SPELL)
    return int(value)


def _only(document: dict[str, Any], names: Sequence[str], where: str) -> None:
    if surplus := sorted(document.keys() - set(names)):
        raise _malformed(f"{where} has the unknown name {shown(surplus[0])}")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a name is given twice in one object")
    return document


def _whole(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError("a number has too many digits")
    return int(digits)


def _malformed(what: str) -> InvalidInput:
    return InvalidInput(INVALID_RESOLUTION, what, HOW_TO_RESOLVE)
