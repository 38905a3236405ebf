"""The part of a download that is on disk already, with a note of what it is a part of."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import IO

import orjson

from memcli.locations import write_private


@dataclass(frozen=True, slots=True)
class PartNote:
    """Enough to go on: the server's validator of the file, and its whole length if it said so.

    ``validator`` is a strong ETag or a Last-Modified date (RFC 9110, 13.1.5).
    """

    url: str
    validator: str
    total: int | None


class PartialFile:
    """``<target>.part`` and ``<target>.part.json``; without its note a part is worthless."""

    def __init__(self, target: Path) -> None:
        self.path = target.with_name(f"{target.name}.part")
        self._note_path = target.with_name(f"{target.name}.part.json")

    @property
    def size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def note(self, url: str) -> PartNote | None:
        """The note, where some bytes of the file at ``url`` are there to go on from."""
        try:
            held = orjson.loads(self._note_path.read_bytes())
            note = PartNote(str(held["url"]), str(held["validator"]), held["total"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        usable = self.size > 0 and note.url == url
        if not usable or not (note.total is None or isinstance(note.total, int)):
            return None
        return note if note.total is None or self.size <= note.total else None

    @contextlib.contextmanager
    def open(
        self, url: str, headers: Message, start: int, total: int | None
    ) -> Iterator[IO[bytes]]:
        """A stream to write on from ``start``; what was written stays whatever ends it."""
        flags = os.O_CREAT | os.O_WRONLY | (0 if start else os.O_TRUNC)
        descriptor = os.open(self.path, flags, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            os.chmod(self.path, 0o600)
            stream.seek(start)
            stream.truncate()
            etag = headers.get("ETag", "")
            validator = "" if etag.startswith("W/") else etag
            note = {
                "url": url,
                "validator": validator or headers.get("Last-Modified", ""),
                "total": total,
            }
            write_private(self._note_path, orjson.dumps(note))
            yield stream
            stream.flush()
            os.fsync(stream.fileno())

    def discard(self) -> None:
        """Remove part and note."""
        self.path.unlink(missing_ok=True)
        self._note_path.unlink(missing_ok=True)
