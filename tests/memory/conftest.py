"""A project made file by file, with a home and a configuration directory of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from root_powers import no_root_powers

from memcli.configuration import resolve_configuration
from memcli.memory.resource import EffectiveMemory
from memcli.memory.synthesis import effective_memory

Write = Callable[..., Path]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config"
    (path / "memory").mkdir(parents=True)
    return path


@pytest.fixture
def environ(tmp_path: Path, config: Path) -> Mapping[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    return {"HOME": str(home), "MEMCLI_CONFIG": str(config), "MEMCLI_HOME": str(tmp_path / "data")}


@pytest.fixture
def rights_matter() -> Iterator[None]:
    """Permissions count, also where the tests run as root."""
    with no_root_powers():
        yield


@pytest.fixture
def write(root: Path) -> Write:
    """Write a file of the project, parents included; text or bytes."""

    def write_file(name: str, content: str | bytes = "# A note\n\ntext\n") -> Path:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


@pytest.fixture
def memory(root: Path, environ: Mapping[str, str]) -> Callable[[], EffectiveMemory]:
    """The project's Effective Memory as its files are now."""

    def synthesize() -> EffectiveMemory:
        return effective_memory(resolve_configuration(root, environ, {}), environ)

    return synthesize
