"""Delete one Retrieval Run for good, with every stored body that nothing else needs.

\b
Examples:
  memcli runs delete 3f2a
  memcli runs delete last --dry-run
  memcli runs delete 3f2a --yes

A note or a query may hold a secret: deleted rows are overwritten. The source of
an Evaluation Case is refused: delete the Case first. RUN is an id, a unique
beginning of one, or `last`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli.options import Invocation


def command(
    invocation: Invocation,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id, its beginning, or last.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be deleted.")
    ] = False,
) -> None:
    from memcli.cli.deletion_text import carry_out

    with invocation.open() as memcli:
        # What was asked about is what is deleted, also when another run is the last by then.
        run_id = memcli.name_retrieval_run(run)
        carry_out(
            invocation,
            "runs delete",
            lambda trial: memcli.delete_run(run_id, dry_run=trial),
            dry_run=dry_run,
            next_command="memcli runs list",
        )
