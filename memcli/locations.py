"""Where memcli keeps its files, and how it creates them: for their owner alone."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from memcli.errors import Failure

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600


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


def write_private(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data`` in one step: a reader sees the old file or the new one."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            os.chmod(temporary, FILE_MODE)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make a rename inside ``directory`` survive a power loss, where the platform can."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
