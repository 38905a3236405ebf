"""Tells whether the process that began a Run still lives, also when its number was reused."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

# An activation has a deadline of 60 seconds. Where the kernel cannot be asked
# about a process, one that began its Run longer ago than this has ended.
LONGEST_UNPROVEN_LIFE_SECONDS = 3600.0

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessMark:
    """What singles out one process among all that ever ran on this machine.

    ``started`` is the start time in clock ticks since boot, ``boot`` the
    kernel's id of this boot, ``space`` the process number space (containers
    have their own). Each is ``None`` where the platform does not tell.
    """

    pid: int
    started: str | None
    boot: str | None
    space: str | None

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | None) -> ProcessMark | None:
        """``None`` for a missing or unreadable mark: its age alone decides then."""
        try:
            return cls(**json.loads(text or ""))
        except (ValueError, TypeError):
            return None


def this_process() -> ProcessMark:
    """The mark of the running process."""
    pid = os.getpid()
    stat = _stat(pid)
    return ProcessMark(pid, stat[1] if stat else None, _boot(), _space())


def is_gone(mark: ProcessMark | None, age_seconds: float) -> bool:
    """Whether the process behind ``mark``, seen ``age_seconds`` ago, has certainly ended.

    A different boot means that it has: SQLite's WAL lets only one kernel at a
    time work on a store. A process of another number space cannot be looked up
    from here, so that only its age can tell.
    """
    too_old = age_seconds > LONGEST_UNPROVEN_LIFE_SECONDS
    if mark is None or os.name == "nt":
        return too_old
    if mark.boot != _boot():
        return mark.boot is not None or too_old
    if mark.space != _space():
        return too_old
    stat = _stat(mark.pid)
    if stat is None:
        return not _answers(mark.pid) or too_old
    state, started = stat
    return state in "ZXx" or (mark.started is not None and started != mark.started)


def _boot() -> str | None:
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


def _space() -> str | None:
    try:
        return os.readlink(PROC / "self/ns/pid")
    except OSError:
        return None


def _stat(pid: int) -> tuple[str, str] | None:
    """State letter and start time of a process; its name, in parentheses, may hold anything."""
    try:
        line = (PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    fields = line.rpartition(b")")[2].decode().split()
    return fields[0], fields[19]


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
