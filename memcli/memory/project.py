"""Find the project root, and the directories of a root that belong to memcli."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from memcli.configuration.resolution import PROJECT_FILE
from memcli.errors import Failure, InvalidInput
from memcli.locations import central_home, config_directory, private_directory, write_private

STORAGE = ".memcli"
LOCAL_MEMORY = ".memcli.local"
IGNORE_EVERYTHING = b"*\n"


@dataclass(frozen=True, slots=True)
class Project:
    """A project root (absolute, symbolic links resolved) and what made it the root."""

    root: Path
    found_by: str


def discover_project(
    start: Path,
    environ: Mapping[str, str],
    override: str | None = None,
    allow_broad: bool = False,
) -> Project:
    """The project that ``start`` belongs to; reads directories only, writes nothing.

    ``override`` or ``MEMCLI_PROJECT`` names the root itself, relative to
    ``start``. Else it is the nearest ancestor with ``memcli.toml``, else with
    ``.memcli/``, else the git root, else ``start``. A home directory, one above
    it, or a filesystem root is refused unless ``allow_broad``; a ``.memcli/`` or
    ``.git`` found up there does not claim what lies below.

    Raises ``InvalidInput``: ``project_not_found``, ``project_refused``.
    """
    if override or environ.get("MEMCLI_PROJECT"):
        named_by = "--project" if override else "MEMCLI_PROJECT"
        project = _overridden(start, override or environ["MEMCLI_PROJECT"], named_by)
    else:
        project = _nearest(Path(os.path.realpath(start)), environ)
    if not allow_broad and is_broad(project.root, environ):
        raise InvalidInput(
            "project_refused",
            f"{project.root} is a home or root directory, too broad for a project",
            "Name the project with -C/--project, or confirm with --yes.",
        )
    return project


def _overridden(start: Path, named: str, named_by: str) -> Project:
    path = start / Path(named).expanduser()
    if not os.path.isdir(path):
        what = "is not a directory" if os.path.lexists(path) else "does not exist"
        raise InvalidInput(
            "project_not_found", f"the project {path} {what}", f"It was named by {named_by}."
        )
    return Project(Path(os.path.realpath(path)), named_by)


def _nearest(start: Path, environ: Mapping[str, str]) -> Project:
    lineage = (start, *start.parents)
    for directory in lineage:
        if os.path.isfile(directory / PROJECT_FILE):
            return Project(directory, PROJECT_FILE)
    own_places = {
        os.path.realpath(central_home(environ)),
        os.path.realpath(config_directory(environ)),
    }
    candidates = [it for it in lineage if it == start or not is_broad(it, environ)]
    for directory in candidates:
        storage = directory / STORAGE
        # MEMCLI_HOME is often ~/.memcli: that is a store, not the mark of a project.
        if os.path.isdir(storage) and os.path.realpath(storage) not in own_places:
            return Project(directory, STORAGE)
    for directory in candidates:
        if os.path.lexists(directory / ".git"):
            return Project(directory, "git")
    return Project(start, "directory")


def is_broad(path: Path, environ: Mapping[str, str]) -> bool:
    """Whether ``path`` is a home directory, an ancestor of one, or a filesystem root."""
    return any(home == path or path in home.parents for home in _homes(environ)) or (
        path == path.parent
    )


def _homes(environ: Mapping[str, str]) -> Iterator[Path]:
    for name in ("HOME", "USERPROFILE"):
        if home := environ.get(name):
            yield Path(os.path.realpath(home))
    with contextlib.suppress(RuntimeError):
        yield Path(os.path.realpath(Path.home()))


def storage_directory(root: Path, *, trusted: bool = False) -> Path:
    """Where the project keeps what memcli derives from it; nothing is created.

    A cloned repository may bring ``.memcli`` as a symbolic link to a place
    outside itself. Following it would let the clone choose where memcli
    writes, so it raises ``source_outside_project`` unless ``trusted``.
    """
    storage = root / STORAGE
    real_root = os.path.realpath(root)
    if not trusted and not is_inside(os.path.realpath(storage), real_root):
        raise InvalidInput(
            "source_outside_project",
            f"{storage} is a symbolic link out of the project",
            f'Remove the link, or add [trust] roots = ["{real_root}"] to your config.toml.',
        )
    return storage


def is_inside(real_path: str, real_directory: str) -> bool:
    """Whether a resolved path is the directory itself or lies below it."""
    return real_path == real_directory or real_path.startswith(
        real_directory.rstrip(os.sep) + os.sep
    )


def create_storage(root: Path, *, trusted: bool = False) -> Path:
    """``.memcli/`` of the root, 0700, created with a ``.gitignore`` that ignores all of it."""
    return _self_ignoring(storage_directory(root, trusted=trusted))


def create_local_memory(root: Path) -> Path:
    """``.memcli.local/`` of the root, 0700, created with a ``.gitignore`` that ignores it all."""
    return _self_ignoring(root / LOCAL_MEMORY)


def ignore_local_memory(root: Path) -> None:
    """Let a ``.memcli.local/`` that somebody made ignore itself; a link is left alone."""
    local = root / LOCAL_MEMORY
    if local.is_dir() and not local.is_symlink():
        _self_ignoring(local)


def _self_ignoring(directory: Path) -> Path:
    ignore = directory / ".gitignore"
    try:
        private_directory(directory)
        if not os.path.lexists(ignore):
            write_private(ignore, IGNORE_EVERYTHING)
    except OSError as error:
        raise Failure(
            "project_not_writable",
            f"{directory} cannot be created: {error.strerror or error}",
            "Check the permissions of the project directory and the free space.",
        ) from error
    return directory
