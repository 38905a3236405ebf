"""Merge the documents of all scopes into one Effective Memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memcli.configuration import Configuration
from memcli.memory.decoding import Unreadable, read_document
from memcli.memory.freshness import UNREADABLE_SIZE
from memcli.memory.front_matter import split_front_matter
from memcli.memory.hashing import body_sha256, effective_hash, resource_hash
from memcli.memory.project import LOCAL_MEMORY
from memcli.memory.resource import (
    Disposition,
    EffectiveMemory,
    LeftOut,
    MemoryWarning,
    Scope,
    SeenFile,
    SourceResource,
)
from memcli.memory.sources import MEMORY_SUFFIXES, Source, effective_sources
from memcli.memory.title import first_heading
from memcli.memory.walk import FoundFile, seen_as_is, walk_sources

SCOPE_ORDER = {Scope.GLOBAL: 0, Scope.PROJECT: 1, Scope.LOCAL: 2}
RULE_FILES = frozenset({"AGENTS.md", "CLAUDE.md", "GEMINI.md"})
DEFAULT_KIND = "note"
RULE_KIND = "rule"


def effective_memory(
    configuration: Configuration,
    environ: Mapping[str, str],
    known_headings: Mapping[str, str | None] | None = None,
) -> EffectiveMemory:
    """The Effective Memory of a configured project; see ``synthesize``."""
    return synthesize(
        configuration.root,
        effective_sources(configuration),
        max_file_bytes=configuration.max_file_bytes,
        environ=environ,
        known_headings=known_headings,
    )


def synthesize(
    root: Path,
    sources: Sequence[Source],
    *,
    max_file_bytes: int,
    environ: Mapping[str, str],
    known_headings: Mapping[str, str | None] | None = None,
) -> EffectiveMemory:
    """Walk, read and merge. No fault of a file stops it; each is listed.

    Of the files with one path key the highest scope that can be read wins; one
    with ``enabled: false`` takes the place and stays out itself. In scope
    ``local`` the folder's own ``.memcli.local/`` does not count for this, so
    that ``.memcli.local/docs/a.md`` replaces ``docs/a.md``.

    ``known_headings`` maps ``body_sha256`` to what ``first_heading`` gave for
    that body, for bodies that need not be looked at again.
    """
    walk = walk_sources(root, sources, environ)
    merge = _Merge(max_file_bytes, known_headings or {})
    for candidates in _by_place(walk.files):
        merge.settle(candidates)
    resources = merge.ordered()
    pairs = [(it.resource_id, it.resource_hash) for it in resources]
    left_out = (*walk.left_out, *merge.left_out)
    warnings = (*walk.warnings, *merge.warnings)
    return EffectiveMemory(
        resources=tuple(resources),
        effective_hash=effective_hash(pairs),
        left_out=tuple(sorted(left_out, key=lambda it: (SCOPE_ORDER[it.scope], it.path))),
        warnings=tuple(sorted(warnings, key=lambda it: (SCOPE_ORDER[it.scope], it.path))),
        seen=(*walk.seen, *merge.seen),
    )


def _by_place(files: Sequence[FoundFile]) -> list[list[FoundFile]]:
    """The files that compete for one place, highest scope and first source in front."""
    places: dict[str, list[FoundFile]] = {}
    for file in files:
        place = file.path
        if file.scope is Scope.LOCAL:
            place = place.removeprefix(f"{LOCAL_MEMORY}/")
        places.setdefault(place, []).append(file)
    for candidates in places.values():
        candidates.sort(key=lambda it: (-SCOPE_ORDER[it.scope], it.source, it.file_path))
    return list(places.values())


@dataclass(slots=True)
class _Merge:
    max_file_bytes: int
    known_headings: Mapping[str, str | None]
    resources: list[SourceResource] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    warnings: list[MemoryWarning] = field(default_factory=list)
    seen: list[SeenFile] = field(default_factory=list)

    def settle(self, candidates: Sequence[FoundFile]) -> None:
        """Give the place to the first that can be read; the others are left out."""
        winner: FoundFile | None = None
        for file in candidates:
            if winner is None:
                winner = file if self._takes_place(file) else None
                continue
            self.seen.append(seen_as_is(file.file_path))
            if winner.scope is file.scope:
                detail = f"{file.file_path} has the same path key as {winner.file_path}"
                self._skip(file, "duplicate_path", detail, by=winner.file_path)
            else:
                self.left_out.append(
                    LeftOut(
                        file.path,
                        file.scope,
                        Disposition.SHADOWED,
                        "higher_scope",
                        f"replaced by scope {winner.scope}",
                        by=winner.path,
                    )
                )

    def _takes_place(self, file: FoundFile) -> bool:
        document, seen = read_document(file.real_path, file.file_path, self.max_file_bytes)
        if seen is not None:
            self.seen.append(seen)
        if isinstance(document, Unreadable):
            if seen is None and document.reason != "vanished":
                self.seen.append(SeenFile(Path(file.file_path), UNREADABLE_SIZE, 0, False))
            self._skip(file, document.reason, document.detail)
            return False
        if document.warning is not None:
            self._warn(file, *document.warning)
        front = split_front_matter(document.text)
        for warning in front.warnings:
            self._warn(file, *warning)
        if not front.enabled:
            detail = "its front matter says enabled: false"
            self.left_out.append(
                LeftOut(file.path, file.scope, Disposition.DISABLED, "front_matter", detail)
            )
            return True
        description = front.description or ""
        if not description and not front.body.strip():
            self._skip(file, "empty", "it has neither text nor a description")
            return False
        digest = body_sha256(front.body)
        resource_id = front.resource_id or file.path
        kind = front.kind or file.kind or _kind_by_name(file.path)
        title = front.title or self._heading(digest, front.body) or _stem(file.path)
        self.resources.append(
            SourceResource(
                resource_id=resource_id,
                scope=file.scope,
                kind=kind,
                path=file.path,
                title=title,
                description=description,
                body=front.body,
                body_sha256=digest,
                resource_hash=resource_hash(
                    resource_id=resource_id,
                    scope=file.scope,
                    kind=kind,
                    path=file.path,
                    title=title,
                    description=description,
                    body=front.body,
                ),
                body_first_line=front.body_first_line,
                description_line=front.description_line,
                file_path=file.file_path,
            )
        )
        return True

    def _heading(self, digest: str, body: str) -> str | None:
        if digest in self.known_headings:
            return self.known_headings[digest]
        return first_heading(body)

    def ordered(self) -> list[SourceResource]:
        """By scope, then path key; of two with one id the first in this order stays."""
        by_id: dict[str, SourceResource] = {}
        for resource in sorted(self.resources, key=lambda it: (SCOPE_ORDER[it.scope], it.path)):
            first = by_id.setdefault(resource.resource_id, resource)
            if first is not resource:
                self.left_out.append(
                    LeftOut(
                        resource.path,
                        resource.scope,
                        Disposition.SKIPPED,
                        "duplicate_id",
                        f"{resource.path} has the id {resource.resource_id} of {first.path}",
                        by=first.path,
                    )
                )
        return list(by_id.values())

    def _skip(self, file: FoundFile, reason: str, detail: str, by: str | None = None) -> None:
        self.left_out.append(
            LeftOut(file.path, file.scope, Disposition.SKIPPED, reason, detail, by)
        )

    def _warn(self, file: FoundFile, reason: str, detail: str) -> None:
        self.warnings.append(MemoryWarning(file.path, file.scope, reason, detail))


def _kind_by_name(path: str) -> str:
    directory, _, name = path.rpartition("/")
    if name in RULE_FILES:
        return RULE_KIND
    in_rules = "/.cursor/rules/" in f"/{directory}/"
    return RULE_KIND if in_rules and name.lower().endswith(".mdc") else DEFAULT_KIND


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    for suffix in MEMORY_SUFFIXES:
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name
