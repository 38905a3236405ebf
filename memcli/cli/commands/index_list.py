"""List the revisions of the index, newest first.

\b
Examples:
  memcli index list
  memcli index list --json
"""

from __future__ import annotations

from memcli.cli.options import Invocation


def command(invocation: Invocation) -> None:
    with invocation.open() as memcli:
        listing = memcli.list_revisions()
    display = invocation.display
    if display.json:
        display.document(listing.document())
        return
    if not listing.revisions:
        display.message("no revision yet")
        display.hint("next: memcli index build")
        return
    display.table(
        ["revision", "status", "head", "resources", "units", "created", "embedder", "note"],
        [
            [
                each.revision_id,
                listing.status(each),
                listing.role(each.revision_id),
                str(each.resource_count),
                str(each.unit_count),
                each.created_at,
                listing.embedder(each),
                each.error or ("kept" if each.kept else ""),
            ]
            for each in listing.revisions
        ],
    )
