"""List changed directories again, to see whether memory appeared there."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from memcli.memory.ignore import GITIGNORE
from memcli.memory.listing import SourceTree, Visit
from memcli.memory.sources import Source


def appeared_in(
    directories: Sequence[str],
    known_files: AbstractSet[str],
    known_directories: AbstractSet[str],
    project_root: str,
    sources: Sequence[Source],
    environ: Mapping[str, str],
) -> list[str]:
    """Paths of memory files and ignore files in ``directories`` that are not among the known.

    A directory that is not known is gone through as a walk would; ignored and
    excluded ones never.
    """
    appeared: list[str] = []
    for ordinal, source in enumerate(sources):
        tree = SourceTree(source, ordinal, project_root, environ)
        if tree.leads_outside:
            continue
        inside = (_inside(directory, tree.root) for directory in directories)
        visits = (tree.visit(path) for path in inside if path is not None)
        pending = [visit for visit in visits if visit is not None]
        while pending:
            visit = pending.pop()
            appeared += _appeared(tree, visit, known_files, known_directories, pending)
    return appeared


def _inside(directory: str, root: str) -> str | None:
    if directory == root:
        return ""
    start = root.rstrip(os.sep) + os.sep
    return f"{directory[len(start) :]}/" if directory.startswith(start) else None


def _appeared(
    tree: SourceTree,
    visit: Visit,
    known_files: AbstractSet[str],
    known_directories: AbstractSet[str],
    pending: list[Visit],
) -> list[str]:
    try:
        listing = tree.list_directory(visit)
    except OSError:
        # What cannot be listed shows nothing new; a build says so in its list of faults.
        return []
    pending += [it for it in listing.directories if it.path not in known_directories]
    names = listing.candidates()
    if listing.has_gitignore:
        names.append(GITIGNORE)
    paths = (os.path.join(visit.path, name) for name in names)
    return [path for path in paths if path not in known_files]
