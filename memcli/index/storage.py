"""Where the index of one project lives: the database and the files derived from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from memcli.index.faults import index_damaged

VECTORS = "vectors-{}.f32"
LEXICON = "lexicon-{}.bin"
REVISION_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


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
    def exchange_lock(self) -> Path:
        return self.directory / "exchange.lock"

    @property
    def lock_holder(self) -> Path:
        return self.directory / "build-holder.json"

    def vectors(self, revision_id: str) -> Path:
        """A revision's vectors. Raises ``index_damaged`` for an id that is none of ours."""
        return self._derived(VECTORS, revision_id)

    def lexicon(self, revision_id: str) -> Path:
        """A revision's words. Raises ``index_damaged`` for an id that is none of ours."""
        return self._derived(LEXICON, revision_id)

    def _derived(self, name: str, revision_id: str) -> Path:
        # A database can come with a cloned project, and an id with a path in it.
        if not REVISION_ID.fullmatch(revision_id):
            raise index_damaged(f"{revision_id!r} is no revision's id")
        return self.directory / name.format(revision_id)


def with_sidecars(database: Path) -> tuple[Path, Path, Path]:
    """The database and the two files SQLite keeps beside it."""
    return (
        database,
        database.with_name(f"{database.name}-wal"),
        database.with_name(f"{database.name}-shm"),
    )
