"""Let retention and `clear` have a pinned Retrieval Run again.

\b
Examples:
  memcli runs unpin last
  memcli runs unpin 3f2a

The source of an Evaluation Case stays pinned as long as the Case exists.
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
        change = memcli.unpin_run(run)
    display = invocation.display
    if display.json:
        display.document(change.document())
        return
    display.lines([f"unpinned {change.run_id}: `memcli clear` and retention may take it"])
    display.hint(f"undo: memcli runs pin {change.run_id}")
