"""Fetch one model file over HTTP: resumed where it broke off, checked before it counts.

The only code in memcli that opens a network connection. Bytes go to
``<name>.part`` beside the target, with a note of what they are a part of;
only a file of the right length, first bytes and digest is renamed to the target.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import http.client
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memcli import __version__
from memcli.errors import Conflict, Failure
from memcli.locations import private_directory, private_file, sync_directory
from memcli.models.gguf_header import MAGIC
from memcli.models.partial_file import PartialFile, PartNote
from memcli.models.web_address import check_address, host_of, web_opener

# Seconds that a connection may be silent before it counts as broken.
TIMEOUT = 30.0
BLOCK = 1 << 18
# Room that must stay free on the disk beside the file.
SPARE_BYTES = 64 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT)

# (bytes present, bytes in all or 0 where nobody knows)
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Download:
    """What to fetch and what it must be; ``size`` and ``sha256`` where they are known."""

    url: str
    target: Path
    size: int | None = None
    sha256: str = ""


def download(
    wanted: Download,
    progress: Progress = lambda present, total: None,
    *,
    environ: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
) -> str:
    """Fetch ``wanted`` to its target and return its SHA-256.

    A broken-off download is resumed where the server can, else begun again.
    Raises ``Failure`` ``download_failed``, which says what is kept for the next
    attempt or how the server's file is not the wanted one, ``storage_full``,
    ``file_unwritable``; ``Conflict`` ``busy``; ``InvalidInput`` ``usage`` for a bad address.
    """
    check_address(wanted.url)
    opener = web_opener(environ or {})
    with _lock(wanted.target):
        part = PartialFile(wanted.target)
        try:
            return _fetch(wanted, part, opener, progress, timeout)
        except (OSError, http.client.HTTPException) as error:
            raise _failure(wanted, part, error) from error


def _fetch(
    wanted: Download,
    part: PartialFile,
    opener: urllib.request.OpenerDirector,
    progress: Progress,
    timeout: float,
) -> str:
    with _open(wanted, part, opener, timeout) as response:
        if response is not None:
            _receive(wanted, part, response, progress)
    return _finish(wanted, part)


@contextlib.contextmanager
def _open(
    wanted: Download,
    part: PartialFile,
    opener: urllib.request.OpenerDirector,
    timeout: float,
) -> Iterator[Any]:
    """The response for what is still missing; ``None`` where nothing is."""
    note = _note(wanted, part)
    headers = {"User-Agent": f"memcli/{__version__}", "Accept-Encoding": "identity"}
    if note:
        if part.size == note.total:
            yield None
            return
        headers["Range"] = f"bytes={part.size}-"
        # Another file by now is then sent whole instead of being glued to the old part.
        if note.validator:
            headers["If-Range"] = note.validator
    request = urllib.request.Request(wanted.url, headers=headers)
    try:
        response = opener.open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        with error:
            if error.code != 416 or not note:
                raise
        # What is kept does not fit the server's file: begin again, once.
        part.discard()
        response = opener.open(
            urllib.request.Request(wanted.url, headers=_without_range(headers)), timeout=timeout
        )
    with response:
        yield response


def _note(wanted: Download, part: PartialFile) -> PartNote | None:
    """What there is to go on from; without a validator only a known digest makes that safe."""
    note = part.note(wanted.url)
    return note if note and (note.validator or wanted.sha256) else None


def _without_range(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if "Range" not in name}


def _receive(wanted: Download, part: PartialFile, response: Any, progress: Progress) -> None:
    start, total = _place(wanted, part, response)
    if wanted.size is not None and total is not None and total != wanted.size:
        raise _wrong(
            wanted, f"the server offers {total} bytes, and the file has {wanted.size}", response
        )
    first = response.read(BLOCK) if start else _first_block(wanted, response)
    expected = total if total is not None else wanted.size
    _check_room(wanted, (expected or 0) - start)
    with part.open(wanted.url, response.headers, start, total) as stream:
        present = start
        block = first
        while block:
            stream.write(block)
            present += len(block)
            if expected is not None and present > expected:
                break
            progress(present, expected or 0)
            block = response.read(BLOCK)
    if expected is not None and present < expected:
        raise http.client.IncompleteRead(b"", expected - present)
    if expected is not None and present > expected:
        part.discard()
        raise _wrong(wanted, f"the server sent more than the {expected} bytes it has", response)


def _place(wanted: Download, part: PartialFile, response: Any) -> tuple[int, int | None]:
    """Where the response's first byte belongs, and how long the whole file is."""
    length = response.headers.get("Content-Length", "")
    declared = int(length) if length.isdigit() else None
    if response.status != 206:
        return 0, declared
    unit, _, rest = response.headers.get("Content-Range", "").partition(" ")
    span, _, whole = rest.partition("/")
    begin = span.partition("-")[0]
    if unit != "bytes" or not begin.isdigit() or int(begin) != part.size:
        part.discard()
        raise http.client.HTTPException("the server resumed at another place than it was asked")
    total = int(whole) if whole.isdigit() else None
    note = part.note(wanted.url)
    if note and total and note.total and total != note.total:
        part.discard()
        raise http.client.HTTPException("the file has another length than when it was begun")
    return part.size, total


def _first_block(wanted: Download, response: Any) -> bytes:
    """The beginning of a whole file, which must be a GGUF's; what is kept is not touched before."""
    block: bytes = response.read(BLOCK)
    while block and len(block) < len(MAGIC):
        more = response.read(BLOCK)
        if not more:
            break
        block += more
    if block and not block.startswith(MAGIC):
        kind = response.headers.get_content_type()
        what = f"a page ({kind})" if kind.startswith("text/") else f"something else ({kind})"
        raise _wrong(
            wanted,
            f"the server sent {what}, no GGUF file",
            response,
            "A network that wants a sign-in answers like this: open the address in a browser.",
        )
    return block


def _finish(wanted: Download, part: PartialFile) -> str:
    """Check the whole file and give it its name."""
    digest = hashlib.sha256()
    with part.path.open("rb") as stream:
        first = stream.read(len(MAGIC))
        digest.update(first)
        while block := stream.read(1 << 20):
            digest.update(block)
    size, found = part.size, digest.hexdigest()
    reason = ""
    if first != MAGIC:
        reason = "it is no GGUF file"
    elif wanted.size is not None and size != wanted.size:
        reason = f"it has {size} bytes instead of {wanted.size}"
    elif wanted.sha256 and found != wanted.sha256:
        reason = f"its SHA-256 is {found}, and should be {wanted.sha256}"
    if reason:
        part.discard()
        raise _wrong(wanted, f"{reason}; what was downloaded is deleted")
    os.replace(part.path, wanted.target)
    part.discard()
    sync_directory(wanted.target.parent)
    return found


@contextlib.contextmanager
def _lock(target: Path) -> Iterator[None]:
    """One download of a file at a time; the kernel frees the lock of a process that died."""
    from filelock import FileLock, Timeout

    private_directory(target.parent)
    lock = FileLock(private_file(target.with_name(f"{target.name}.lock")), mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise Conflict(
            "busy",
            f"another process is downloading {target.name}",
            "Wait for it, or run the command again later.",
        ) from None
    try:
        yield
    finally:
        lock.release()


def _check_room(wanted: Download, missing: int) -> None:
    free = shutil.disk_usage(wanted.target.parent).free
    if missing + SPARE_BYTES > free:
        raise _no_room(wanted, f"{missing} bytes are missing and {free} are free")


def _no_room(wanted: Download, reason: str) -> Failure:
    return Failure(
        "storage_full",
        f"no room in {wanted.target.parent}: {reason}",
        "Make room, then run the same command again; it goes on where it stopped.",
    )


def _failure(wanted: Download, part: PartialFile, error: Exception) -> Failure:
    if isinstance(error, OSError) and error.errno in _FULL:
        return _no_room(wanted, "the disk is full")
    from_network = isinstance(error, urllib.error.URLError)
    if isinstance(error, OSError) and error.filename and not from_network:
        return Failure(
            "file_unwritable", f"{error.filename} cannot be written: {error.strerror or error}"
        )
    note = _note(wanted, part)
    if note:
        of = f" of {note.total}" if note.total else ""
        hint = f"{part.size}{of} bytes are kept: run the same command again to go on from there."
    else:
        hint = "Run the same command again, or name another source with --url."
    if isinstance(error, urllib.error.HTTPError):
        reason = f"the server says {error.code} {error.reason}"
        if error.code in (401, 403, 404, 410):
            hint = "The file may have moved or need an account: name another source with --url."
    elif isinstance(error, http.client.IncompleteRead):
        reason = "the connection broke off"
    elif isinstance(error, TimeoutError) or isinstance(
        getattr(error, "reason", None), TimeoutError
    ):
        reason = "the server does not answer"
    else:
        cause = getattr(error, "reason", error)
        reason = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return Failure("download_failed", f"{host_of(wanted.url)}: {reason}", hint)


def _wrong(wanted: Download, reason: str, response: Any = None, hint: str = "") -> Failure:
    source = host_of(response.url if response is not None else wanted.url)
    return Failure(
        "download_failed",
        f"{source}: {reason}",
        hint or "Name another source with --url, or the digest you expect with --sha256.",
    )
