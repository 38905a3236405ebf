"""List Retrieval Runs, newest first.

\b
Examples:
  memcli runs list
  memcli runs list --status failed --since 2h
  memcli runs list --since 2026-03-01 --all-projects
  memcli runs list --ndjson | jq -r .run_id

A terminal gets the newest 30 unless --limit says otherwise; a pipe gets all.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from memcli.cli.options import Invocation

if TYPE_CHECKING:
    from memcli.facade.run_views import RunListing
    from memcli.history.runs import RunRecord

TERMINAL_LIMIT = 30


class Status(str, Enum):
    """The states of a Run."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


def command(
    invocation: Invocation,
    status: Annotated[Status | None, typer.Option(help="Only Runs in this state.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="WHEN", help="2h, 3d, a date, or a date and time.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many.")] = None,
    all_projects: Annotated[
        bool, typer.Option("--all-projects", help="Runs of every project.")
    ] = False,
    ndjson: Annotated[bool, typer.Option("--ndjson", help="One JSON document a line.")] = False,
) -> None:
    from memcli.cli.display import json_lines
    from memcli.cli.moments import since_moment

    display, environment = invocation.display, invocation.environment
    display.json = display.json or ndjson
    if limit is None and environment.stdout_is_terminal and not display.json:
        limit = TERMINAL_LIMIT
    with invocation.open() as memcli:
        listing = memcli.list_retrieval_runs(
            status=status.value if status else None,
            since=since_moment(since, environment.now()) if since is not None else None,
            limit=limit,
            all_projects=all_projects,
        )
    for run_id in listing.damaged:
        display.warning(f"run {run_id} is damaged: memcli runs show {run_id} says more")
    if ndjson:
        environment.stdout.write(json_lines(listing.line_documents()))
    elif display.json:
        display.document(listing.document())
    elif listing.runs:
        _print(invocation, listing, limit)
    else:
        asked = status is not None or since is not None
        display.message("no run matches" if asked else "no runs yet")
        other = "" if all_projects else "; other projects: memcli runs list --all-projects"
        display.hint(f'next: memcli activate "your question"{other}')


def _print(invocation: Invocation, listing: RunListing, limit: int | None) -> None:
    from memcli.cli.fitted_table import show_table

    display = invocation.display
    terminal = display.environment.stdout_is_terminal
    when, count = ("age", "frags") if terminal else ("created", "fragments")
    columns = ["run", when, "status", count, "note", "query"]
    rows = [_row(invocation, run) for run in listing.runs]
    if listing.project_id is None:
        columns.insert(1, "project")
        for row, run in zip(rows, listing.runs, strict=True):
            name = run.project_name if terminal else None
            row.insert(1, name or run.project_id)
    show_table(display, columns, rows, elastic=("project", "note", "query"))
    if listing.more:
        display.hint(f"older ones: memcli runs list --limit {10 * (limit or 1)}")
    elif terminal:
        display.hint(f"trace: memcli runs show {listing.runs[0].run_id}")


def _row(invocation: Invocation, run: RunRecord) -> list[str]:
    from memcli.cli.moments import age

    environment = invocation.environment
    created = run.created_at
    if environment.stdout_is_terminal:
        created = age(run.created_at, environment.now())
    notes = [run.error.code] if run.error else []
    if run.case:
        notes.append(f"case {run.case.status}")
    elif run.pinned:
        notes.append("pinned")
    fragments = str(run.counts.fragments) if run.counts else "-"
    return [run.run_id, created, run.status, fragments, ", ".join(notes), run.query]
