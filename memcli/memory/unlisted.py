"""Why a file that a person names is no part of memory, where no listing tells: it is not a note."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from memcli.memory.listing import CLOSED, NOT_SEARCHED
from memcli.memory.project import is_inside
from memcli.memory.resource import Scope
from memcli.memory.sources import Source

Reason = tuple[str, str]
"""A stable word, and what a person is told."""


def why_unlisted(asked: str, root: Path, sources: Sequence[Source]) -> Reason | None:
    """What keeps the file ``asked`` (relative to ``root`` or to the working directory) out.

    For files that no walk came by; ``None`` where nothing is known to.
    """
    places = [os.path.join(root, asked), os.path.abspath(asked)]
    found = next((each for each in places if os.path.lexists(each)), None)
    if found is None:
        return "no_such_file", "there is no such file"
    # The link itself is what a walk meets, wherever it leads.
    place = os.path.join(os.path.realpath(os.path.dirname(found)), os.path.basename(found))
    around = [each for each in sources if is_inside(place, os.path.realpath(each.root))]
    if not around:
        return "outside_sources", "it lies in none of the folders that memory comes from"
    if os.path.isdir(found):
        return "directory", "it is a directory; name one of the notes in it"
    nearest = max(around, key=lambda each: len(os.path.realpath(each.root)))
    steps = os.path.relpath(place, os.path.realpath(nearest.root)).split(os.sep)[:-1]
    if closed := [step for step in steps if step in CLOSED | NOT_SEARCHED]:
        return "never_searched", f"notes in {closed[0]} are never read"
    if not place.lower().endswith(nearest.suffixes):
        return "suffix_not_indexed", _about_suffix(place, nearest)
    return None


def _about_suffix(place: str, source: Source) -> str:
    suffix = os.path.splitext(place)[1].lower()
    name = os.path.basename(place)
    which = f"files ending in {suffix}" if suffix else "files without a suffix"
    pattern = f"*{suffix}" if suffix else name
    known = ", ".join(source.suffixes)
    if source.scope is Scope.GLOBAL:
        return f"{which} are not indexed, only {known}"
    return (
        f"{which} are not indexed, only {known}; "
        f'include = ["*.md", "{pattern}"] in a [[source]] of memcli.toml takes them in'
    )
