"""List one directory of a source: what may be memory, what stays out and why, where to go on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from memcli.memory.ignore import (
    GITIGNORE,
    IgnoreLevel,
    IgnoreRoot,
    deciding_rule,
    ignore_root,
    is_ignored,
    with_gitignore,
)
from memcli.memory.patterns import Patterns
from memcli.memory.project import LOCAL_MEMORY, STORAGE, is_inside
from memcli.memory.resource import Disposition, LeftOut, MemoryWarning
from memcli.memory.sources import Source

# What is closed is nobody's notes, whatever the patterns say; a file there is never read.
CLOSED = frozenset({".git", STORAGE, LOCAL_MEMORY})
NOT_SEARCHED = frozenset({"node_modules", ".venv", "venv"})
VIRTUAL_ENVIRONMENT_MARK = "pyvenv.cfg"
LOCAL_MARK = ".local"


@dataclass(frozen=True, slots=True)
class Visit:
    """A directory to list: its path, its path inside the source ("" or ending in /), its rules."""

    path: str
    inside: str
    level: IgnoreLevel | None


@dataclass(slots=True)
class Listing:
    """One directory: names that may be memory, by what they are, and everything else met."""

    files: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    directories: list[Visit] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    warnings: list[MemoryWarning] = field(default_factory=list)
    has_gitignore: bool = False

    def candidates(self) -> list[str]:
        """Every name whose appearance would matter to Effective Memory."""
        return [*self.files, *self.links, *self.others]


class SourceTree:
    """The rules of one source, ready to list its directories."""

    def __init__(
        self, source: Source, ordinal: int, project_root: str, environ: Mapping[str, str]
    ) -> None:
        self.source = source
        self.ordinal = ordinal
        self.root = os.fspath(source.root)
        self.real_root = os.path.realpath(source.root)
        self._project_root = project_root
        self._environ = environ
        self._include = Patterns(source.include, "include") if source.include else None
        self._exclude = Patterns(source.exclude, "exclude") if source.exclude else None

    @cached_property
    def ignore(self) -> IgnoreRoot:
        """The ignore rules from above this source; none where git has no say."""
        if not self.source.git_rules:
            return IgnoreRoot(None, "", (), ())
        return ignore_root(self.real_root, self._project_root, self._environ)

    @property
    def leads_outside(self) -> bool:
        """Whether the root is (by now) a symbolic link out of where it has to be."""
        within = self.source.within
        return within is not None and not is_inside(self.real_root, os.path.realpath(within))

    def start(self) -> Visit:
        """The visit to the source's root."""
        return Visit(self.root, "", self.ignore.level)

    def visit(self, inside: str) -> Visit | None:
        """The visit to a directory inside; ``None`` where a walk would not come there."""
        visit = self.start()
        for step in inside.rstrip("/").split("/") if inside else ():
            level = self._entered(visit, []) if self.source.git_rules else None
            below = f"{visit.inside}{step}/"
            if (
                step in CLOSED
                or step in NOT_SEARCHED
                or self._stays_out(Listing(), level, below, step)
            ):
                return None
            visit = Visit(os.path.join(visit.path, step), below, level)
        return visit

    def key(self, inside: str) -> str:
        """The path key of a path inside the source."""
        return f"{self.source.key_prefix}{inside}"

    def list_directory(self, visit: Visit) -> Listing:
        """List ``visit``. Raises ``OSError`` where the directory cannot be listed."""
        listing = Listing()
        with os.scandir(visit.path) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
        names = {entry.name for entry in entries}
        if VIRTUAL_ENVIRONMENT_MARK in names and visit.inside:
            self._leave_out(
                listing, visit.inside, Disposition.EXCLUDED, "built_in", "a virtual environment"
            )
            return listing
        level = visit.level
        if self.source.git_rules and GITIGNORE in names:
            unreadable: list[str] = []
            level = self._entered(visit, unreadable)
            listing.has_gitignore = True
            if unreadable:
                key = self.key(f"{visit.inside}{GITIGNORE}")
                listing.warnings.append(
                    MemoryWarning(key, self.source.scope, "unreadable", "its rules do not apply")
                )
        for entry in entries:
            self._sort_in(listing, visit, level, entry)
        return listing

    def _entered(self, visit: Visit, unreadable: list[str]) -> IgnoreLevel | None:
        from_top = f"{self.ignore.from_top}{visit.inside}"
        return with_gitignore(visit.level, visit.path, from_top, unreadable)

    def _sort_in(
        self, listing: Listing, visit: Visit, level: IgnoreLevel | None, entry: os.DirEntry[str]
    ) -> None:
        name = entry.name
        is_memory = name.lower().endswith(self.source.suffixes)
        is_directory = entry.is_dir(follow_symlinks=False)
        if not is_memory and not is_directory and not entry.is_symlink():
            return
        inside = f"{visit.inside}{name}/" if is_directory else f"{visit.inside}{name}"
        if is_directory and name in CLOSED:
            return
        if is_directory and name in NOT_SEARCHED:
            self._leave_out(listing, inside, Disposition.EXCLUDED, "built_in", "is never searched")
            return
        if not is_memory and not is_directory:
            self._note_linked_directory(listing, level, inside, entry)
            return
        if not _is_utf8(name):
            if not is_ignored(level, f"{self.ignore.from_top}{inside}"):
                self._leave_out(
                    listing,
                    _printable(inside),
                    Disposition.SKIPPED,
                    "path_not_utf8",
                    "its name is not valid UTF-8",
                )
            return
        if self._stays_out(listing, level, inside, name):
            return
        if is_directory:
            listing.directories.append(Visit(entry.path, inside, level))
        elif entry.is_symlink():
            listing.links.append(name)
        elif entry.is_file(follow_symlinks=False):
            listing.files.append(name)
        else:
            listing.others.append(name)

    def _stays_out(
        self, listing: Listing, level: IgnoreLevel | None, inside: str, name: str
    ) -> bool:
        from_top = f"{self.ignore.from_top}{inside}"
        if is_ignored(level, from_top) and not self._is_local_by_name(name, inside):
            rule = deciding_rule(level, from_top)
            self._leave_out(listing, inside, Disposition.IGNORED, "git", rule)
            return True
        if self._exclude and self._exclude.decide(inside):
            rule = self._exclude.rule(inside)
            self._leave_out(listing, inside, Disposition.EXCLUDED, "exclude", rule)
            return True
        if self._include and not inside.endswith("/") and not self._include.covers(inside):
            detail = "no include pattern names it"
            self._leave_out(listing, inside, Disposition.EXCLUDED, "not_included", detail)
            return True
        return False

    def _is_local_by_name(self, name: str, inside: str) -> bool:
        """``CLAUDE.local.md`` and its like are kept out of git and yet meant for the agent."""
        stem, _, _ = name.rpartition(".")
        return not inside.endswith("/") and stem.lower().endswith(LOCAL_MARK)

    def _note_linked_directory(
        self, listing: Listing, level: IgnoreLevel | None, inside: str, entry: os.DirEntry[str]
    ) -> None:
        """Say that a linked directory was not followed, unless git or a pattern leaves it out."""
        if entry.name in CLOSED or entry.name in NOT_SEARCHED:
            return
        # Not entry.is_dir(): that raises for a link to itself.
        if not os.path.isdir(entry.path):
            return
        # To git a link is a file, whatever it leads to.
        if is_ignored(level, f"{self.ignore.from_top}{inside}"):
            return
        if self._exclude and self._exclude.decide(f"{inside}/"):
            return
        self._leave_out(
            listing,
            f"{_printable(inside)}/",
            Disposition.SKIPPED,
            "symlink_directory",
            "links to directories are not followed",
        )

    def _leave_out(
        self, listing: Listing, inside: str, disposition: Disposition, reason: str, detail: str
    ) -> None:
        listing.left_out.append(
            LeftOut(self.key(inside), self.source.scope, disposition, reason, detail)
        )


def _is_utf8(name: str) -> bool:
    # A byte that is no UTF-8 reaches Python as a lone surrogate.
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def _printable(path: str) -> str:
    return os.fsencode(path).decode("utf-8", errors="backslashreplace")
