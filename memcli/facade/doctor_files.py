"""What ``doctor`` finds about files: who may use them, what is left over, how much room is left."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from memcli.facade.findings import BROKEN, OK, WARN, Finding
from memcli.facade.status import human_bytes

OTHERS = 0o077
MOST_NAMED = 3
# A temporary file lives for seconds, unless whoever made it was killed.
LEFT_OVER_SECONDS = 600.0
LITTLE_ROOM = 1_000_000_000
NO_ROOM = 50_000_000


def file_findings(
    home: Path, profiles: Path, storage: Path | None, now: datetime
) -> Iterator[Finding]:
    """``home`` is the central store's directory, ``profiles`` that of the user's model
    profiles, ``storage`` the project's; any may be missing."""
    for name, directory in (
        ("central store", home), ("model profiles", profiles), ("project", storage),
    ):  # fmt: skip
        if directory is not None and directory.is_dir():
            yield from _rights(name, directory)
            yield from _left_over(name, directory, now)
    yield room("central store", home, _free(home))
    if storage is not None:
        yield room("project", storage, _free(storage))
    if storage is not None and storage.is_dir() and not (storage / ".gitignore").exists():
        message = f"{storage / '.gitignore'} is missing: git would see the index"
        yield Finding("files", "git", WARN, message, "memcli index build")


def _entries(directory: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The directory itself and everything below, links left out; what vanishes is passed over."""
    yield str(directory), os.lstat(directory)
    for parent, names, files in os.walk(directory):
        for name in (*names, *files):
            path = os.path.join(parent, name)
            try:
                status = os.lstat(path)
            except FileNotFoundError:
                continue
            if not stat.S_ISLNK(status.st_mode):
                yield path, status


def _rights(name: str, directory: Path) -> Iterator[Finding]:
    check = f"rights of the {name}"
    if os.name == "nt":
        yield Finding("files", check, OK, f"{directory}: inherited from your user directory")
        return
    entries = list(_entries(directory))
    open_ones = [path for path, status in entries if status.st_mode & OTHERS]
    quoted = shlex.quote(str(directory))
    if open_ones:
        named = ", ".join(open_ones[:MOST_NAMED])
        more = f" and {len(open_ones) - MOST_NAMED} more" if len(open_ones) > MOST_NAMED else ""
        message = f"others may use {named}{more}"
        yield Finding("files", check, BROKEN, message, f"chmod -R go= {quoted}")
    shut = [path for path, _ in entries if not os.access(path, os.R_OK | os.W_OK)]
    if shut:
        named = ", ".join(shut[:MOST_NAMED])
        message = f"you may not read and write {named}"
        yield Finding("files", check, WARN, message, f"chmod -R u+rwX {quoted}")
    if not open_ones and not shut:
        message = f"{directory} and the {len(entries) - 1} entries below are yours alone"
        yield Finding("files", check, OK, message)


def _left_over(name: str, directory: Path, now: datetime) -> Iterator[Finding]:
    old = now.timestamp() - LEFT_OVER_SECONDS
    left = [
        (path, status.st_size)
        for path, status in _entries(directory)
        if stat.S_ISREG(status.st_mode) and _is_temporary(path) and status.st_mtime < old
    ]
    if left:
        names = ", ".join(path for path, _ in left[:MOST_NAMED])
        size = human_bytes(sum(size for _, size in left))
        message = f"{len(left)} temporary files ({size}) of killed processes: {names}"
        repair = f"find {shlex.quote(str(directory))} -name '.*.tmp*' -mmin +10 -delete"
        yield Finding("files", f"leftovers in the {name}", WARN, message, repair)


def _is_temporary(path: str) -> bool:
    base = os.path.basename(path)
    return base.startswith(".") and ".tmp" in base


def _free(directory: Path) -> int:
    place = directory
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free


def room(name: str, directory: Path, free: int) -> Finding:
    """The finding for ``free`` bytes on the disk of ``directory``."""
    message = f"{human_bytes(free)} free for {directory}"
    state = BROKEN if free < NO_ROOM else WARN if free < LITTLE_ROOM else OK
    repair = "" if state == OK else "memcli clear"
    return Finding("files", f"room for the {name}", state, message, repair)
