"""Resolve a project's settings: flags, environment, project file, user file, defaults."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memcli.configuration.options import (
    OPTION_BY_KEY,
    OPTIONS,
    Option,
    Place,
    Value,
    looks_like_path,
)
from memcli.configuration.source_tables import (
    SourceTable,
    refuse_link_outside,
    refuse_outside,
    source_tables,
    trusted_roots,
)
from memcli.configuration.toml_tables import checked_table, invalid, read_toml, refuse_unknown
from memcli.errors import InvalidInput, shown
from memcli.locations import config_directory

PROJECT_FILE = "memcli.toml"
USER_FILE = "config.toml"
PROJECT_ID = re.compile(r"(?!\.+$)[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class Setting:
    """One value with the place that it came from, for ``status`` and ``config show``."""

    key: str
    value: Value
    origin: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of an activation in force; the defaults are the design's, and its highest."""

    lexical: int = 60
    vector: int = 60
    fused: int = 40
    reranked: int = 24
    fragments: int = 12
    per_resource: int = 2
    tokens: int = 2400
    deadline_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Configuration:
    """Everything that can be configured, resolved for one project.

    ``embedder`` and ``reranker`` are a profile's name or, where the user said
    so, the path of a GGUF file. ``threads`` 0 means as many as the machine
    offers. ``sources`` are the listed ones only, the project's first.
    ``trusted`` tells that the user's own file names this root under ``[trust]``.
    """

    root: Path
    project_id: str | None
    embedder: str
    reranker: str
    threads: int
    gpu: str
    token_vectors_mb: int
    max_file_bytes: int
    record_history: bool
    limits: Limits
    sources: tuple[SourceTable, ...]
    trusted: bool
    config_directory: Path
    settings: tuple[Setting, ...]

    def origin(self, key: str) -> str:
        """Where the value of ``key`` came from."""
        return next(setting.origin for setting in self.settings if setting.key == key)


def resolve_configuration(
    root: Path, environ: Mapping[str, str], flags: Mapping[str, object]
) -> Configuration:
    """Resolve every setting for the project at ``root``.

    ``flags`` maps option keys (``models.embedder``) to what the command line
    gave; ``None`` means not given. Raises ``InvalidInput`` with
    ``configuration_invalid``, naming file and key, or ``source_outside_project``.
    """
    if unknown := flags.keys() - OPTION_BY_KEY.keys():
        raise KeyError(f"no such option: {', '.join(sorted(unknown))}")
    project_path = root / PROJECT_FILE
    directory = config_directory(environ)
    user_path = directory / USER_FILE
    user = read_toml(user_path) or {}
    trusted = os.path.realpath(root) in trusted_roots(user_path, user)
    if not trusted:
        refuse_link_outside(project_path, root, user_path)
    project = read_toml(project_path) or {}
    if "trust" in project:
        raise invalid(
            project_path,
            "a project cannot declare itself trusted ([trust])",
            f"Only your own file {user_path} can hold [trust].",
        )
    if "id" in user:
        raise invalid(user_path, "id belongs to one project", f"Put it into a {PROJECT_FILE}.")

    project_sources = source_tables(project_path, project, root, Place.PROJECT)
    if not trusted:
        refuse_outside(project_path, root, project_sources, user_path)
    user_sources = source_tables(user_path, user, directory, Place.USER)

    from_project = _options_of(project_path, project, ("id", "source"), Place.PROJECT)
    from_user = _options_of(user_path, user, ("source", "trust"), Place.USER)
    settings = tuple(_resolved(it, flags, environ, from_project, from_user) for it in OPTIONS)
    values: dict[str, Any] = {setting.key: setting.value for setting in settings}
    return Configuration(
        root=root,
        project_id=_project_id(project_path, project),
        embedder=values["models.embedder"],
        reranker=values["models.reranker"],
        threads=values["models.threads"],
        gpu=values["models.gpu"],
        token_vectors_mb=values["index.token_vectors_mb"],
        max_file_bytes=values["index.max_file_bytes"],
        record_history=values["history.record"],
        limits=Limits(**{name: values[f"limits.{name}"] for name in Limits.__slots__}),
        sources=(*project_sources, *user_sources),
        trusted=trusted,
        config_directory=directory,
        settings=settings,
    )


def configured_project_id(root: Path) -> str | None:
    """The ``id`` of the ``memcli.toml`` at ``root``, nothing else of the file being checked."""
    path = root / PROJECT_FILE
    return _project_id(path, read_toml(path) or {})


def _project_id(path: Path, document: Mapping[str, Any]) -> str | None:
    value = document.get("id")
    if value is None:
        return None
    if isinstance(value, str) and PROJECT_ID.fullmatch(value):
        return value
    raise invalid(path, f"id must be 1 to 64 letters, digits, '.', '_' and '-', not {shown(value)}")


def _options_of(
    path: Path, document: Mapping[str, Any], others: tuple[str, ...], place: Place
) -> dict[str, Value]:
    """The checked values of one file by option key; every key in it must be known."""
    tables = {option.key.partition(".")[0] for option in OPTIONS}
    for name in document:
        if name not in tables and name not in others:
            refuse_unknown(path, "", [name], [*tables, *others, *OPTION_BY_KEY])
    found = {}
    for table in tables & document.keys():
        given = checked_table(path, table, document[table])
        refuse_unknown(path, "", [f"{table}.{name}" for name in given], OPTION_BY_KEY)
        for name, value in given.items():
            option = OPTION_BY_KEY[f"{table}.{name}"]
            found[option.key] = _from_file(path, option, value, place)
    return found


def _from_file(path: Path, option: Option, value: object, place: Place) -> Value:
    checked = _checked(path, option.key, option, value)
    if not option.is_model or not isinstance(checked, str) or not looks_like_path(checked):
        return checked
    if place is Place.PROJECT:
        raise _model_path_refused(path, option, checked)
    return os.path.normpath(path.parent / os.path.expanduser(checked))


def _model_path_refused(path: Path, option: Option, name: str) -> InvalidInput:
    return invalid(
        path,
        f"{option.key} must be a profile name: "
        f"a project cannot choose a model file ({shown(name)})",
        f"Put the path into your own {USER_FILE}, or give it with {option.flag} "
        f"or {option.environment}.",
    )


def _checked(place: object, name: str, option: Option, value: object) -> Value:
    try:
        return option.read(value)
    except ValueError as error:
        raise invalid(place, f"{name} {error}") from error


def _resolved(
    option: Option,
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    project: Mapping[str, Value],
    user: Mapping[str, Value],
) -> Setting:
    key = option.key
    if (given := flags.get(key)) is not None:
        flag = f"--no-{option.flag[2:]}" if given is False else option.flag
        return Setting(key, _checked("flag", flag, option, given), f"flag {flag}")
    if text := environ.get(option.environment):
        value = _checked("environment", option.environment, option, text)
        return Setting(key, value, f"environment {option.environment}")
    if key in project:
        return Setting(key, project[key], Place.PROJECT.value)
    if key in user:
        return Setting(key, user[key], Place.USER.value)
    return Setting(key, option.default, Place.DEFAULT.value)
