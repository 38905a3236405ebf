"""The project's own files through the facade: its settings, and where its notes lie on disk."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.errors import Failure, MemcliError
from memcli.memory.project import is_inside
from memcli.memory.resource import Scope
from memcli.memory.sources import GLOBAL_MEMORY

if TYPE_CHECKING:
    from memcli.configuration import Configuration
    from memcli.facade.configuration_view import ConfigurationView
    from memcli.facade.surroundings import Surroundings
    from memcli.index.storage import IndexStorage
    from memcli.memory.identity import Identity
    from memcli.memory.project import Project
    from memcli.memory.sources import Source

# (resource id, scope, path key), as fragments and candidates carry them.
Named = tuple[str, str, str]


class ProjectAccess(ABC):
    """The part of ``Memcli`` about settings and files; none of it loads a model."""

    project: Project
    configuration: Configuration
    surroundings: Surroundings
    _identity: Identity | None

    @abstractmethod
    def close(self) -> None:
        """Free the loaded models."""

    @property
    @abstractmethod
    def storage(self) -> IndexStorage:
        """The index's place."""

    @property
    @abstractmethod
    def sources(self) -> tuple[Source, ...]:
        """Where memory comes from."""

    def configuration_view(self) -> ConfigurationView:
        """Every setting with its origin, and the files that were considered."""
        from memcli.facade.configuration_view import view_of

        return view_of(self.project, self.configuration)

    def reload_configuration(self, flags: Mapping[str, object]) -> bool:
        """Resolve the settings again, with the flags that the project was opened with.

        Returns whether they are others now; models stay loaded where theirs are
        the same. Raises as ``Memcli.open``, and leaves the old ones in force then.
        """
        from memcli.configuration import resolve_configuration

        fresh = resolve_configuration(self.project.root, self.surroundings.environ, flags)
        old = self.configuration
        if fresh == old:
            return False
        if _model_settings(fresh) != _model_settings(old):
            self.close()
        self.configuration = fresh
        for derived in ("sources", "storage"):
            self.__dict__.pop(derived, None)
        if fresh.project_id != old.project_id:
            self._identity = None
        return True

    def files_of(self, revision_id: str | None, named: Iterable[Named]) -> dict[str, Path]:
        """The files on disk, by resource id; left out where there is none any more.

        ``revision_id`` is the one that was searched. An index can come with a
        cloned project, so only files inside the sources are taken from it.
        """
        from memcli.index.places import files_of

        wanted = list(named)
        ids = [resource_id for resource_id, _, _ in wanted]
        recorded: list[dict[str, str]] = []
        for revision in dict.fromkeys((revision_id, None)):
            try:
                recorded.append(files_of(self.storage, revision, ids))
            except MemcliError:
                continue  # What an unreadable index does not tell, the path key may.
        roots = {os.path.realpath(each.root) for each in self.sources}
        found = {}
        for resource_id, scope, path in wanted:
            places = [each[resource_id] for each in recorded if resource_id in each]
            # A moved project's index still names the old place.
            places.append(str(self._root_of(scope) / path))
            for place in places:
                if _is_file_in(place, roots):
                    found[resource_id] = Path(place)
                    break
        return found

    def file_of(self, resource_id: str, scope: str, path: str, revision_id: str | None) -> Path:
        """The file of one resource. Raises ``Failure`` ``file_not_found``."""
        found = self.files_of(revision_id, [(resource_id, scope, path)])
        if resource_id not in found:
            raise Failure(
                "file_not_found",
                f"{path} is not among the project's files any more",
                "`memcli memory list` shows what is there now.",
            )
        return found[resource_id]

    def _root_of(self, scope: str) -> Path:
        if scope == Scope.GLOBAL:
            return self.configuration.config_directory / GLOBAL_MEMORY
        return self.project.root


def _model_settings(configuration: Configuration) -> list[object]:
    return [each.value for each in configuration.settings if each.key.startswith("models.")]


def _is_file_in(place: str, roots: Iterable[str]) -> bool:
    real = os.path.realpath(place)
    return os.path.isfile(real) and any(is_inside(real, root) for root in roots)
