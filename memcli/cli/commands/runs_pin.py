"""Keep a Retrieval Run: neither retention nor `clear` takes it.

\b
Examples:
  memcli runs pin last
  memcli runs pin 3f2a
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli.options import Invocation


def command(
    invocation: Invocation,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id, its beginning, or last.")],
) -> None:
    with invocation.open() as memcli:
        change = memcli.pin_run(run)
    display = invocation.display
    if display.json:
        display.document(change.document())
        return
    display.lines([f"pinned {change.run_id}: it stays until it is unpinned"])
    display.hint(f"undo: memcli runs unpin {change.run_id}")
