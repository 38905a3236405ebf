"""Rebuild as files change: a watcher wakes us, a cheap check says whether it matters."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.configuration.resolution import PROJECT_FILE, USER_FILE
from memcli.errors import Failure, MemcliError
from memcli.facade.freshness import SEEN_FILE
from memcli.memory.freshness import SeenRecord, changed_since

if TYPE_CHECKING:
    from memcli.facade.views import BuildReport
    from memcli.facade.workspace import Memcli

# An editor's rename-save, a checkout of a branch: what follows within STEP is one change,
# and what never pauses is built after DEBOUNCE all the same.
STEP_MS = 200
DEBOUNCE_MS = 2000
# The check is cheap, so what the watcher misses is found soon: a directory made while it
# started, an overflowing queue, a network file system that tells nothing.
CHECK_MS = 5000


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """What changed (paths, those of the project relative to it) and what came of it.

    Exactly one of ``report`` and ``error`` is set. After an error the watch goes
    on: the next change may mend it.
    """

    paths: tuple[str, ...]
    report: BuildReport | None
    error: MemcliError | None


def watch(
    memcli: Memcli, flags: Mapping[str, object], build: Callable[[], BuildReport]
) -> Iterator[WatchEvent]:
    """Wait for changes of memory or settings and ``build``, until the caller stops.

    A build must have been made before. ``flags`` are those the project was
    opened with. Models stay loaded unless the settings name others.

    Raises ``Failure`` ``watch_failed`` where the system cannot watch, and
    ``KeyboardInterrupt`` as it comes.
    """
    state = _State(memcli, flags, build)
    while True:
        directories = _directories(memcli)
        for woken in _wakes(directories):
            event = state.look(woken)
            if event is not None:
                yield event
            if _directories(memcli) != directories:
                break


def _wakes(directories: frozenset[str]) -> Iterator[bool]:
    """True for each burst of changes, false when it is time to look without one."""
    from watchfiles import watch as changes

    try:
        # Each directory by itself: what git ignores, virtual environments and our own
        # .memcli are never walked, so they are not watched either.
        for found in changes(
            *sorted(directories),
            watch_filter=None,
            step=STEP_MS,
            debounce=DEBOUNCE_MS,
            rust_timeout=CHECK_MS,
            yield_on_timeout=True,
            recursive=False,
            ignore_permission_denied=True,
        ):
            yield bool(found)
    except FileNotFoundError:
        yield True  # A directory went before it was watched: that is a change.
    except OSError as error:
        raise Failure(
            "watch_failed",
            f"{len(directories)} directories cannot be watched: {error}",
            "Raise the system's limit (fs.inotify.max_user_watches), "
            "or set WATCHFILES_FORCE_POLLING=true.",
        ) from error


class _State:
    """What was last said, so that a fault that stays is not told every five seconds."""

    def __init__(
        self, memcli: Memcli, flags: Mapping[str, object], build: Callable[[], BuildReport]
    ) -> None:
        self._memcli = memcli
        self._flags = flags
        self._build = build
        self._failed = False
        self._settings_fault = ""

    def look(self, woken: bool) -> WatchEvent | None:
        """Build if something changed; ``woken`` tells that the watcher saw something."""
        memcli = self._memcli
        try:
            settings = memcli.reload_configuration(self._flags)
            self._settings_fault = ""
        except MemcliError as error:
            told, self._settings_fault = self._settings_fault, error.message
            same = told == error.message
            return None if same else WatchEvent(_settings_files(memcli), None, error)
        paths = (*(_settings_files(memcli) if settings else ()), *_changed_paths(memcli))
        # A failed build leaves everything changed: it is tried again when more changes.
        if not paths or (self._failed and not woken):
            return None
        try:
            report = self._build()
        except MemcliError as error:
            self._failed = True
            return WatchEvent(paths, None, error)
        self._failed = False
        return WatchEvent(paths, report, None)


def _record(memcli: Memcli) -> SeenRecord | None:
    """What the last build saw; ``None`` where it could not be kept."""
    try:
        data = (memcli.storage.directory / SEEN_FILE).read_bytes()
    except OSError:
        return None
    return SeenRecord.from_bytes(data.partition(b"\n")[2])


def _changed_paths(memcli: Memcli) -> tuple[str, ...]:
    record = _record(memcli)
    if record is None:
        return (".",)
    changes = changed_since(
        record,
        memcli.project.root,
        memcli.sources,
        max_file_bytes=memcli.configuration.max_file_bytes,
        environ=memcli.surroundings.environ,
    )
    if changes.sources_changed:
        return (".",)
    root = f"{os.path.realpath(memcli.project.root)}{os.sep}"
    return tuple(path.removeprefix(root) for path in changes.paths)


def _directories(memcli: Memcli) -> frozenset[str]:
    """Every directory that the last build walked, and those of the settings files."""
    root = os.path.realpath(memcli.project.root)
    record = _record(memcli)
    walked = [os.path.join(root, path) for path, _, _ in record.directories] if record else []
    settings = [root, str(memcli.configuration.config_directory)]
    return frozenset(os.path.normpath(path) for path in (*walked, *settings) if os.path.isdir(path))


def _settings_files(memcli: Memcli) -> tuple[str, ...]:
    user = memcli.configuration.config_directory / USER_FILE
    return tuple(
        shown
        for shown, path in ((PROJECT_FILE, memcli.project.root / PROJECT_FILE), (str(user), user))
        if Path(path).exists()
    )
