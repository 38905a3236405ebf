"""Writes one finished document where a person asked for it: private, in one step, never a device.

A device or a pipe that stands under the name is written to, not replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memcli.errors import Failure, InvalidInput
from memcli.locations import private_directory, write_private


def write_output(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``, 0600 whatever the umask; a directory that is missing is made.

    Raises:
        InvalidInput: ``invalid_output``, for a directory.
        Failure: ``export_failed``.
    """
    with reporting_write_faults(path):
        if path.is_dir():
            raise InvalidInput("invalid_output", f"{path} is a directory, not a file")
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        private_directory(path.parent)
        write_private(path, data)


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
