"""A project root and a user's configuration directory, and the resolver over both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.configuration import Configuration, resolve_configuration


@pytest.fixture
def project_file(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project" / "memcli.toml"


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    return tmp_path / "config" / "config.toml"


@pytest.fixture
def resolve(project_file: Path, user_file: Path) -> Callable[..., Configuration]:
    def call(flags: dict[str, object] | None = None, **variables: str) -> Configuration:
        environ = {"HOME": "/nowhere", "MEMCLI_CONFIG": str(user_file.parent), **variables}
        return resolve_configuration(project_file.parent, environ, flags or {})

    return call
