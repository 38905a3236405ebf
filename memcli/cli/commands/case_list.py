"""List Evaluation Cases, oldest first.

\b
Examples:
  memcli case list
  memcli case list --status draft
  memcli case list --status needs_evidence --all-projects --json

A `draft` waits for evidence, a `ready` Case counts in reports, and of one that
`needs_evidence` somebody said that nothing in memory answers it.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from memcli.cli.options import Invocation

if TYPE_CHECKING:
    from memcli.facade.case_views import CaseListing


class Status(str, Enum):
    """The states of a Case."""

    DRAFT = "draft"
    READY = "ready"
    NEEDS_EVIDENCE = "needs_evidence"


def command(
    invocation: Invocation,
    status: Annotated[Status | None, typer.Option(help="Only Cases in this state.")] = None,
    all_projects: Annotated[
        bool, typer.Option("--all-projects", help="Cases of every project.")
    ] = False,
) -> None:
    display = invocation.display
    with invocation.open() as memcli:
        listing = memcli.list_evaluation_cases(
            status=status.value if status else None, all_projects=all_projects
        )
    for case_id in listing.damaged:
        display.warning(f"case {case_id} is damaged: memcli case show {case_id} says more")
    if display.json:
        display.document(listing.document())
    elif listing.cases:
        _print(invocation, listing)
    else:
        display.message("no case matches" if status else "no cases yet")
        display.hint("next: memcli case create last")


def _print(invocation: Invocation, listing: CaseListing) -> None:
    from memcli.cli.fitted_table import show_table
    from memcli.cli.moments import age

    environment = invocation.environment
    terminal = environment.stdout_is_terminal
    columns = ["case", "age" if terminal else "created", "status", "version", "evidence", "query"]
    rows = [
        [
            case.case_id,
            age(case.created_at, environment.now()) if terminal else case.created_at,
            case.status,
            str(case.version),
            str(case.evidence_count),
            case.query,
        ]
        for case in listing.cases
    ]
    if not terminal:
        columns.insert(1, "run")
        for row, case in zip(rows, listing.cases, strict=True):
            row.insert(1, case.run_id)
    if listing.project_id is None:
        columns.insert(1, "project")
        for row, case in zip(rows, listing.cases, strict=True):
            row.insert(1, case.project_id)
    show_table(invocation.display, columns, rows, elastic=("project", "query"))
    if any(case.status == "draft" for case in listing.cases):
        invocation.display.hint("next: memcli case next")
    else:
        invocation.display.hint("next: memcli report")
