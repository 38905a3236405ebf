"""List Effective Memory as it is: which files won, and what was left out and why.

\b
Examples:
  memcli memory list
  memcli memory list --left-out
  memcli memory list --json
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli.options import Invocation


def command(
    invocation: Invocation,
    left_out: Annotated[
        bool, typer.Option("--left-out", help="List also what git ignores and what was excluded.")
    ] = False,
) -> None:
    with invocation.open() as memcli:
        view = memcli.effective_memory()
    display = invocation.display
    if display.json:
        display.document(view.document())
        return
    display.table(
        ["scope", "kind", "path", "title"],
        [[str(each.scope), each.kind, each.path, each.title] for each in view.memory.resources],
    )
    quiet_kinds = () if left_out or display.verbose else ("ignored", "excluded")
    for each in view.memory.left_out:
        if str(each.disposition) not in quiet_kinds:
            by = f" [{each.by}]" if each.by else ""
            display.message(
                f"{each.disposition}: {each.path} ({each.reason}) {each.detail}{by}".rstrip()
            )
    for warning in view.memory.warnings:
        display.warning(f"{warning.path}: {warning.reason}: {warning.detail}")
    hidden = sum(1 for each in view.memory.left_out if str(each.disposition) in quiet_kinds)
    if hidden:
        display.hint(f"{hidden} ignored or excluded: memcli memory list --left-out")
