"""One hostile project, indexed and asked once; the real model is loaded once for all commands."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from escapes.hostile_project import NAME, QUERY, Ground, break_profiles, write_notes

from memcli.models.embedder import GgufEmbedder
from memcli.models.model_shelf import ModelShelf


@dataclass(frozen=True, slots=True)
class Asked:
    """A ground with two Runs, two Cases (the first ready) and two revisions."""

    ground: Ground
    words: dict[str, str]

    def filled(self, arguments: tuple[str, ...]) -> list[str]:
        """``arguments`` with ``<run>``, ``<case>`` and the like replaced by ids and paths."""
        words = []
        for word in arguments:
            for name, value in self.words.items():
                word = word.replace(f"<{name}>", value)
            words.append(word)
        return words


@contextmanager
def sharing(bundled_embedder: GgufEmbedder) -> Iterator[None]:
    """Commands of this process share the loaded model, and leave it loaded; until the block ends.

    A test of another folder must not meet the patch.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memcli.models.model_shelf.load_embedder", lambda *_: bundled_embedder)
        patch.setattr(ModelShelf, "close", lambda _: None)
        yield


@pytest.fixture(autouse=True)
def one_model(bundled_embedder: GgufEmbedder) -> Iterator[None]:
    """Every test of this folder shares the loaded model."""
    with sharing(bundled_embedder):
        yield


@pytest.fixture(scope="session")
def asked(bundled_embedder: GgufEmbedder, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """Only read; ``own_ground`` is for what changes it."""
    with sharing(bundled_embedder):
        return _asked(Ground(tmp_path_factory.mktemp("hostile")))


def _asked(ground: Ground) -> Asked:
    write_notes(ground.root)
    break_profiles(ground.config)
    ground.must("index", "build", "--keep")
    ground.must("index", "build", "--force")
    runs = [
        ground.must("activate", query, "--json").document["run_id"]
        for query in (QUERY, "roll back by name", QUERY)
    ]
    ground.memcli("activate", QUERY, "--json", env={"MEMCLI_RERANKER": "odd"})
    made = ground.must("case", "create", *runs[:2], "--json").document["created"]
    cases = [each["case"]["case_id"] for each in made]
    ground.must(
        "case", "resolve", cases[0], "--expected-version", "1",
        "--evidence", "rank:1", "--evidence", f"resource:folder{NAME}/{NAME}.md",
    )  # fmt: skip
    ground.must("export", "--out", str(ground.base / f"exported{NAME}"))
    revisions = ground.must("index", "list", "--json").document["revisions"]
    return Asked(
        ground,
        {
            "run": runs[0],
            "other": runs[1],
            "free": runs[2],
            "case": cases[0],
            "draft": cases[1],
            "revision": revisions[-1]["revision_id"],
            "note": f"folder{NAME}/{NAME}.md",
            "fixture": str(ground.base / f"exported{NAME}" / "fixture.json"),
        },
    )


@pytest.fixture
def own_ground(asked: Asked, tmp_path: Path) -> Asked:
    """A copy that a test may change."""
    ground = Ground(tmp_path / "own")
    shutil.copytree(
        asked.ground.base, ground.base, symlinks=True, ignore=shutil.ignore_patterns("pipe*")
    )
    return Asked(ground, asked.words)
