"""Move the head to another ready revision: the newest one, the previous one, or one named.

\b
Examples:
  memcli head swap
  memcli head swap --previous
  memcli head swap 20261201

A unique start of a revision's id is enough.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli.options import Invocation
from memcli.cli.safe_text import safe_line
from memcli.errors import InvalidInput


def command(
    invocation: Invocation,
    revision: Annotated[
        str | None, typer.Argument(help="Revision id or its start; default: newest ready.")
    ] = None,
    previous: Annotated[
        bool, typer.Option("--previous", help="Back to the head before this one.")
    ] = False,
) -> None:
    if revision and previous:
        raise InvalidInput("usage", "give a revision or --previous, not both")
    with invocation.open() as memcli:
        change = memcli.swap_head(revision, previous=previous)
    display = invocation.display
    if display.json:
        display.document(
            {
                "schema": "memcli.head.swap.v1",
                "head": change.head,
                "previous": change.previous,
                "moved": change.moved,
            }
        )
        return
    moved = "" if change.moved else " (it was there already)"
    display.lines([safe_line(f"head {change.head}{moved}")])
    if change.moved and change.previous:
        display.hint(f"back: memcli head swap {change.previous}")
