"""Models through the facade: list, add, choose, pull, verify."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.errors import Conflict, MemcliError
from memcli.locations import central_home
from memcli.models.profile_store import ProfileStore, StoredProfile, check_name

if TYPE_CHECKING:
    from memcli.configuration import Configuration
    from memcli.facade.model_views import (
        ModelAdded,
        ModelChoice,
        ModelListing,
        ModelVerification,
    )
    from memcli.facade.surroundings import Surroundings
    from memcli.memory.project import Project
    from memcli.models.adding import CheckedModel, Wanted
    from memcli.models.model_shelf import ModelShelf
    from memcli.models.profile import ModelProfile, PairForm, Pooling, Role

OFFLINE_VARIABLE = "MEMCLI_OFFLINE"


class ModelAccess(ABC):
    """The part of ``Memcli`` about models. They are the user's, whatever the project.

    A profile added or pulled here is known to this object at once; a choice
    counts for the next one that is opened, since settings are resolved then.
    """

    project: Project
    configuration: Configuration
    surroundings: Surroundings

    @property
    @abstractmethod
    def shelf(self) -> ModelShelf:
        """The models, loaded when they are first used."""

    @abstractmethod
    def close(self) -> None:
        """Free the loaded models."""

    @property
    def profile_store(self) -> ProfileStore:
        """The user's own profiles."""
        return ProfileStore(self.configuration.config_directory)

    @property
    def known_profiles(self) -> dict[str, ModelProfile]:
        """The user's own profiles that can be read, by name."""
        return self.profile_store.load().known

    @property
    def broken_profiles(self) -> dict[str, MemcliError]:
        """The user's own profiles that cannot be read, each with what is wrong."""
        return dict(self.profile_store.load().problems)

    @property
    def model_directory(self) -> Path:
        """Where pulled and copied model files lie."""
        return central_home(self.surroundings.environ) / "models"

    def list_models(self) -> ModelListing:
        """Every model that is here or can be pulled; reads no model file."""
        from memcli.facade.model_listing import list_models

        return list_models(self.configuration, self.profile_store)

    def has_model(self, name: str) -> bool:
        """Whether the user has a profile of this name, be it a broken one."""
        return self.profile_store.path_of(name).exists()

    def is_added_by_hand(self, name: str) -> bool:
        """Whether the user has a profile of this name that was not pulled."""
        held = self.profile_store.load().profiles.get(name)
        return held is not None and not held.source

    def add_model(
        self,
        name: str,
        file: Path,
        *,
        role: Role | None = None,
        pooling: Pooling | None = None,
        query_prefix: str | None = None,
        passage_prefix: str | None = None,
        pair_form: PairForm | None = None,
        max_tokens: int = 0,
        copy: bool = False,
        replace: bool = False,
    ) -> ModelAdded:
        """Let a GGUF file prove that it does the job, then keep its profile.

        What is not given comes from the file's header. ``copy`` keeps a copy of
        the file beside the pulled ones. Raises ``Conflict`` ``model_exists``
        unless ``replace``; what ``check_model`` raises.
        """
        import dataclasses

        from memcli.models.adding import Wanted, copy_model

        wanted = Wanted(
            name,
            Path(os.path.abspath(file)),
            role,
            pooling,
            query_prefix,
            passage_prefix,
            pair_form,
            max_tokens,
        )
        check_name(wanted.name)
        replaced = self.has_model(wanted.name)
        if replaced and not replace:
            raise _exists(wanted.name)
        before = self.profile_store.load().profiles.get(wanted.name)
        checked = self._check(wanted)
        profile = checked.profile
        if copy:
            target = self.model_directory / f"{wanted.name}.gguf"
            if target != profile.file:
                copy_model(profile.file, target, profile.sha256)
            profile = dataclasses.replace(profile, file=target)
        added_at = self.surroundings.now().isoformat(timespec="seconds")
        stored = StoredProfile(profile, checked.size, added_at)
        self.profile_store.write(stored)
        self.close()
        added = self._added(stored, checked, replaced=replaced)
        told = _told_of_the_old(before, stored, self.model_directory)
        return dataclasses.replace(added, remarks=(*added.remarks, *told))

    def use_model(
        self, name: str, *, role: str | None = None, in_project: bool = False
    ) -> ModelChoice:
        """Write the setting that names ``name`` into the user's file, or into ``memcli.toml``.

        Raises ``InvalidInput``: ``model_unknown``, ``usage`` (another role),
        ``configuration_invalid``; ``NotReady`` ``model_not_ready`` (not pulled
        yet); ``Failure`` ``file_unwritable``.
        """
        from memcli.facade.model_choice import use_model

        return use_model(
            self.project,
            self.configuration,
            self.surroundings.environ,
            self.profile_store,
            name,
            role=role,
            in_project=in_project,
        )

    def pull_model(
        self,
        name: str,
        *,
        url: str | None = None,
        sha256: str | None = None,
        offline: bool = False,
        replace: bool = False,
        progress: Callable[[int, int], None] = lambda present, total: None,
        on_download: Callable[[int | None], None] = lambda size: None,
        on_check: Callable[[], None] = lambda: None,
    ) -> ModelAdded:
        """Fetch a well-known model and keep its profile: the only use of a network.

        Nothing is fetched that is here and whole. ``url`` names another source
        of the same file, ``sha256`` another digest than the known one.
        ``on_download`` hears the size before the first connection, ``on_check``
        when the file is there and has to prove itself. Raises
        ``InvalidInput`` ``model_unknown``; ``Conflict`` ``model_exists`` where
        the name is that of a model which was added by hand; what
        ``memcli.models.pulling.pull_model`` raises.
        """
        from memcli.models.model_registry import find_entry
        from memcli.models.pulling import plan_pull, pull_model

        plan = plan_pull(find_entry(name), self.model_directory, url=url, sha256=sha256)
        by_hand = self.is_added_by_hand(name)
        if by_hand and not replace:
            raise _exists(name)
        environ = self.surroundings.environ
        refused = environ.get(OFFLINE_VARIABLE, "").lower() not in ("", "0", "false", "no")
        pulled = pull_model(
            plan,
            self.profile_store,
            self._check,
            offline=offline or refused,
            now=self.surroundings.now,
            environ=environ,
            progress=progress,
            on_download=on_download,
            on_check=on_check,
        )
        self.close()
        return self._added(
            pulled.stored, pulled.checked, replaced=by_hand, downloaded=pulled.downloaded
        )

    def verify_models(
        self, name: str | None = None, on_model: Callable[[str], None] = lambda name: None
    ) -> ModelVerification:
        """Digest, header, one load and the golden pair of one model or of all that are here."""
        from memcli.facade.model_proof import verify

        shelf = self.shelf
        return verify(
            self.configuration,
            self.profile_store,
            shelf.device,
            name,
            clock=self.surroundings.clock,
            guard=self.surroundings.native_guard,
            on_model=on_model,
        )

    def _check(self, wanted: Wanted) -> CheckedModel:
        from memcli.models.adding import check_model

        return check_model(wanted, self.shelf.device, self.surroundings.native_guard)

    def _added(
        self,
        stored: StoredProfile,
        checked: CheckedModel | None,
        *,
        replaced: bool,
        downloaded: bool | None = None,
    ) -> ModelAdded:
        from memcli.facade.model_listing import uses_by_name
        from memcli.facade.model_views import ModelAdded, row_of_stored
        from memcli.models.model_registry import REGISTRY

        name = stored.profile.name
        entry = next((each for each in REGISTRY if each.name == name), None)
        row = row_of_stored(stored, entry, uses_by_name(self.configuration).get(name, ()))
        return ModelAdded(
            model=row,
            profile_path=self.profile_store.path_of(name),
            remarks=checked.remarks if checked else (),
            answered=checked.answered if checked else None,
            questions=checked.calibration.pairs if checked else None,
            replaced=replaced,
            downloaded=downloaded,
        )


def _exists(name: str) -> Conflict:
    return Conflict(
        "model_exists",
        f"there is a model called {name} already",
        "Choose another name, or add --yes to replace it.",
    )


def _told_of_the_old(
    before: StoredProfile | None, now: StoredProfile, directory: Path
) -> Iterator[str]:
    """What becomes of the model that had the name before."""
    if before is None:
        return
    old, new = before.profile, now.profile
    if old.sha256 != new.sha256 and old.role == "embed":
        yield (
            "an index that was built with the earlier model of this name needs that file: run "
            "`memcli index build`"
        )
    if old.file.parent == directory and old.file != new.file and old.file.exists():
        yield f"{old.file} is used no more; delete it to free {before.size} bytes"
