"""What ``init`` finds in a project, and the commented ``memcli.toml`` that it writes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memcli.configuration.resolution import PROJECT_FILE, configured_project_id
from memcli.errors import Conflict, Failure, MemcliError
from memcli.facade.init_template import project_file_text
from memcli.facade.surroundings import Surroundings
from memcli.history.projects import CentralRegistry
from memcli.history.store import HistoryStore
from memcli.locations import FILE_MODE, central_home, config_directory, replacing, shared_file
from memcli.memory.identity import resolve_identity
from memcli.memory.project import LOCAL_MEMORY, Project, discover_project
from memcli.memory.resource import Scope
from memcli.memory.sources import GLOBAL_MEMORY, Source

if TYPE_CHECKING:
    from memcli.memory.walk import Walk

SCHEMA = "memcli.init.v1"

# Files and folders that people and agents are known to keep memory in; a folder ends in /.
KNOWN = {
    "AGENTS.md": "rules for coding agents",
    "AGENT.md": "rules for coding agents",
    "CLAUDE.md": "rules for Claude Code",
    "CLAUDE.local.md": "your own rules for Claude Code",
    "GEMINI.md": "rules for Gemini CLI",
    "QWEN.md": "rules for Qwen Code",
    ".github/copilot-instructions.md": "rules for GitHub Copilot",
    ".github/instructions/": "rules for GitHub Copilot",
    ".github/": "",
    ".cursor/rules/": "rules for Cursor",
    ".windsurf/rules/": "rules for Windsurf",
    ".clinerules/": "rules for Cline",
    ".roo/rules/": "rules for Roo Code",
    ".continue/rules/": "rules for Continue",
    ".kiro/steering/": "steering for Kiro",
    ".junie/guidelines.md": "rules for Junie",
    ".claude/": "agents, commands and skills for Claude Code",
    "memory/": "memory",
    "memory-bank/": "memory bank",
    "docs/": "documents",
    "doc/": "documents",
    "adr/": "decisions",
    "notes/": "notes",
    "wiki/": "wiki",
    "CONTRIBUTING.md": "how to contribute",
    "README.md": "",
}
# Rules without a suffix that memory goes by: only an include pattern takes them in.
SUFFIXLESS = (".cursorrules", ".windsurfrules", ".clinerules", ".rules", ".goosehints")


@dataclass(frozen=True, slots=True)
class Found:
    """Notes at one place of the project; ``what`` says whose, where that is known."""

    place: str
    count: int
    what: str


@dataclass(frozen=True, slots=True)
class InitPlan:
    """What was found and what would be written; nothing has been changed yet.

    ``problem`` says what is wrong with a ``memcli.toml`` that is there.
    ``not_indexed`` names well-known files that memory does not take in, with the reason.
    """

    project: Project
    found: tuple[Found, ...]
    not_indexed: tuple[tuple[str, str], ...]
    project_id: str
    id_origin: str
    exists: bool
    problem: str
    text: str

    @property
    def file(self) -> Path:
        return self.project.root / PROJECT_FILE

    @property
    def is_as_written(self) -> bool:
        """Whether the file that is there is the one that would be written."""
        try:
            return self.file.read_text(encoding="utf-8") == self.text
        except (OSError, UnicodeDecodeError):
            return False

    def document(self, *, written: bool) -> dict[str, Any]:
        """What ``init --json`` prints."""
        return {
            "schema": SCHEMA,
            "root": str(self.project.root),
            "found_by": self.project.found_by,
            "found": [
                {"place": each.place, "count": each.count, "what": each.what} for each in self.found
            ],
            "not_indexed": [
                {"place": place, "reason": reason} for place, reason in self.not_indexed
            ],
            "file": str(self.file),
            "existed": self.exists,
            "written": written,
            "project_id": self.project_id,
            "id_origin": self.id_origin,
        }

    def write(self, *, replace: bool) -> None:
        """Write the file. Without ``replace`` one that is there by now is left alone.

        Raises ``Conflict`` ``file_exists``, ``Failure`` ``file_unwritable``.
        """
        try:
            if replace:
                _replace(self.file, self.text)
            else:
                with os.fdopen(shared_file(self.file), "wb") as stream:
                    stream.write(self.text.encode())
        except FileExistsError as error:
            raise Conflict(
                "file_exists",
                f"{self.file} is there by now; it was left as it is",
                "Run `memcli init` again to be asked about it, or add --yes.",
            ) from error
        except OSError as error:
            raise Failure(
                "file_unwritable", f"{self.file} cannot be written: {error.strerror or error}"
            ) from error


def plan_init(
    start: Path, project: Path | None, allow_broad: bool, surroundings: Surroundings
) -> InitPlan:
    """Look at the project that ``start`` belongs to; a broken ``memcli.toml`` is no obstacle.

    Raises ``InvalidInput``: ``project_not_found``, ``project_refused``.
    """
    environ = surroundings.environ
    override = str(project) if project else None
    found_project = discover_project(start, environ, override, allow_broad)
    root = found_project.root
    file = root / PROJECT_FILE
    exists, problem, configured = os.path.lexists(file), "", None
    try:
        configured = configured_project_id(root)
    except MemcliError as error:
        problem = error.message
    # An id that the project goes by already keeps its history.
    identity = resolve_identity(
        root,
        configured_id=configured,
        registry=CentralRegistry(HistoryStore(central_home(environ), surroundings.now)),
        new_id=surroundings.new_id,
    )
    walk = _walk(root, surroundings)
    not_indexed = tuple(_not_indexed(root, walk))
    return InitPlan(
        project=found_project,
        found=_counted(walk, config_directory(environ) / GLOBAL_MEMORY),
        not_indexed=not_indexed,
        project_id=identity.project_id,
        id_origin=identity.origin,
        exists=exists,
        problem=problem,
        text=project_file_text(
            identity.project_id,
            [place for place, _ in not_indexed if place in SUFFIXLESS],
        ),
    )


def _walk(root: Path, surroundings: Surroundings) -> Walk:
    from memcli.memory.walk import walk_sources

    environ = surroundings.environ
    sources = (
        Source(Scope.GLOBAL, config_directory(environ) / GLOBAL_MEMORY, ""),
        Source(Scope.PROJECT, root, "", git_rules=True),
        Source(Scope.LOCAL, root / LOCAL_MEMORY, f"{LOCAL_MEMORY}/", within=root),
    )
    return walk_sources(root, sources, environ)


def _counted(walk: Walk, global_memory: Path) -> tuple[Found, ...]:
    """Known places first, then the other folders by name; a file in the root stands for itself."""
    counts: Counter[str] = Counter()
    for each in walk.files:
        if each.scope is Scope.GLOBAL:
            counts[f"{global_memory}/"] += 1
        elif each.scope is Scope.LOCAL:
            counts[f"{LOCAL_MEMORY}/"] += 1
        else:
            counts[_place(each.path)] += 1
    known = {
        f"{global_memory}/": "your own, for every project",
        f"{LOCAL_MEMORY}/": "your own, for this project",
        **KNOWN,
    }
    order = {place: at for at, place in enumerate(dict.fromkeys([*KNOWN, *known]))}
    places = sorted(counts, key=lambda place: (order.get(place, len(order)), place))
    return tuple(Found(place, counts[place], known.get(place, "")) for place in places)


def _place(path: str) -> str:
    """The known place that a path key lies in, else its first folder, else the file itself."""
    for place in KNOWN:
        if path.startswith(place) if place.endswith("/") else path == place:
            return place
    folder, separator, _ = path.partition("/")
    return f"{folder}{separator}"


def _not_indexed(root: Path, walk: Walk) -> Iterator[tuple[str, str]]:
    for name in SUFFIXLESS:
        if (root / name).is_file():
            yield name, "it has no suffix of a note; an include pattern can take it in"
    for left in walk.left_out:
        place = left.path
        if place in KNOWN or any(each.startswith(place) for each in _folders(KNOWN)):
            yield place, f"{left.disposition}: {left.detail or left.reason}"


def _folders(places: Iterable[str]) -> list[str]:
    return [place for place in places if place.endswith("/")]


def _replace(file: Path, text: str) -> None:
    """Put ``text`` in place of the file in one step, with the rights that the file has."""
    rights = file.stat().st_mode & 0o777 if file.is_file() else FILE_MODE
    with replacing(file, mode=rights) as stream:
        stream.write(text.encode())
