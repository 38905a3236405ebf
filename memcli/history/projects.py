"""The registry of projects: which id a root has, so that moved projects keep their history."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memcli.history.clocks import stamp
from memcli.history.store import HistoryStore
from memcli.sqlite_files import transaction

ID_OF_ROOT = """
SELECT project_id FROM projects NOT INDEXED WHERE root = ? ORDER BY last_seen DESC LIMIT 1
"""
ROOT_OF_ID = "SELECT root FROM projects NOT INDEXED WHERE project_id = ? AND root <> ''"
# A root belongs to one project: an earlier one keeps its history, under no root.
LEAVE_ROOT = "UPDATE projects SET root = '' WHERE root = ? AND project_id <> ?"
REMEMBER = """
INSERT INTO projects (project_id, root, name, created_at, last_seen) VALUES (?1, ?2, ?3, ?4, ?4)
ON CONFLICT (project_id) DO UPDATE SET
    root = excluded.root, name = excluded.name, last_seen = excluded.last_seen
"""
ALL_PROJECTS = """
SELECT projects.project_id, root, name, projects.created_at, last_seen, count(run_id) AS runs
FROM projects LEFT JOIN retrieval_runs USING (project_id)
GROUP BY projects.project_id ORDER BY last_seen DESC, projects.project_id
"""


@dataclass(frozen=True, slots=True)
class RegisteredProject:
    """A project that memcli was used in; ``runs`` counts its Runs of any status.

    ``root`` is empty when another project was found there since.
    """

    project_id: str
    root: str
    name: str
    created_at: str
    last_seen: str
    runs: int


@dataclass(frozen=True, slots=True)
class CentralRegistry:
    """Ids and roots in the central store; satisfies the ``ProjectRegistry`` protocol.

    Every method raises as :meth:`HistoryStore.reading` or ``writing`` does; a
    caller that can do without the registry wraps it in ``record_or_warn``.
    """

    store: HistoryStore

    def id_of_root(self, root: str) -> str | None:
        """The id last seen at ``root``, if any."""
        return self._one(ID_OF_ROOT, _to_column(root))

    def root_of_id(self, project_id: str) -> str | None:
        """The root where a project was last seen, if it is known."""
        return self._one(ROOT_OF_ID, project_id)

    def remember(self, project_id: str, root: str) -> None:
        """Bind a project and a root, in place of earlier bindings of either.

        Takes no write lock when that is known already.

        ``last_seen`` moves with every recorded Run.
        """
        if self.root_of_id(project_id) == root and self.id_of_root(root) == project_id:
            return
        name = Path(root).name.encode("utf-8", "replace").decode("utf-8")
        with self.store.writing() as connection, transaction(connection):
            now = stamp(self.store.now())
            connection.execute(LEAVE_ROOT, (_to_column(root), project_id))
            connection.execute(REMEMBER, (project_id, _to_column(root), name, now))

    def projects(self) -> list[RegisteredProject]:
        """Every known project, the last used first."""
        with self.store.reading() as connection:
            if connection is None:
                return []
            return [
                RegisteredProject(
                    row["project_id"],
                    _from_column(row["root"]),
                    row["name"],
                    row["created_at"],
                    row["last_seen"],
                    row["runs"],
                )
                for row in connection.execute(ALL_PROJECTS)
            ]

    def _one(self, query: str, key: str | bytes) -> str | None:
        with self.store.reading() as connection:
            if connection is None:
                return None
            row = connection.execute(query, (key,)).fetchone()
            return None if row is None else _from_column(row[0])


def _to_column(root: str) -> str | bytes:
    """A root whose bytes are no UTF-8 is stored as these bytes."""
    try:
        root.encode("utf-8")
    except UnicodeEncodeError:
        return root.encode("utf-8", "surrogateescape")
    return root


def _from_column(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
