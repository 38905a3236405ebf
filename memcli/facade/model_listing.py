"""Every model that is here or could be, with what names it: no model file is read for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from memcli.configuration import Configuration
from memcli.configuration.options import looks_like_path
from memcli.errors import MemcliError
from memcli.facade.model_views import ModelInUse, ModelListing, ModelRow, row_of_stored
from memcli.models.model_registry import REGISTRY
from memcli.models.profile import BUNDLED_EMBEDDER, LATE_INTERACTION
from memcli.models.profile_store import ProfileStore

SETTINGS = {"embed": "models.embedder", "rerank": "models.reranker"}

Uses = Mapping[str, tuple[ModelInUse, ...]]


def list_models(configuration: Configuration, store: ProfileStore) -> ModelListing:
    """Built in first, then the user's own by name, then what can be pulled."""
    uses = uses_by_name(configuration)
    held = store.load()
    entries = {entry.name: entry for entry in REGISTRY}
    rows = [bundled_row(uses), late_interaction_row(uses)]
    rows += [
        row_of_stored(stored, entries.get(name), uses.get(name, ()))
        for name, stored in held.profiles.items()
    ]
    rows += [broken_row(name, error, uses) for name, error in held.problems.items()]
    rows += _paths(uses)
    present = {row.name for row in rows}
    rows += [
        ModelRow(
            name=entry.name,
            role=entry.role,
            kind="pullable",
            installed=False,
            about=entry.about,
            licence=entry.licence,
            source=entry.url,
            size=entry.size,
            sha256=entry.sha256 or None,
            in_use=uses.get(entry.name, ()),
        )
        for entry in REGISTRY
        if entry.name not in present
    ]
    return ModelListing(tuple(rows), store.directory)


def uses_by_name(configuration: Configuration) -> Uses:
    """For each model that a setting names, the settings that do."""
    uses: dict[str, tuple[ModelInUse, ...]] = {}
    for setting in configuration.settings:
        if setting.key in SETTINGS.values():
            name = str(setting.value)
            uses[name] = (*uses.get(name, ()), ModelInUse(setting.key, setting.origin))
    return uses


def bundled_row(uses: Uses) -> ModelRow:
    """The embedder that comes with the package."""
    profile = BUNDLED_EMBEDDER
    try:
        size, problem = profile.file.stat().st_size, None
    except OSError:
        size, problem = None, f"{profile.file} is not there: reinstall memcli"
    return ModelRow(
        name=profile.name,
        role=profile.role,
        kind="bundled",
        installed=problem is None,
        about="multilingual-e5-small: Latin, Cyrillic, Greek, Chinese, Japanese, Korean",
        licence="MIT",
        file=profile.file,
        size=size,
        sha256=profile.sha256,
        profile=profile,
        problem=problem,
        in_use=uses.get(profile.name, ()),
    )


def late_interaction_row(uses: Uses) -> ModelRow:
    """The reranker that needs no model but the embedder."""
    return ModelRow(
        name=LATE_INTERACTION,
        role="rerank",
        kind="built_in",
        installed=True,
        about="works over the token vectors of whichever embedder is used",
        in_use=uses.get(LATE_INTERACTION, ()),
    )


def broken_row(name: str, error: MemcliError, uses: Uses) -> ModelRow:
    """A profile that cannot be read."""
    return ModelRow(
        name=name,
        role=None,
        kind="broken",
        installed=False,
        problem=error.message,
        in_use=uses.get(name, ()),
    )


def _paths(uses: Uses) -> Iterator[ModelRow]:
    """Files that a setting names by their path."""
    for name, named_by in uses.items():
        if not looks_like_path(name):
            continue
        file = Path(name).expanduser().absolute()
        try:
            size, problem = file.stat().st_size, None
        except OSError:
            size, problem = None, f"{file} is not there"
        yield ModelRow(
            name=name,
            role="embed" if named_by[0].setting == SETTINGS["embed"] else "rerank",
            kind="file",
            installed=problem is None,
            file=file,
            size=size,
            problem=problem,
            in_use=named_by,
        )
