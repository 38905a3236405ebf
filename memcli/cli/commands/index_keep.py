"""Keep a revision from being pruned by later builds, or let it go again.

\b
Examples:
  memcli index keep 20261201T0723
  memcli index keep 20261201T0723 --undo

A unique start of a revision's id is enough.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli.options import Invocation
from memcli.cli.safe_text import safe_line


def command(
    invocation: Invocation,
    revision: Annotated[str, typer.Argument(help="Revision id or its start.")],
    undo: Annotated[bool, typer.Option("--undo", help="Let builds prune it again.")] = False,
) -> None:
    with invocation.open() as memcli:
        kept = memcli.keep_revision(revision, keep=not undo)
    display = invocation.display
    if display.json:
        display.document(
            {
                "schema": "memcli.index.keep.v1",
                "revision_id": kept.revision_id,
                "kept": kept.kept,
            }
        )
        return
    display.lines([safe_line(f"{kept.revision_id} {'is kept' if kept.kept else 'may be pruned'}")])
