"""One builder at a time, and one exchange of rows: locks the kernel releases at death.

And who builds, for messages.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime

import orjson

from memcli.errors import Conflict
from memcli.index.storage import IndexStorage
from memcli.locations import FILE_MODE, private_file, refuse_odd_file, write_private

_POLL_SECONDS = 0.2
# A reader that asks whether a build runs holds the lock for less than that.
_GLANCE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class BuildHolder:
    """The process that builds; ``None`` fields where it has not said so yet."""

    pid: int | None
    host: str | None
    started_at: str | None

    def __str__(self) -> str:
        if self.pid is None:
            return "another process"
        return f"process {self.pid} on {self.host}, since {self.started_at}"


@contextlib.contextmanager
def build_lock(
    storage: IndexStorage,
    *,
    now: Callable[[], datetime],
    wait: bool,
    on_wait: Callable[[BuildHolder], None],
    check_cancelled: Callable[[], None],
) -> Iterator[None]:
    """Hold the build lock; the directory must exist.

    A process id in a file proves nothing, for it may be another process's by
    now: only the kernel's lock counts, and the file is for messages. Raises
    ``Conflict`` ``busy`` when somebody holds it and ``wait`` is false. While
    waiting, ``on_wait`` is called once and ``check_cancelled`` often.
    """
    from filelock import FileLock, Timeout

    refuse_odd_file(storage.lock)
    lock = FileLock(private_file(storage.lock), mode=FILE_MODE)
    told = False
    while True:
        try:
            # Not zero: a reader that asks whether a build runs holds the lock for an instant.
            lock.acquire(timeout=_POLL_SECONDS)
            break
        except Timeout:
            holder = _written_holder(storage)
            if not wait:
                raise Conflict(
                    "busy",
                    f"the index is being built by {holder}",
                    "Wait for it, or run again without --no-wait.",
                ) from None
            if not told:
                on_wait(holder)
                told = True
            check_cancelled()
    try:
        me = BuildHolder(os.getpid(), socket.gethostname(), now().isoformat())
        write_private(storage.lock_holder, orjson.dumps(asdict(me)))
        try:
            yield
        finally:
            storage.lock_holder.unlink(missing_ok=True)
    finally:
        lock.release()


@contextlib.contextmanager
def exchange_lock(storage: IndexStorage, check_cancelled: Callable[[], None]) -> Iterator[None]:
    """Hold the right to put full-text rows beside the head's.

    A builder takes it after the build lock, never before; whoever swaps the head
    needs no build lock, so that nobody waits for an embedding model. While
    waiting, ``check_cancelled`` is called often.
    """
    from filelock import FileLock, Timeout

    refuse_odd_file(storage.exchange_lock)
    lock = FileLock(private_file(storage.exchange_lock), mode=FILE_MODE)
    while True:
        try:
            lock.acquire(timeout=_POLL_SECONDS)
            break
        except Timeout:
            check_cancelled()
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def unless_exchanging(storage: IndexStorage) -> Iterator[bool]:
    """Whether nobody puts rows beside just now; if so, nobody begins to before the block ends."""
    from filelock import FileLock, Timeout

    refuse_odd_file(storage.exchange_lock)
    lock = FileLock(private_file(storage.exchange_lock), mode=FILE_MODE)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def running_build(storage: IndexStorage) -> BuildHolder | None:
    """Who is building right now, or ``None``."""
    from filelock import FileLock, Timeout

    if not storage.lock.exists():
        return None
    refuse_odd_file(storage.lock)
    lock = FileLock(storage.lock, mode=FILE_MODE)
    try:
        # Not zero: another process may be asking the same at this instant.
        lock.acquire(timeout=_GLANCE_SECONDS, poll_interval=_GLANCE_SECONDS / 5)
    except Timeout:
        return _written_holder(storage)
    except OSError:
        # Where the lock cannot be taken, nobody builds either: the directory is read-only.
        return None
    lock.release()
    return None


def _written_holder(storage: IndexStorage) -> BuildHolder:
    try:
        written = orjson.loads(storage.lock_holder.read_bytes())
        return BuildHolder(written["pid"], written["host"], written["started_at"])
    except (OSError, ValueError, KeyError, TypeError):
        return BuildHolder(None, None, None)
