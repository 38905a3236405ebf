"""Whether files have changed since the head was built: remembered by a build, checked cheaply."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.locations import write_private
from memcli.memory.freshness import SeenRecord, changed_since, seen_record
from memcli.memory.resource import EffectiveMemory
from memcli.memory.sources import sources_fingerprint
from memcli.retrieval.activation import Notice

if TYPE_CHECKING:
    from memcli.facade.workspace import Memcli

SEEN_FILE = "seen-files.json"


def remember_files(memcli: Memcli, memory: EffectiveMemory) -> None:
    """Note which files the build saw, beside the index; derived, and replaced by every build."""
    root = memcli.project.root
    fingerprint = sources_fingerprint(root, memcli.sources, memcli.configuration.max_file_bytes)
    record = seen_record(memory.seen, root, fingerprint)
    data = memory.effective_hash.encode() + b"\n" + record.to_bytes()
    # Only a notice depends on it, and the next build writes it again.
    with contextlib.suppress(OSError):
        write_private(_path(memcli), data)


def freshness_notices(memcli: Memcli, head_effective_hash: str) -> Iterator[Notice]:
    """At most one notice: the head is not what the files say now."""
    try:
        effective_hash, data = _path(memcli).read_bytes().split(b"\n", 1)
        record = SeenRecord.from_bytes(data)
    except (OSError, ValueError):
        return  # Never written, or damaged: nothing is known, so nothing is said.
    if record is None:
        return
    if effective_hash.decode("ascii", "replace") != head_effective_hash:
        yield Notice(
            "memory_changed",
            "the head is not the memory that was built last; `memcli head swap` moves it",
        )
        return
    changes = changed_since(
        record,
        memcli.project.root,
        memcli.sources,
        max_file_bytes=memcli.configuration.max_file_bytes,
        environ=memcli.surroundings.environ,
    )
    if changes.sources_changed:
        yield Notice(
            "memory_changed",
            "the sources are configured otherwise than when the head was built; "
            "--build indexes them first",
        )
    elif changes.paths:
        count = len(changes.paths)
        what = Path(changes.paths[0]).name + (f" and {count - 1} more" if count > 1 else "")
        yield Notice(
            "memory_changed",
            f"files have changed since the head was built ({what}); --build indexes them first",
        )


def _path(memcli: Memcli) -> Path:
    return memcli.storage.directory / SEEN_FILE
