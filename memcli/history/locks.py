"""Locks on files, shared or exclusive, which the kernel releases when their process dies."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memcli.errors import Conflict
from memcli.locations import FILE_MODE, private_file

FIRST_PAUSE_SECONDS = 0.002
LONGEST_PAUSE_SECONDS = 0.05

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int, shared: bool) -> bool:
        # Windows has no shared lock on a byte range here: sharers take turns instead.
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int, shared: bool) -> bool:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def file_lock(
    path: Path,
    *,
    shared: bool = False,
    wait_seconds: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Hold ``path`` locked; its directory must exist, and the file stays behind.

    Raises:
        Conflict: ``busy``, when others held it for ``wait_seconds``.
        OSError: when the file cannot be created or the file system knows no locks.
    """
    private_file(path)
    descriptor = os.open(path, os.O_RDWR, FILE_MODE)
    try:
        end = clock() + wait_seconds
        pause = FIRST_PAUSE_SECONDS
        while not _try_lock(descriptor, shared):
            if clock() >= end:
                raise Conflict(
                    "busy",
                    f"another memcli process has held {path.name} for {wait_seconds:g} seconds",
                    "Try again when it has finished.",
                )
            sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
        try:
            yield
        finally:
            _unlock(descriptor)
    finally:
        os.close(descriptor)
