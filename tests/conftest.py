"""What many tests share: the real bundled model loaded once, and a project with its own homes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from memcli.facade import Memcli, Surroundings
from memcli.models.devices import choose_device
from memcli.models.embedder import GgufEmbedder
from memcli.models.loading import load_embedder
from memcli.models.profile import BUNDLED_EMBEDDER

SAMPLES = Path(__file__).parent.parent / "sample_projects"


@pytest.fixture(scope="session")
def bundled_embedder() -> Iterator[GgufEmbedder]:
    """The embedder that ships with memcli, for real."""
    embedder = load_embedder(BUNDLED_EMBEDDER, choose_device("auto", 0))
    yield embedder
    embedder.close()


@pytest.fixture
def homes(tmp_path: Path) -> dict[str, str]:
    """Variables that keep memcli's own files inside the test."""
    return {
        "MEMCLI_HOME": str(tmp_path / "central"),
        "MEMCLI_CONFIG": str(tmp_path / "config"),
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
    }


@pytest.fixture
def write_notes(tmp_path: Path) -> Callable[[Mapping[str, str]], Path]:
    """Write notes by path below a fresh project root, and give the root."""

    def write(notes: Mapping[str, str]) -> Path:
        root = tmp_path / "project"
        root.mkdir(exist_ok=True)
        (root / "memcli.toml").touch()
        for path, text in notes.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return root

    return write


@pytest.fixture
def open_project(homes: dict[str, str]) -> Iterator[Callable[..., Memcli]]:
    """Open the facade on a root; closed at the end of the test."""
    opened: list[Memcli] = []

    def open_(root: Path, **flags: object) -> Memcli:
        around = Surroundings(environ=homes)
        memcli = Memcli.open(root, project=root, flags=flags, surroundings=around)
        opened.append(memcli)
        return memcli

    yield open_
    for memcli in opened:
        memcli.close()
