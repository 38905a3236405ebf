"""The state of a project at a glance: where it is, what it holds, how fresh the head is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memcli.facade.views import left_out_document, warning_document
from memcli.memory.resource import Disposition, EffectiveMemory

if TYPE_CHECKING:
    from memcli.configuration import Configuration
    from memcli.index.revisions import HeadInfo, RevisionInfo
    from memcli.memory.sources import Source

Rows = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class HistoryCounts:
    """The project's Runs and Cases by status; ``pinned`` counts Runs kept by hand or by a Case."""

    runs: Mapping[str, int]
    pinned: int
    cases: Mapping[str, int]

    def document(self) -> dict[str, Any]:
        return {"runs": dict(self.runs), "pinned": self.pinned, "cases": dict(self.cases)}

    def rows(self) -> Rows:
        """For a person."""
        runs = f"{_in_all(self.runs)}, {self.pinned} pinned" if self.runs else "none yet"
        return [("runs", runs), ("cases", _in_all(self.cases) if self.cases else "none yet")]


@dataclass(frozen=True, slots=True)
class Status:
    """``behind`` tells whether a build now would change what queries are answered from;
    ``device`` is where models run; ``sizes`` are bytes on disk by name; ``history`` is
    ``None`` where the central store cannot be read."""

    root: Path
    found_by: str
    project_id: str | None
    id_origin: str
    sources: tuple[Source, ...]
    memory: EffectiveMemory
    head: HeadInfo
    revision: RevisionInfo | None
    build: str | None
    behind: bool
    device: str
    configuration: Configuration
    central_home: Path
    history: HistoryCounts | None
    sizes: Mapping[str, int]
    warnings: tuple[str, ...]

    @property
    def next_command(self) -> str | None:
        """What to run next, if anything."""
        if self.build:
            return None
        return "memcli index build" if self.behind or self.revision is None else None

    @property
    def head_state(self) -> str:
        """The head's state in words."""
        if self.revision is None:
            return "none yet"
        return "behind the files" if self.behind else "up to date"

    def sections(self) -> Iterator[tuple[str, Rows]]:
        """Titled rows for a person."""
        memory = self.memory
        left = Counter(str(each.disposition) for each in memory.left_out)
        yield (
            "project",
            [
                ("root", f"{self.root} (found by {self.found_by})"),
                ("id", f"{self.project_id or 'none yet'} ({self.id_origin})"),
                *((f"source {source.scope}", source_text(source)) for source in self.sources),
            ],
        )
        yield (
            "memory",
            [
                ("resources", str(len(memory.resources))),
                ("by scope", _counted(str(each.scope) for each in memory.resources)),
                ("by kind", _counted(each.kind for each in memory.resources)),
                (
                    "left out",
                    ", ".join(f"{count} {name}" for name, count in sorted(left.items())) or "none",
                ),
                ("effective hash", memory.effective_hash),
            ],
        )
        index: Rows = [("head", f"{self.head.head or '-'} ({self.head_state})")]
        if self.revision:
            index += [
                ("units", str(self.revision.unit_count)),
                ("built with", str(self.revision.recipe["embedder"]["profile"])),
            ]
        if self.build:
            index.append(("building", self.build))
        index += [(name, human_bytes(size)) for name, size in self.sizes.items()]
        yield "index", index
        yield (
            "models",
            [
                *(
                    (setting.key.removeprefix("models."), f"{setting.value} ({setting.origin})")
                    for setting in self.configuration.settings
                    if setting.key.startswith("models.")
                ),
                ("device", self.device),
            ],
        )
        counts = self.history.rows() if self.history else []
        yield "history", [("central store", str(self.central_home)), *counts]

    def document(self) -> dict[str, Any]:
        """What ``status --json`` prints."""
        memory = self.memory
        return {
            "schema": "memcli.status.v1",
            "project": {
                "root": str(self.root),
                "found_by": self.found_by,
                "project_id": self.project_id,
                "id_origin": self.id_origin,
            },
            "sources": [
                {"scope": str(source.scope), "root": str(source.root), "what": source_text(source)}
                for source in self.sources
            ],
            "memory": {
                "effective_hash": memory.effective_hash,
                "resources": len(memory.resources),
                "by_scope": dict(Counter(str(each.scope) for each in memory.resources)),
                "by_kind": dict(Counter(each.kind for each in memory.resources)),
                "ignored": sum(each.disposition is Disposition.IGNORED for each in memory.left_out),
                "left_out": [left_out_document(each) for each in memory.left_out],
                "warnings": [warning_document(each) for each in memory.warnings],
            },
            "index": {
                "head": self.head.head,
                "previous": self.head.previous,
                "head_state": self.head_state,
                "behind": self.behind,
                "building": self.build,
                "units": self.revision.unit_count if self.revision else 0,
                "sizes": dict(self.sizes),
            },
            "settings": [
                {"key": each.key, "value": each.value, "origin": each.origin}
                for each in self.configuration.settings
            ],
            "device": self.device,
            "central_home": str(self.central_home),
            "history": self.history.document() if self.history else None,
            "warnings": list(self.warnings),
            "next_command": self.next_command,
        }


def source_text(source: Source) -> str:
    """A source in a line: its folder and its patterns."""
    patterns = ", ".join(source.include) if source.include else "*" + ", *".join(source.suffixes)
    without = f" without {', '.join(source.exclude)}" if source.exclude else ""
    return f"{source.root} ({patterns}{without})"


def human_bytes(size: int) -> str:
    """``1.4 MB``: powers of 1,000, as disks are sold."""
    value = float(size)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def sizes_on_disk(directory: Path) -> dict[str, int]:
    """Bytes of the index, of the token vectors and of the other derived files."""
    sizes = {"index": 0, "token vectors": 0, "derived": 0}
    if not directory.is_dir():
        return sizes
    for path in directory.iterdir():
        try:
            size = path.stat().st_size if path.is_file() else 0
        except OSError:  # a temporary file that is gone by now
            continue
        if path.name.startswith("search-index.sqlite"):
            name = "index"
        else:
            name = "token vectors" if path.name.startswith("token-vectors") else "derived"
        sizes[name] += size
    return sizes


def _counted(words: Iterator[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(Counter(words).items())) or "none"


def _in_all(counts: Mapping[str, int]) -> str:
    """``12 (2 failed, 10 succeeded)``."""
    parts = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f"{sum(counts.values())} ({parts})"
