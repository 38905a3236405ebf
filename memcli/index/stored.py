"""What a reader gives of a revision: units, resources and recalled rowids, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from memcli.index.unit import Locator


@dataclass(frozen=True, slots=True)
class StoredUnit:
    """A unit with its resource's metadata, both as they were indexed."""

    unit_rowid: int
    ordinal: int
    unit_key: str
    position: int
    heading_path: tuple[str, ...]
    text: str
    content_hash: str
    token_count: int
    locator: Locator
    input_hash: str
    resource_id: str
    resource_hash: str
    scope: str
    kind: str
    path: str
    title: str
    file_path: str


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A resource of the revision without its body; ``ordinal`` is its place from 0."""

    ordinal: int
    resource_id: str
    scope: str
    kind: str
    path: str
    title: str
    description: str
    resource_hash: str
    body_sha256: str
    unit_count: int
    file_path: str
    body_first_line: int
    description_line: int | None


@dataclass(frozen=True, slots=True)
class IdentityHit:
    """A unit of a resource whose id (tier 1), path or title (2) or a prefix (3) was asked for."""

    unit_rowid: int
    tier: int


@dataclass(frozen=True, slots=True)
class LexicalHit:
    """A unit found by BM25; a larger score is better."""

    unit_rowid: int
    score: float
