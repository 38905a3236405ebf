"""Content-addressed bodies in ``evaluation-corpora/blobs/<two hex>/<sha256>``, and their lock.

How nothing that is referenced is ever missing:

1. A body is written before any row names it: temporary file, fsync, rename,
   fsync of the directory. The rows that name it (``retrieval_corpus_blobs`` and
   a manifest) are committed afterwards. The writer holds ``blobs.lock``
   *shared* from its first look at the files until its commit.
2. A collector (``clear``, ``runs delete``, ``forget``) holds ``blobs.lock``
   *exclusive*. In one write transaction it deletes the manifests that no Run or
   Case names and the blob rows that no manifest names, and commits it durably
   (``synchronous = FULL``). Only then it unlinks files that have no row.
3. Whoever only refers to a manifest that is stored already, as most recordings
   and every new Case do, needs no file lock: in its own write transaction it
   sees the manifest, and a collector that commits later sees its reference.

So a row implies a file, whenever a process is killed or power is lost: at worst
files are left that no row names, and temporary files. The next collector, which
is alone when it looks, removes both. The file lock is always taken before
SQLite's write lock, never after it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

from memcli.errors import Failure
from memcli.history.locks import file_lock
from memcli.locations import private_directory, replacing, sync_directory

SHA256 = re.compile(r"[0-9a-f]{64}")
TEMPORARY = re.compile(r"\.[0-9a-f]{64}\.[0-9a-f]+\.tmp")
# fsyncs that wait together cost little more than one; few bodies are in memory at a time.
TOGETHER = 8


@dataclass(frozen=True, slots=True)
class BlobStore:
    """The bodies below ``directory`` (``<home>/evaluation-corpora``)."""

    directory: Path
    lock_wait_seconds: float

    @property
    def blobs(self) -> Path:
        return self.directory / "blobs"

    def path_of(self, sha256: str) -> Path:
        """Where a body lies, or would. Raises ``Failure`` ``store_damaged`` for what is no name."""
        if not SHA256.fullmatch(sha256):
            raise _not_a_name(self.blobs, sha256)
        return self.blobs / sha256[:2] / sha256

    def lock(self, *, shared: bool) -> AbstractContextManager[None]:
        """``blobs.lock``: shared to write bodies and commit their rows, exclusive to collect."""
        private_directory(self.directory)
        return file_lock(
            self.directory / "blobs.lock", shared=shared, wait_seconds=self.lock_wait_seconds
        )

    def has(self, sha256: str, length: int) -> bool:
        """Whether a file of that name and length is there; its content is verified on reading."""
        if not SHA256.fullmatch(sha256):
            raise _not_a_name(self.blobs, sha256)
        try:
            # Many are looked for while a Run is recorded: pathlib would take most of that time.
            return os.stat(f"{self.directory}/blobs/{sha256[:2]}/{sha256}").st_size == length
        except OSError:
            return False

    def read(self, sha256: str) -> bytes:
        """The body, verified.

        Raises:
            Failure: ``store_damaged``, when it is missing, unreadable or not what its name says.
        """
        path = self.path_of(sha256)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise _unusable(path, f"cannot be read: {error.strerror}") from error
        if hashlib.sha256(data).hexdigest() != sha256:
            raise _unusable(path, "does not have the content its name promises")
        return data

    def write(self, bodies: Sequence[tuple[str, bytes]]) -> None:
        """Store bodies under their SHA-256, under a shared lock; durable when this returns.

        A file already there is replaced: the rename harms no reader, and mends
        a file that was damaged.

        Raises:
            OSError: when the disk is full or the directory cannot be written.
        """
        directories = {self.path_of(sha256).parent for sha256, _ in bodies}
        for directory in directories:
            private_directory(directory)
        if len(bodies) == 1:
            self._write_one(bodies[0])
        elif bodies:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(TOGETHER) as pool:
                list(pool.map(self._write_one, bodies))
        for directory in directories:
            sync_directory(directory)

    def _write_one(self, body: tuple[str, bytes]) -> None:
        sha256, data = body
        with replacing(self.path_of(sha256), sync=False) as stream:
            stream.write(data)

    def unnamed(self, named: Iterable[str]) -> Iterator[tuple[Path, int]]:
        """Bodies not in ``named``, and temporary files, with their sizes; under an exclusive lock.

        Files with any other name are not ours and are left alone.
        """
        keep = frozenset(named)
        for path in sorted(self.blobs.glob("??/*")):
            if path.parent.is_symlink():
                continue  # What lies behind it is in another place.
            is_body = SHA256.fullmatch(path.name) is not None and path.name not in keep
            if is_body or TEMPORARY.fullmatch(path.name):
                with suppress(FileNotFoundError):
                    yield path, path.stat().st_size

    def unlink(self, paths: Iterable[Path]) -> None:
        """Remove files that nothing names, and directories that become empty."""
        directories = set()
        for path in paths:
            path.unlink(missing_ok=True)
            directories.add(path.parent)
        for directory in directories:
            with suppress(OSError):  # not empty
                directory.rmdir()


def _not_a_name(blobs: Path, sha256: str) -> Failure:
    """For a row that somebody edited: it could lead out of the store."""
    return _unusable(blobs, f"is asked for under a name that is none: {sha256!r}")


def _unusable(path: Path, what: str) -> Failure:
    return Failure(
        "store_damaged",
        f"the stored body {path} {what}",
        "The run's ranks, scores and excerpts are still there.",
    )
