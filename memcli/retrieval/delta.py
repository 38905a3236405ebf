"""The activation delta: what a client that holds earlier fragments must add, change or drop."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from memcli.errors import InvalidInput, shown
from memcli.retrieval.activation import CHAIN

STATE_SCHEMA = "memcli.activation_state.v1"
STATE_VERSION = 1
MOST_HELD = 256

_HASH = re.compile(r"[0-9a-f]{64}")
_FIELDS = frozenset({"schema", "project_id", "chain", "version", "units"})


@dataclass(frozen=True, slots=True)
class HeldUnit:
    """A unit the client still has in its context, by identity and content."""

    unit_key: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class Delta:
    """``actions`` by unit key of the returned; ``removed`` keys; the state that follows."""

    actions: Mapping[str, str]
    removed: tuple[str, ...]
    held: tuple[HeldUnit, ...]


def activation_delta(
    state: Sequence[HeldUnit],
    returned: Sequence[HeldUnit],
    present: Mapping[str, str],
) -> Delta:
    """Compare ``state`` with the fragments ``returned``.

    ``present`` maps those keys of the state that the revision still has to
    their content hash there. New state = old - removed + returned, newest first.
    """
    before = {unit.unit_key: unit.content_hash for unit in state}
    now = {unit.unit_key for unit in returned}
    actions = {
        unit.unit_key: (
            "add"
            if unit.unit_key not in before
            else "reuse"
            if before[unit.unit_key] == unit.content_hash
            else "replace"
        )
        for unit in returned
    }
    removed = tuple(
        unit.unit_key
        for unit in state
        if unit.unit_key not in now and present.get(unit.unit_key) != unit.content_hash
    )
    gone = frozenset(removed) | now
    kept = [unit for unit in state if unit.unit_key not in gone]
    return Delta(actions, removed, tuple([*returned, *kept][:MOST_HELD]))


def state_document(project_id: str, held: Sequence[HeldUnit]) -> dict[str, Any]:
    """The state as JSON: it names project, chain and version."""
    return {
        "schema": STATE_SCHEMA,
        "project_id": project_id,
        "chain": CHAIN,
        "version": STATE_VERSION,
        "units": [{"unit_key": unit.unit_key, "content_hash": unit.content_hash} for unit in held],
    }


def read_state(document: object, project_id: str) -> tuple[HeldUnit, ...]:
    """Read a state, or the state inside a whole earlier answer.

    Raises ``InvalidInput`` ``invalid_activation_state`` on any other shape, on
    another chain, version or project, and on a key that stands twice: a state
    that cannot be read is never taken as empty.
    """
    if isinstance(document, dict) and "state" in document and "fragments" in document:
        document = document["state"]
    if not isinstance(document, dict):
        raise _invalid("it is no JSON object")
    if document.get("schema") != STATE_SCHEMA or document.keys() != _FIELDS:
        raise _invalid(f"it does not have the shape of {STATE_SCHEMA}")
    for name, expected in (
        ("chain", CHAIN),
        ("version", STATE_VERSION),
        ("project_id", project_id),
    ):
        if document[name] != expected or isinstance(document[name], bool):
            raise _invalid(f"its {name} is {shown(document[name])}, not {expected!r}")
    units = document["units"]
    if not isinstance(units, list) or len(units) > MOST_HELD:
        raise _invalid(f"its units are no list of at most {MOST_HELD}")
    held = tuple(_held_unit(each) for each in units)
    if len({unit.unit_key for unit in held}) != len(held):
        raise _invalid("a unit_key stands in it twice")
    return held


def _held_unit(document: object) -> HeldUnit:
    if not isinstance(document, dict) or document.keys() != {"unit_key", "content_hash"}:
        raise _invalid("a unit is not just a unit_key and a content_hash")
    key, digest = document["unit_key"], document["content_hash"]
    if not isinstance(key, str) or not key or not isinstance(digest, str):
        raise _invalid("a unit_key or content_hash is no text")
    if not _HASH.fullmatch(digest):
        raise _invalid(f"a content_hash is no SHA-256: {shown(digest)}")
    return HeldUnit(key, digest)


def parse_state(data: bytes, project_id: str) -> tuple[HeldUnit, ...]:
    """Like ``read_state``, from JSON text."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _invalid(f"it is no JSON ({error})") from error
    return read_state(document, project_id)


def state_fingerprint(held: Sequence[HeldUnit]) -> str:
    """A SHA-256 of the given state, for the Run: which state, not its contents."""
    rows = [[unit.unit_key, unit.content_hash] for unit in held]
    return hashlib.sha256(orjson.dumps(rows)).hexdigest()


def _invalid(why: str) -> InvalidInput:
    return InvalidInput(
        "invalid_activation_state",
        f"the activation state cannot be used: {why}",
        "Give the `state` of an earlier answer for this project, or leave --state out.",
    )
