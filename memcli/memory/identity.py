"""Which project is this: its id, where the id came from, and settling a new one."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Protocol, TypeVar

from memcli.configuration.resolution import PROJECT_FILE, PROJECT_ID, configured_project_id
from memcli.errors import Conflict, Failure, InvalidInput, MemcliError
from memcli.locations import refuse_odd_file, write_private
from memcli.memory.project import STORAGE, create_storage

PROJECT_ID_FILE = "project-id"
SETTLING_TIMEOUT_SECONDS = 30.0
_MARK = "# check "
Answer = TypeVar("Answer")


class ProjectRegistry(Protocol):
    """The central store's memory of which project lives where; ``history`` provides it."""

    def id_of_root(self, root: str) -> str | None:
        """The project last remembered at this root."""

    def root_of_id(self, project_id: str) -> str | None:
        """The root at which this project was last remembered."""

    def remember(self, project_id: str, root: str) -> None:
        """Bind the id and the root; earlier bindings of either are replaced."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A project's id and where it came from.

    ``origin`` is ``memcli.toml``, ``project-id``, ``registry``, ``new`` or
    ``copy`` (a new id, because the one found belongs to another root that still
    has it). ``is_new`` ids exist nowhere yet: ``settle_identity`` makes them
    last. ``warnings`` say what of the registry could not be used.
    """

    project_id: str
    origin: str
    is_new: bool
    warnings: tuple[str, ...] = ()


def resolve_identity(
    root: Path,
    *,
    configured_id: str | None,
    registry: ProjectRegistry | None,
    new_id: Callable[[], str],
) -> Identity:
    """The id of the project at ``root``; writes nothing.

    ``configured_id`` is the ``id`` of ``memcli.toml``, which clones share on
    purpose. ``registry`` is ``None`` where there is no central store yet; one
    that fails becomes a warning, for the history is best effort. Raises
    ``InvalidInput`` ``project_id_invalid`` for a damaged ``project-id`` file.
    """
    if configured_id is not None:
        return Identity(configured_id, PROJECT_FILE, is_new=False)
    here = os.path.realpath(root)
    kept = read_project_id(root)
    known, warnings = _ask(registry, lambda it: it.id_of_root(here))
    if kept is None:
        if known is not None:
            return Identity(known, "registry", False, warnings)
        return Identity(new_id(), "new", True, warnings)
    owner, more = _ask(registry, lambda it: it.root_of_id(kept))
    warnings = tuple(dict.fromkeys((*warnings, *more)))
    if owner is None or os.path.realpath(owner) == here or not _root_has_id(Path(owner), kept):
        return Identity(kept, PROJECT_ID_FILE, False, warnings)
    if known is not None and known != kept:
        return Identity(known, "registry", False, warnings)
    return Identity(new_id(), "copy", True, warnings)


def settle_identity(
    root: Path,
    *,
    configured_id: str | None,
    registry: ProjectRegistry | None,
    new_id: Callable[[], str],
    trusted: bool = False,
) -> Identity:
    """Resolve the id and make it last: in ``.memcli/project-id`` and in the registry.

    Several first commands at once agree on one id: a new one is settled under a
    file lock. An ``id`` of ``memcli.toml`` needs no file. Where the project
    cannot be written the registry alone keeps the id, with a warning; where that
    fails too: ``Failure`` ``project_not_writable``. Raises also ``Conflict``
    ``busy``, and ``InvalidInput`` as ``resolve_identity`` and
    ``storage_directory`` do.
    """
    resolved = resolve_identity(root, configured_id=configured_id, registry=registry, new_id=new_id)
    unwritable: Failure | None = None
    if resolved.origin != PROJECT_FILE and resolved.project_id != read_project_id(root):
        try:
            resolved = _settled(root, resolved, registry, new_id, trusted)
        except Failure as error:
            unwritable = error
    here = os.path.realpath(root)
    _, warnings = _ask(registry, lambda it: _bind(it, resolved.project_id, here))
    if unwritable is not None:
        if registry is None or warnings:
            raise unwritable
        warnings = (f"only the registry keeps the project's id: {unwritable.message}",)
    warnings = tuple(dict.fromkeys((*resolved.warnings, *warnings)))
    return replace(resolved, is_new=False, warnings=warnings)


def _bind(registry: ProjectRegistry, project_id: str, root: str) -> None:
    if registry.id_of_root(root) != project_id or registry.root_of_id(project_id) != root:
        registry.remember(project_id, root)


def _settled(
    root: Path,
    resolved: Identity,
    registry: ProjectRegistry | None,
    new_id: Callable[[], str],
    trusted: bool,
) -> Identity:
    from filelock import FileLock, Timeout

    storage = create_storage(root, trusted=trusted)
    refuse_odd_file(storage / f"{PROJECT_ID_FILE}.lock")
    lock = FileLock(storage / f"{PROJECT_ID_FILE}.lock", SETTLING_TIMEOUT_SECONDS, mode=0o600)
    try:
        with lock:
            # Another process may have settled the id while this one waited.
            now = resolve_identity(root, configured_id=None, registry=registry, new_id=new_id)
            if not (now.is_new and resolved.is_new):
                resolved = now
            if resolved.project_id != read_project_id(root):
                write_private(storage / PROJECT_ID_FILE, _file_of(resolved.project_id))
    except Timeout as error:
        raise Conflict(
            "busy", f"another process holds {lock.lock_file}", "Try again in a moment."
        ) from error
    except OSError as error:
        raise Failure(
            "project_not_writable",
            f"{storage / PROJECT_ID_FILE} cannot be written: {error.strerror or error}",
            "Check the permissions of the project directory and the free space.",
        ) from error
    return resolved


def _file_of(project_id: str) -> bytes:
    """The id behind a line that tells whether it is whole; people may write the id alone."""
    return f"{_MARK}{sha256(project_id.encode()).hexdigest()[:8]}\n{project_id}\n".encode()


def read_project_id(root: Path) -> str | None:
    """The id in ``.memcli/project-id``; ``None`` where there is none or it is blank."""
    path = root / STORAGE / PROJECT_ID_FILE
    if not os.path.isfile(path):
        return None
    try:
        # A link in a cloned project would make a word of another file its id.
        refuse_odd_file(path)
        with path.open("rb") as stream:
            text = stream.read(1024).decode("utf-8-sig", errors="replace").strip()
    except Failure as error:
        raise InvalidInput("project_id_invalid", error.message, error.hint) from error
    except OSError as error:
        raise InvalidInput(
            "project_id_invalid",
            f"{path} cannot be read: {error.strerror or error}",
            "Make the file readable, or delete it: memcli restores it from its registry.",
        ) from error
    if not text:
        return None
    if text.startswith(_MARK):
        # A flipped bit would make another id of it, and all the history seem gone.
        checked = text.rpartition("\n")[2]
        text = checked if text == _file_of(checked).decode("utf-8", "replace").strip() else ""
    if not PROJECT_ID.fullmatch(text):
        raise InvalidInput(
            "project_id_invalid",
            f"{path} holds no project id (1 to 64 letters, digits, '.', '_' and '-')",
            "Delete the file: memcli restores it from its registry.",
        )
    return text


def _root_has_id(root: Path, project_id: str) -> bool:
    """Whether the project at another root still goes by this id; faults there count as no."""
    if not os.path.isdir(root):
        return False
    try:
        return project_id in (configured_project_id(root), read_project_id(root))
    except InvalidInput:
        return False


def _ask(
    registry: ProjectRegistry | None, question: Callable[[ProjectRegistry], Answer]
) -> tuple[Answer | None, tuple[str, ...]]:
    if registry is None:
        return None, ()
    try:
        return question(registry), ()
    # Whatever is wrong with the history, the project can still be used; the caller shows it.
    except Exception as error:
        summary = error.message if isinstance(error, MemcliError) else str(error)
        return None, (f"the project registry could not be used: {summary}",)
