"""One note as it is indexed: its text, what it hides, its warnings, and its units when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memcli.errors import InvalidInput
from memcli.facade.views import NoteView
from memcli.memory.resource import Disposition
from memcli.memory.unlisted import why_unlisted
from memcli.retrieval.explanation import find_resource, near_paths

if TYPE_CHECKING:
    from memcli.facade.workspace import Memcli


def show(memcli: Memcli, asked: str, units: bool) -> NoteView:
    """See ``Memcli.show_note``."""
    memory = memcli.synthesize()
    resource = find_resource(asked, memory.resources, memcli.project.root)
    if resource is None:
        left = next((each for each in memory.left_out if each.path == asked), None)
        near = ", ".join(near_paths(asked, memory))
        unlisted = why_unlisted(asked, memcli.project.root, memcli.sources)
        why = f": {left.disposition} ({left.detail or left.reason})" if left else ""
        if not left and unlisted:
            why = f": {unlisted[1]}"
        raise InvalidInput(
            "note_not_found",
            f"{asked} is not in Effective Memory{why}",
            f"Did you mean: {near}?" if near and not left else "See `memcli memory list`.",
        )
    cut = None
    if units:
        from memcli.index.chunking import cut_resource

        cut = cut_resource(resource, memcli.shelf.configured_embedder().count_tokens)
    return NoteView(
        resource,
        tuple(
            each
            for each in memory.left_out
            if each.disposition is Disposition.SHADOWED and each.by == resource.path
        ),
        tuple(each for each in memory.warnings if each.path == resource.path),
        cut,
    )
