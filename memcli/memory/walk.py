"""Walk the sources: every file that may become a resource, and what became of the others."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memcli.memory.freshness import UNREADABLE_SIZE, digest_of_file
from memcli.memory.ignore import GITIGNORE
from memcli.memory.listing import CLOSED, SourceTree
from memcli.memory.project import is_inside
from memcli.memory.resource import Disposition, LeftOut, MemoryWarning, Scope, SeenFile
from memcli.memory.sources import Source

MOST_DIGESTED_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that may become a resource.

    ``path`` is its path key, ``file_path`` where it was found and ``real_path``
    what to open: another path only behind a symbolic link. ``source`` is the
    place of its source in the order given.
    """

    path: str
    scope: Scope
    kind: str | None
    file_path: str
    real_path: str
    source: int


@dataclass(frozen=True, slots=True)
class Walk:
    """All that a walk found. ``seen`` holds the directories, the ignore files and skipped files.

    The files found are not in it: they are recorded as they are read.
    """

    files: tuple[FoundFile, ...]
    left_out: tuple[LeftOut, ...]
    warnings: tuple[MemoryWarning, ...]
    seen: tuple[SeenFile, ...]


def walk_sources(root: Path, sources: Sequence[Source], environ: Mapping[str, str]) -> Walk:
    """Walk every source of the project at ``root``; nothing is opened but ignore files.

    A file that several sources reach belongs to the one whose root is nearest
    to it, then to the one listed first. Directory links are not followed. A
    file link counts where its real path is a regular file of its own source
    that no source has found by itself.
    """
    project_root = os.path.realpath(root)
    trees = [
        SourceTree(source, ordinal, project_root, environ) for ordinal, source in enumerate(sources)
    ]
    walker = _Walker()
    for tree in sorted(trees, key=lambda it: -it.real_root.count(os.sep)):
        walker.walk(tree)
    for _, (tree, inside, path) in sorted(walker.links.items()):
        walker.follow(tree, inside, path)
    return walker.result()


def seen_as_is(path: str, *, follow: bool = True) -> SeenFile:
    """``path`` with its present size and time, or as something that cannot be had.

    The digest is known of small files, such as ignore files.
    """
    try:
        status = os.stat(path, follow_symlinks=follow)
    except OSError:
        return SeenFile(Path(path), UNREADABLE_SIZE, 0, False)
    size = status.st_size
    digest = digest_of_file(path, size) if follow and size <= MOST_DIGESTED_BYTES else ""
    return SeenFile(Path(path), size, status.st_mtime_ns, False, digest)


class _Walker:
    def __init__(self) -> None:
        self.found: dict[str, FoundFile] = {}
        self.links: dict[str, tuple[SourceTree, str, str]] = {}
        self._left_out: dict[tuple[str, bool], LeftOut] = {}
        self._warnings: list[MemoryWarning] = []
        self._seen: dict[str, SeenFile] = {}

    def walk(self, tree: SourceTree) -> None:
        source = tree.source
        shown = source.key_prefix or f"{source.root}/"
        if tree.leads_outside:
            detail = "it is a symbolic link out of the project"
            self._left_out[tree.root, True] = LeftOut(
                shown, source.scope, Disposition.SKIPPED, "symlink_outside", detail
            )
            return
        if not os.path.isdir(tree.root):
            self._seen[tree.root] = SeenFile(Path(tree.root), UNREADABLE_SIZE, 0, True)
            if source.listed:
                detail = f"{source.root} is not a directory"
                self._warnings.append(MemoryWarning(shown, source.scope, "source_missing", detail))
            return
        for file in tree.ignore.files:
            self._seen.setdefault(file, seen_as_is(file))
        for file in tree.ignore.unreadable:
            self._warnings.append(
                MemoryWarning(file, source.scope, "unreadable", "its rules do not apply")
            )
        pending = [tree.start()]
        while pending:
            visit = pending.pop()
            try:
                # The state before the listing: a change during it shows up later.
                status = os.stat(visit.path)
                listing = tree.list_directory(visit)
            except OSError as error:
                self._cannot_list(tree, visit.path, visit.inside, error)
                continue
            self._seen[visit.path] = SeenFile(
                Path(visit.path), status.st_size, status.st_mtime_ns, True
            )
            if listing.has_gitignore:
                gitignore = os.path.join(visit.path, GITIGNORE)
                self._seen[gitignore] = seen_as_is(gitignore)
            for left_out in listing.left_out:
                file_path = f"{tree.real_root}/{left_out.path[len(source.key_prefix) :]}"
                self._left_out.setdefault((file_path, False), left_out)
            self._warnings.extend(listing.warnings)
            for name in listing.files:
                inside = f"{visit.inside}{name}"
                real = f"{tree.real_root}/{inside}"
                self._take(tree, inside, os.path.join(visit.path, name), real)
            for name in listing.links:
                inside, path = f"{visit.inside}{name}", os.path.join(visit.path, name)
                self.links.setdefault(f"{tree.real_root}/{inside}", (tree, inside, path))
            for name in listing.others:
                self._skip(tree, f"{visit.inside}{name}", os.path.join(visit.path, name))
            pending.extend(listing.directories)

    def _take(self, tree: SourceTree, inside: str, path: str, real: str) -> None:
        source = tree.source
        file = FoundFile(tree.key(inside), source.scope, source.kind, path, real, tree.ordinal)
        self.found.setdefault(real, file)

    def _cannot_list(self, tree: SourceTree, path: str, inside: str, error: OSError) -> None:
        if isinstance(error, FileNotFoundError):
            return
        self._seen[path] = SeenFile(Path(path), UNREADABLE_SIZE, 0, True)
        shown = tree.key(inside) or f"{path}/"
        self._left_out[path, True] = LeftOut(
            shown, tree.source.scope, Disposition.SKIPPED, "unreadable", _cause(error)
        )

    def _skip(
        self,
        tree: SourceTree,
        inside: str,
        path: str,
        reason: str = "not_a_file",
        detail: str = "it is neither a file nor a directory",
        by: str | None = None,
    ) -> None:
        # Of a link that is not followed, only the link itself matters.
        follow = reason in ("symlink_broken", "unreadable")
        self._seen[path] = seen_as_is(path, follow=follow)
        self._left_out[path, True] = LeftOut(
            tree.key(inside), tree.source.scope, Disposition.SKIPPED, reason, detail, by
        )

    def follow(self, tree: SourceTree, inside: str, path: str) -> None:
        try:
            real = os.path.realpath(path, strict=True)
        except OSError as error:
            if isinstance(error, PermissionError):
                self._skip(tree, inside, path, "unreadable", _cause(error))
            else:
                self._skip(tree, inside, path, "symlink_broken", _cause(error))
            return
        if not is_inside(real, tree.real_root):
            detail = "it links to a file outside the source"
            self._skip(tree, inside, path, "symlink_outside", detail)
        elif target := self.found.get(real):
            detail = "the file it links to is memory itself"
            self._skip(tree, inside, path, "symlink_duplicate", detail, target.path)
        elif CLOSED.intersection(os.path.relpath(real, tree.real_root).split(os.sep)):
            self._skip(tree, inside, path, "symlink_outside", "it links into a closed directory")
        elif not os.path.isfile(real):
            self._skip(tree, inside, path, "not_a_file", "it links to something that is no file")
        else:
            self._take(tree, inside, path, real)

    def result(self) -> Walk:
        # What one source leaves out, another may have taken.
        left_out = [
            it for (path, final), it in self._left_out.items() if final or path not in self.found
        ]
        return Walk(
            files=tuple(self.found.values()),
            left_out=tuple(left_out),
            warnings=tuple(self._warnings),
            seen=tuple(self._seen.values()),
        )


def _cause(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
