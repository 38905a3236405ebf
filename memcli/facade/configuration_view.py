"""What ``config show`` tells: every setting with its origin, and the files that were looked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memcli.configuration import OPTIONS, Configuration, SourceTable
from memcli.configuration.options import Place
from memcli.configuration.resolution import PROJECT_FILE, USER_FILE
from memcli.memory.project import Project

SCHEMA = "memcli.config.show.v1"

Rows = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ConsideredFile:
    """A configuration file that is read where it exists; ``origin`` is its name in settings."""

    path: Path
    origin: str
    exists: bool


@dataclass(frozen=True, slots=True)
class ConfigurationView:
    """One project's resolved settings, files in the order of their precedence."""

    project: Project
    configuration: Configuration
    files: tuple[ConsideredFile, ...]

    def sections(self) -> Iterator[tuple[str, Rows]]:
        """Titled rows for a person."""
        configuration = self.configuration
        trust = "yes, by your config.toml" if configuration.trusted else "no"
        yield (
            "project",
            [
                ("root", f"{self.project.root} (found by {self.project.found_by})"),
                ("id", configuration.project_id or "not configured"),
                ("trusted", trust),
            ],
        )
        yield (
            "files",
            [
                (each.origin, f"{each.path}{'' if each.exists else ' (not there)'}")
                for each in self.files
            ],
        )
        values = {each.key: _value_text(each.value) for each in configuration.settings}
        width = max(map(len, values.values()))
        yield (
            "settings",
            [
                (each.key, f"{values[each.key]:<{width}}  {each.origin}")
                for each in configuration.settings
            ],
        )
        if configuration.sources:
            yield "sources", [(each.scope, _source_text(each)) for each in configuration.sources]

    def document(self) -> dict[str, Any]:
        """What ``config show --json`` prints."""
        configuration = self.configuration
        options = {each.key: each for each in OPTIONS}
        return {
            "schema": SCHEMA,
            "project": {
                "root": str(self.project.root),
                "found_by": self.project.found_by,
                "project_id": configuration.project_id,
                "trusted": configuration.trusted,
            },
            "files": [
                {"path": str(each.path), "origin": each.origin, "exists": each.exists}
                for each in self.files
            ],
            "settings": [
                {
                    "key": each.key,
                    "value": each.value,
                    "origin": each.origin,
                    "default": options[each.key].default,
                    "environment": options[each.key].environment,
                }
                for each in configuration.settings
            ],
            "sources": [
                {
                    "scope": each.scope,
                    "root": str(each.root),
                    "include": list(each.include),
                    "exclude": list(each.exclude),
                    "kind": each.kind,
                    "prefix": each.prefix,
                    "origin": each.place.value,
                }
                for each in configuration.sources
            ],
        }


def _value_text(value: object) -> str:
    """As it is written in TOML, without the quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _source_text(source: SourceTable) -> str:
    patterns = [*source.include, *(f"!{each}" for each in source.exclude)]
    shown = f" ({', '.join(patterns)})" if patterns else ""
    return f"{source.root}{shown}, from {source.place.value}"


def view_of(project: Project, configuration: Configuration) -> ConfigurationView:
    """The view of settings that were resolved for ``project``."""
    places = (
        (project.root / PROJECT_FILE, Place.PROJECT),
        (configuration.config_directory / USER_FILE, Place.USER),
    )
    return ConfigurationView(
        project,
        configuration,
        tuple(ConsideredFile(path, place.value, os.path.lexists(path)) for path, place in places),
    )
