"""Choose a model for a job: the setting is written into the user's or the project's own file."""

from __future__ import annotations

import os
from collections.abc import Mapping

from memcli.configuration import Configuration, resolve_configuration
from memcli.configuration.options import looks_like_path
from memcli.configuration.resolution import PROJECT_FILE, USER_FILE
from memcli.configuration.toml_editing import set_value
from memcli.errors import InvalidInput, NotReady
from memcli.facade.model_listing import SETTINGS
from memcli.facade.model_views import ModelChoice, row_of_stored
from memcli.memory.project import Project, is_inside
from memcli.models.model_registry import REGISTRY, unknown_model
from memcli.models.profile import BUNDLED_EMBEDDER, LATE_INTERACTION
from memcli.models.profile_store import ProfileStore


def use_model(
    project: Project,
    configuration: Configuration,
    environ: Mapping[str, str],
    store: ProfileStore,
    name: str,
    *,
    role: str | None,
    in_project: bool,
) -> ModelChoice:
    """See ``ModelAccess.use_model``."""
    found = _role_of(name, store)
    if role and role != found:
        raise InvalidInput(
            "usage",
            f"{name} has the role {found}, not {role}",
            "Leave out --role, or choose another model: `memcli models list`.",
        )
    setting = SETTINGS[found]
    table, _, key = setting.partition(".")
    if in_project:
        file = project.root / PROJECT_FILE
        if not (
            configuration.trusted
            or is_inside(os.path.realpath(file), os.path.realpath(project.root))
        ):
            raise InvalidInput(
                "project_refused",
                f"{file} leads out of the project: it is not written to",
                "Replace the link by a file, or choose without --project.",
            )
    else:
        file = configuration.config_directory / USER_FILE
    previous = set_value(file, table, key, name, private=not in_project)
    now = resolve_configuration(project.root, environ, {})
    in_force = next(each for each in now.settings if each.key == setting)
    return ModelChoice(name, found, setting, file, previous, str(in_force.value), in_force.origin)


def _role_of(name: str, store: ProfileStore) -> str:
    built_in = {BUNDLED_EMBEDDER.name: "embed", LATE_INTERACTION: "rerank"}
    if name in built_in:
        return built_in[name]
    held = store.load()
    if name in held.problems:
        raise held.problems[name]
    if name in held.profiles:
        stored = held.profiles[name]
        if problem := row_of_stored(stored, None).problem:
            raise NotReady("model_not_ready", problem, f"Check it: `memcli models verify {name}`.")
        return stored.profile.role
    if any(entry.name == name for entry in REGISTRY):
        raise NotReady(
            "model_not_ready",
            f"{name} is not installed yet",
            f"Run `memcli models pull {name}` first.",
        )
    if looks_like_path(name):
        raise InvalidInput(
            "usage",
            f"{name!r} is a file, and this command takes the name of a model",
            "Run `memcli models add NAME FILE.gguf` first, then `memcli models use NAME`.",
        )
    raise unknown_model(name, [*built_in, *held.profiles])
