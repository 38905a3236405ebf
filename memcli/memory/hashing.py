"""The hashes that identify a body, a resource and a whole Effective Memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import orjson

from memcli.memory.resource import Scope


def canonical_json(value: object) -> bytes:
    """UTF-8, keys sorted, no white space: equal values give equal bytes."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def body_sha256(body: str) -> str:
    """Lower-case hex SHA-256 of the body's UTF-8 bytes; names the blob of the body."""
    return hashlib.sha256(body.encode("utf-8")).hexdigest()


def resource_hash(
    *,
    resource_id: str,
    scope: Scope,
    kind: str,
    path: str,
    title: str,
    description: str,
    body: str,
) -> str:
    """Over all that a resource says and where it stands; no file time, no absolute path."""
    document = {
        "id": resource_id,
        "scope": scope.value,
        "kind": kind,
        "path": path,
        "title": title,
        "description": description,
        "body": body,
    }
    return hashlib.sha256(canonical_json(document)).hexdigest()


def effective_hash(ordered: Iterable[tuple[str, str]]) -> str:
    """Over the ordered ``[id, resource_hash]`` pairs of an Effective Memory."""
    return hashlib.sha256(canonical_json([list(pair) for pair in ordered])).hexdigest()
