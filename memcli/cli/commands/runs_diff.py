"""Compare two Retrieval Runs: what was ranked differently, and what else differs.

\b
Examples:
  memcli runs diff 3f2a 91bc
  memcli runs diff 3f2a last
  memcli runs diff 3f2a last --json

It says whether the index, the memory, the models or the limits differ, then
lists every unit whose place or reason changed. A RUN is an id, a unique
beginning of one, or `last`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli.options import Invocation


def command(
    invocation: Invocation,
    a: Annotated[str, typer.Argument(metavar="A", help="The first Run.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The second Run.")],
) -> None:
    with invocation.open() as memcli:
        comparison = memcli.diff_retrieval_runs(a, b)
    display = invocation.display
    if display.json:
        display.document(comparison.document())
        return
    from memcli.cli.run_diff_text import print_comparison

    print_comparison(display, comparison)
