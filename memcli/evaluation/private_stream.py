"""Streams a file into place: 0600 whatever the umask, and never half written under its name."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from memcli.errors import Failure
from memcli.locations import FILE_MODE, sync_directory


@contextmanager
def private_stream(path: Path) -> Iterator[BinaryIO]:
    """Replace ``path`` when the block ends well; otherwise leave it as it was.

    The directory must exist. Like :func:`memcli.locations.write_private`, for
    content that is too large to be held at once.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            os.chmod(temporary, FILE_MODE)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


@contextmanager
def reporting_write_faults(target: Path) -> Iterator[None]:
    """Turn errors of the file system below ``target`` into ``export_failed``."""
    try:
        yield
    except OSError as error:
        raise Failure(
            "export_failed",
            f"{error.filename or target} cannot be written: {error.strerror or error}",
            "Choose a directory that can be written, with room in it.",
        ) from error
