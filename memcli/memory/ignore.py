"""What git would ignore: nested ``.gitignore`` files, the repository's and the user's excludes."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from memcli.memory.patterns import Patterns

GITIGNORE = ".gitignore"
MAX_IGNORE_FILE_BYTES = 1 << 20
EXCLUDES_FILE = re.compile(r"^\s*excludesfile\s*=\s*(.*?)\s*$", re.IGNORECASE)
SECTION = re.compile(r"^\s*\[\s*([^\]\s]+)\s*\]", re.IGNORECASE)


def as_git_sees(path: str) -> str:
    """The bytes of a path, one character each: to git ``?`` is one byte."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


@dataclass(frozen=True, slots=True)
class IgnoreLevel:
    """One set of patterns and those above it, which it overrides.

    ``skip`` is how many characters of a path from the top of the tree stand
    before the part that the patterns see.
    """

    patterns: Patterns
    skip: int
    above: IgnoreLevel | None


def is_ignored(level: IgnoreLevel | None, path: str) -> bool:
    """Whether ``path`` (from the top of the tree, directories ending in /) itself is ignored.

    The caller never asks about what lies below an ignored directory: git's rule
    that nothing there can be re-included follows from that.
    """
    path = as_git_sees(path)
    while level is not None:
        decision = level.patterns.decide(path[level.skip :])
        if decision is not None:
            return decision
        level = level.above
    return False


def deciding_rule(level: IgnoreLevel | None, path: str) -> str:
    """The pattern that ``is_ignored`` went by, with its file and line."""
    path = as_git_sees(path)
    while level is not None:
        if level.patterns.decide(path[level.skip :]) is not None:
            rule = level.patterns.rule(path[level.skip :])
            return rule.encode("latin-1").decode("utf-8", errors="backslashreplace")
        level = level.above
    return ""


def with_gitignore(
    level: IgnoreLevel | None, directory: str, from_top: str, unreadable: list[str]
) -> IgnoreLevel | None:
    """The level for ``directory``, whose path from the top is ``from_top`` ("" or ending in /).

    Git does not follow a symbolic link here, and nor do we. A file that cannot
    be read ignores nothing, as for git, and is added to ``unreadable``.
    """
    path = os.path.join(directory, GITIGNORE)
    if os.path.islink(path):
        return level
    skip = len(as_git_sees(from_top))
    return _with_file(level, path, f"{from_top}{GITIGNORE}", skip, unreadable)


def _with_file(
    level: IgnoreLevel | None, path: str, source: str, skip: int, unreadable: list[str]
) -> IgnoreLevel | None:
    if not os.path.isfile(path):
        return level
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_IGNORE_FILE_BYTES)
    except OSError:
        unreadable.append(path)
        return level
    text = data.removeprefix(codecs.BOM_UTF8).decode("latin-1")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    patterns = Patterns(lines, as_git_sees(source))
    return IgnoreLevel(patterns, skip, level) if patterns else level


@dataclass(frozen=True, slots=True)
class IgnoreRoot:
    """Where ignore rules begin for one tree.

    ``level`` holds what applies in the tree's root directory except its own
    ``.gitignore``; ``from_top`` is the root's path from the top of the
    repository; ``files`` are the ignore files above the root that were, or
    could be, read, and ``unreadable`` those that could not.
    """

    level: IgnoreLevel | None
    from_top: str
    files: tuple[str, ...]
    unreadable: tuple[str, ...]


def ignore_root(root: str, bound: str, environ: Mapping[str, str]) -> IgnoreRoot:
    """Collect the rules from above ``root``: the user's, the repository's, its parents'.

    Without a repository ``.gitignore`` files count from ``bound`` down (the
    project root). Where the repository ignores ``root`` as a whole (a project
    below a home directory kept in git, a source that was listed on purpose) its
    rules do not apply: someone chose this directory.
    """
    user_file = _user_excludes(environ)
    files = [user_file] if user_file else []
    unreadable: list[str] = []
    level = _with_file(None, user_file, user_file, 0, unreadable) if user_file else None
    repository = _repository_of(root)
    top = repository or (bound if _lies_in(root, bound) else root)
    outer = level
    if repository is not None:
        exclude = os.path.join(_common_git_directory(repository), "info", "exclude")
        files.append(exclude)
        outer = _with_file(outer, exclude, ".git/info/exclude", 0, unreadable)
    steps = [step for step in os.path.relpath(root, top).split(os.sep) if step != "."]
    from_top, directory = "", top
    for step in steps:
        files.append(os.path.join(directory, GITIGNORE))
        outer = with_gitignore(outer, directory, from_top, unreadable)
        from_top, directory = f"{from_top}{step}/", os.path.join(directory, step)
        if is_ignored(outer, from_top):
            return IgnoreRoot(level, "", tuple(files), tuple(unreadable))
    return IgnoreRoot(outer, from_top, tuple(files), tuple(unreadable))


def _lies_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)


def _repository_of(directory: str) -> str | None:
    while not os.path.lexists(os.path.join(directory, ".git")):
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent
    return directory


def _common_git_directory(repository: str) -> str:
    """``.git``, or what a worktree's ``.git`` file leads to."""
    git = os.path.join(repository, ".git")
    if pointer := _first_line(git):
        git = os.path.join(repository, pointer.removeprefix("gitdir:").strip())
        if common := _first_line(os.path.join(git, "commondir")):
            git = os.path.join(git, common.strip())
    return os.path.normpath(git)


def _first_line(path: str) -> str:
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, "rb") as stream:
            return os.fsdecode(stream.readline(4096)).rstrip("\r\n")
    except OSError:
        return ""


def _user_excludes(environ: Mapping[str, str]) -> str | None:
    """``core.excludesFile`` of the user's git configuration, else git's default place."""
    home = environ.get("HOME") or environ.get("USERPROFILE")
    xdg = environ.get("XDG_CONFIG_HOME") or (os.path.join(home, ".config") if home else None)
    places = [os.path.join(xdg, "git", "config")] if xdg else []
    if home:
        places.append(os.path.join(home, ".gitconfig"))
    if chosen := environ.get("GIT_CONFIG_GLOBAL"):
        places = [chosen]
    for place in reversed(places):
        if (value := _excludes_setting(place)) is not None:
            value = value.strip('"')
            if home and value.startswith("~/"):
                value = os.path.join(home, value[2:])
            return value if os.path.isabs(value) else None
    return os.path.join(xdg, "git", "ignore") if xdg else None


def _excludes_setting(path: str) -> str | None:
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as stream:
            text = stream.read(MAX_IGNORE_FILE_BYTES).decode("utf-8", errors="surrogateescape")
    except OSError:
        return None
    section, value = "", None
    for line in text.split("\n"):
        if header := SECTION.match(line):
            section, line = header[1].lower(), line[header.end() :]
        if section == "core" and (found := EXCLUDES_FILE.match(line)):
            value = found[1]
    return value
