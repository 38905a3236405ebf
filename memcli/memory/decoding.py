"""Read one file as text, as well as possible: bounded, never blocking, with what was amiss."""

from __future__ import annotations

import codecs
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from memcli.memory.freshness import content_digest
from memcli.memory.resource import SeenFile

# UTF-32 first: its little-endian mark begins with that of UTF-16.
MARKED_ENCODINGS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a file gives no text: a stable word and a sentence."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Document:
    """A file's text with LF line ends and no byte order mark.

    ``warning`` is a stable word with a sentence where bytes had to be replaced.
    """

    text: str
    warning: tuple[str, str] | None = None


def read_document(
    real_path: str, shown_path: str, max_bytes: int
) -> tuple[Document | Unreadable, SeenFile | None]:
    """Read ``real_path`` (no link itself) of at most ``max_bytes``.

    The ``SeenFile`` is the state before reading, under ``shown_path``, so that
    a change while reading shows as a change later; ``None`` where the file
    could not be opened.
    """
    try:
        descriptor = os.open(real_path, OPEN_FLAGS)
    except FileNotFoundError:
        return Unreadable("vanished", "it was gone when it was to be read"), None
    except OSError as error:
        return Unreadable("unreadable", _cause(error)), None
    try:
        status = os.fstat(descriptor)
        document, digest = _read_open(descriptor, status, max_bytes)
        seen = SeenFile(Path(shown_path), status.st_size, status.st_mtime_ns, False, digest)
        return document, seen
    except OSError as error:
        return Unreadable("unreadable", _cause(error)), None
    finally:
        os.close(descriptor)


def _read_open(
    descriptor: int, status: os.stat_result, max_bytes: int
) -> tuple[Document | Unreadable, str]:
    """What the file is, with the digest of its bytes."""
    if not stat.S_ISREG(status.st_mode):
        return Unreadable("not_a_file", "it is neither a file nor a directory"), ""
    data = b"" if status.st_size > max_bytes else _read_up_to(descriptor, max_bytes + 1)
    if max(len(data), status.st_size) > max_bytes:
        return Unreadable("too_large", f"it has more than {max_bytes} bytes"), ""
    # One that was written to meanwhile is to count as changed.
    return decode(data), content_digest(data) if len(data) == status.st_size else ""


def _read_up_to(descriptor: int, limit: int) -> bytes:
    parts = []
    while limit > 0 and (part := os.read(descriptor, min(limit, 1 << 20))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def decode(data: bytes) -> Document | Unreadable:
    """Bytes as text: UTF-8, or UTF-16 and UTF-32 with a mark; faults replaced with a warning.

    The text has LF line ends and holds neither null characters nor surrogates.
    """
    encoding = "utf-8"
    for mark, marked_encoding in MARKED_ENCODINGS:
        if data.startswith(mark):
            data, encoding = data[len(mark) :], marked_encoding
            break
    if encoding == "utf-8" and b"\0" in data:
        return Unreadable("binary", "it holds null bytes")
    warning = None
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        text = data.decode(encoding, errors="replace")
        name = "UTF-8" if encoding == "utf-8" else encoding[:6].upper()
        detail = f"bytes that are no {name} were replaced, the first at byte {error.start}"
        warning = (f"invalid_{name.lower().replace('-', '')}", detail)
    if "\0" in text:
        return Unreadable("binary", "it holds null characters")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return Document(text, warning)


def _cause(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
