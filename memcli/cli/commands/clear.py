"""Delete this project's unpinned Retrieval Runs, then every stored body that nothing needs.

\b
Examples:
  memcli clear --dry-run
  memcli clear
  memcli clear --all-projects --yes

Pinned Runs, running ones and the sources of Evaluation Cases stay. What an
interrupted clear left behind goes with the next one.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli.options import Invocation


def command(
    invocation: Invocation,
    all_projects: Annotated[
        bool, typer.Option("--all-projects", help="Clear every project's Runs.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be deleted.")
    ] = False,
) -> None:
    from memcli.cli.deletion_text import carry_out

    with invocation.open() as memcli:
        carry_out(
            invocation,
            "clear",
            lambda trial: memcli.clear_retrieval_runs(all_projects=all_projects, dry_run=trial),
            dry_run=dry_run,
            next_command="memcli runs list" + (" --all-projects" if all_projects else ""),
        )
