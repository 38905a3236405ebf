"""Where the index of one project lives: the database and the files derived from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

VECTORS = "vectors-{}.f32"
LEXICON = "lexicon-{}.bin"


@dataclass(frozen=True, slots=True)
class IndexStorage:
    """The paths under ``<project>/.memcli``; nothing is created here."""

    directory: Path

    @classmethod
    def of_project(cls, root: Path) -> IndexStorage:
        return cls(root / ".memcli")

    @property
    def database(self) -> Path:
        return self.directory / "search-index.sqlite"

    @property
    def token_vectors(self) -> Path:
        return self.directory / "token-vectors.sqlite"

    @property
    def lock(self) -> Path:
        return self.directory / "build.lock"

    @property
    def lock_holder(self) -> Path:
        return self.directory / "build-holder.json"

    def vectors(self, revision_id: str) -> Path:
        return self.directory / VECTORS.format(revision_id)

    def lexicon(self, revision_id: str) -> Path:
        return self.directory / LEXICON.format(revision_id)


def with_sidecars(database: Path) -> tuple[Path, Path, Path]:
    """The database and the two files SQLite keeps beside it."""
    return (
        database,
        database.with_name(f"{database.name}-wal"),
        database.with_name(f"{database.name}-shm"),
    )
