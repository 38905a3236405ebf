"""The corpus a Run searched: its manifest, stored once per effective hash, and the bodies."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Protocol

from memcli.errors import Failure
from memcli.history.blobs import BlobStore

# Bodies written together: enough to share the cost of fsync, little enough for memory.
BATCH_BODIES = 64
BODIES_LOOKED_AT = 64
BATCH_BYTES = 8 * 1024 * 1024

IS_STORED = "SELECT 1 FROM retrieval_run_resources WHERE effective_hash = ? LIMIT 1"
BLOB_LENGTH = "SELECT length FROM retrieval_corpus_blobs WHERE sha256 = ?"
INSERT_BLOB = """
INSERT OR IGNORE INTO retrieval_corpus_blobs (sha256, length, created_at) VALUES (?, ?, ?)
"""
DELETE_MANIFEST = "DELETE FROM retrieval_run_resources WHERE effective_hash = ?"
INSERT_RESOURCE = """
INSERT INTO retrieval_run_resources (
    effective_hash, ordinal, resource_id, scope, kind, path, title, description,
    resource_hash, body_sha256
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
SOME_BODIES = """
SELECT blob.sha256, blob.length
FROM retrieval_run_resources AS resource
JOIN retrieval_corpus_blobs AS blob ON blob.sha256 = resource.body_sha256
WHERE resource.effective_hash = :hash AND resource.ordinal % (
    1 + (SELECT max(ordinal) FROM retrieval_run_resources WHERE effective_hash = :hash) / :most
) = 0
"""
MANIFEST = """
SELECT ordinal, resource_id, scope, kind, path, title, description, resource_hash, body_sha256
FROM retrieval_run_resources WHERE effective_hash = ? ORDER BY ordinal
"""


@dataclass(frozen=True, slots=True)
class ManifestResource:
    """One resource of a corpus; ``ordinal`` is its place in Effective Memory, from 0."""

    ordinal: int
    resource_id: str
    scope: str
    kind: str
    path: str
    title: str
    description: str
    resource_hash: str
    body_sha256: str


class CorpusSource(Protocol):
    """Where the corpus of a revision comes from: the index, never the files on disk.

    It is read only when no Run over the same effective hash is stored yet.
    """

    def manifest(self) -> Iterable[ManifestResource]:
        """Every resource of the revision, in the order of Effective Memory."""
        ...

    def body(self, resource_id: str) -> str:
        """The body as it was indexed."""
        ...


def is_stored(connection: sqlite3.Connection, effective_hash: str) -> bool:
    """Whether the manifest is there; an empty memory has none, and costs nothing to store."""
    return connection.execute(IS_STORED, (effective_hash,)).fetchone() is not None


def has_bodies(connection: sqlite3.Connection, blobs: BlobStore, effective_hash: str) -> bool:
    """Whether the bodies of a stored corpus are still on disk: some, spread over all of it.

    Whoever removed the folder, or lost it, gets the bodies back with the next
    Run. Looking at every file of a large corpus would cost each Run its time.
    """
    rows = connection.execute(SOME_BODIES, {"hash": effective_hash, "most": BODIES_LOOKED_AT})
    return all(blobs.has(sha256, length) for sha256, length in rows.fetchall())


def read_manifest(
    connection: sqlite3.Connection, effective_hash: str
) -> tuple[ManifestResource, ...]:
    return tuple(ManifestResource(*row) for row in connection.execute(MANIFEST, (effective_hash,)))


def write_bodies(
    connection: sqlite3.Connection,
    blobs: BlobStore,
    resources: Sequence[ManifestResource],
    corpus: CorpusSource,
) -> dict[str, int]:
    """Write the bodies that are not stored yet; the length in bytes of each one written.

    The caller holds the shared lock of ``blobs`` until it has committed the rows.

    Raises:
        Failure: ``history_write_failed``, when a body is not what the manifest says.
        OSError: when a body cannot be written.
    """
    lengths: dict[str, int] = {}
    batch: list[tuple[str, bytes]] = []
    waiting = 0
    for resource in resources:
        sha256 = resource.body_sha256
        if sha256 in lengths:
            continue
        row = connection.execute(BLOB_LENGTH, (sha256,)).fetchone()
        if row is not None and blobs.has(sha256, row[0]):
            continue
        data = corpus.body(resource.resource_id).encode("utf-8")
        if hashlib.sha256(data).hexdigest() != sha256:
            raise Failure(
                "history_write_failed",
                f"the index holds another body for {resource.resource_id} than its hash says",
                "Rebuild the index: `memcli index build`.",
            )
        lengths[sha256] = len(data)
        batch.append((sha256, data))
        waiting += len(data)
        if len(batch) >= BATCH_BODIES or waiting >= BATCH_BYTES:
            blobs.write(batch)
            batch, waiting = [], 0
    blobs.write(batch)
    return lengths


def insert_manifest(
    connection: sqlite3.Connection,
    effective_hash: str,
    resources: Sequence[ManifestResource],
    lengths: dict[str, int],
    created_at: str,
) -> None:
    """Store the rows of a corpus whose bodies are written, inside the caller's transaction."""
    connection.executemany(
        INSERT_BLOB, ((sha256, length, created_at) for sha256, length in lengths.items())
    )
    # One that is there already was damaged, or lost its bodies.
    connection.execute(DELETE_MANIFEST, (effective_hash,))
    connection.executemany(
        INSERT_RESOURCE, ((effective_hash, *astuple(resource)) for resource in resources)
    )
