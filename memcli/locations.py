"""Where memcli keeps its files, and how it creates them: for their owner alone."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from memcli.errors import Failure

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
SHARED_MODE = 0o644
_TEMPORARY_END = re.compile(r"[0-9a-f]{12}\.tmp")
# Neither follow a link nor wait for a pipe.
_NO_SURPRISES = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def central_home(environ: Mapping[str, str]) -> Path:
    """``$MEMCLI_HOME``, else ``$XDG_DATA_HOME/memcli``, else the platform's place for data."""
    if explicit := environ.get("MEMCLI_HOME"):
        return Path(explicit).expanduser().absolute()
    if xdg := environ.get("XDG_DATA_HOME"):
        return Path(xdg).absolute() / "memcli"
    return _home(environ) / _platform_place("data") / "memcli"


def config_directory(environ: Mapping[str, str]) -> Path:
    """``$MEMCLI_CONFIG``, else ``$XDG_CONFIG_HOME/memcli``, else the platform's own place."""
    if explicit := environ.get("MEMCLI_CONFIG"):
        return Path(explicit).expanduser().absolute()
    if xdg := environ.get("XDG_CONFIG_HOME"):
        return Path(xdg).absolute() / "memcli"
    return _home(environ) / _platform_place("config") / "memcli"


def _home(environ: Mapping[str, str]) -> Path:
    home = environ.get("USERPROFILE") if os.name == "nt" else environ.get("HOME")
    return Path(home) if home else Path.home()


def _platform_place(what: str) -> str:
    if sys.platform == "darwin":
        return "Library/Application Support"
    if os.name == "nt":
        return "AppData/Local" if what == "data" else "AppData/Roaming"
    return ".local/share" if what == "data" else ".config"


def private_directory(path: Path) -> Path:
    """Create ``path`` and its missing parents, 0700 whatever the umask; leave existing ones."""
    missing = []
    current = path
    while not current.exists():
        missing.append(current)
        current = current.parent
    for directory in reversed(missing):
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=DIRECTORY_MODE)
            directory.chmod(DIRECTORY_MODE)
    return path


def private_file(path: Path) -> Path:
    """Create an empty 0600 file unless it exists.

    SQLite creates databases 0644, and gives ``-wal`` and ``-shm`` the main
    file's mode: so the main file is made here first.
    """
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
        with contextlib.suppress(OSError):
            os.chmod(path, FILE_MODE)
        os.close(descriptor)
    return path


def shared_file(path: Path) -> int:
    """A descriptor to write a new file that belongs to the project, as ``memcli.toml`` does.

    Clones share it, so others may read it where the umask lets them; nobody
    else may write it, whatever the umask. Raises ``FileExistsError``.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, SHARED_MODE)
    with contextlib.suppress(OSError):
        os.chmod(path, (path.stat().st_mode & SHARED_MODE) | FILE_MODE)
    return descriptor


def refuse_odd_file(path: Path) -> None:
    """Raise ``Failure`` ``storage_unsafe`` where one of our own files is a link or a pipe.

    memcli makes plain files only. A link in a cloned project's ``.memcli`` would
    choose another file to be opened, locked or written in its place, and to open
    a pipe would wait for ever.
    """
    try:
        mode = path.lstat().st_mode
    except OSError:
        return  # absent, or for whoever opens it to find out
    if not stat.S_ISREG(mode):
        kind = "symbolic link" if stat.S_ISLNK(mode) else "special file or directory"
        raise Failure(
            "storage_unsafe",
            f"{path} is a {kind}; memcli's own files never are",
            "Look what it is, then remove it.",
        )


def temporary_beside(path: Path) -> Path:
    """A fresh name in the same directory, by which leftovers of killed processes are known."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")


@contextlib.contextmanager
def replacing(path: Path, *, mode: int = FILE_MODE, sync: bool = True) -> Iterator[BinaryIO]:
    """A stream whose content replaces ``path`` in one step when the block ends well.

    A reader sees the old file or the new one; a block that raises leaves the old
    one. What a killed process left of an earlier try is removed. The directory
    must exist. With ``sync=False`` the caller looks after the directory, once for
    many files: that the rename survives a power loss, and that leftovers go.

    Raises:
        OSError: nothing was replaced.
    """
    if sync:
        _remove_leftovers(path)
    temporary, stream = _claimed_temporary(path)
    try:
        with stream:
            os.chmod(temporary, mode)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if os.name != "nt":
                # While the file is open nobody takes it for a leftover.
                os.replace(temporary, path)
        if os.name == "nt":
            os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if sync:
        sync_directory(path.parent)


def _claimed_temporary(path: Path) -> tuple[Path, BinaryIO]:
    """A new file beside ``path``, locked for as long as it is open."""
    while True:
        temporary = temporary_beside(path)
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
        if _claim(descriptor, wait=True) and not os.path.lexists(temporary):
            # Somebody saw it in the instant before it was locked, and removed it.
            os.close(descriptor)
            continue
        return temporary, os.fdopen(descriptor, "wb")


def _claim(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file; whether it was, which needs a file system that knows locks."""
    if os.name == "nt":
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _remove_leftovers(path: Path) -> None:
    """Remove temporaries of ``path`` whose writer is gone: nobody holds them locked."""
    beginning = f".{path.name}."
    with contextlib.suppress(OSError):
        for name in os.listdir(path.parent):
            end = name.removeprefix(beginning)
            if end == name or not _TEMPORARY_END.fullmatch(end):
                continue
            leftover = path.with_name(name)
            with contextlib.suppress(OSError):
                descriptor = os.open(leftover, os.O_RDONLY | _NO_SURPRISES)
                try:
                    if _claim(descriptor, wait=False):
                        leftover.unlink()
                finally:
                    os.close(descriptor)


def write_private(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data`` in one step, 0600 whatever the umask."""
    with replacing(path) as stream:
        stream.write(data)


def sync_directory(directory: Path) -> None:
    """Make a rename inside ``directory`` survive a power loss, where the platform can."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
