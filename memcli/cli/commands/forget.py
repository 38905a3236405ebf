"""Forget a project: all its Retrieval Runs and Evaluation Cases are deleted for good.

\b
Examples:
  memcli forget --dry-run
  memcli forget
  memcli forget 8abb0c2469de --yes

Without an id it is the present project. Pinned Runs go too. The project's files
and its index in `.memcli/` are not touched.
"""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from memcli.cli.options import Invocation


def command(
    invocation: Invocation,
    project_id: Annotated[
        str | None, typer.Argument(help="Id of a project, also one whose files are gone.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be deleted.")
    ] = False,
) -> None:
    from memcli.cli.deletion_text import carry_out

    with invocation.open() as memcli:
        forgotten = carry_out(
            invocation,
            "forget",
            lambda trial: memcli.forget_project(project_id, dry_run=trial),
            dry_run=dry_run,
            next_command="memcli runs list --all-projects",
        )
        if forgotten and project_id is None and memcli.storage.directory.is_dir():
            index = shlex.quote(str(memcli.storage.directory))
            invocation.display.message(
                f"the index still holds the notes; to remove it: rm -r {index}"
            )
