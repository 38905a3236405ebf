"""Writes one finished document where a person asked for it: private, in one step, never a device.

A device or a pipe that stands under the name is written to, not replaced.
"""

from __future__ import annotations

from pathlib import Path

from memcli.errors import InvalidInput
from memcli.evaluation.private_stream import reporting_write_faults
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
