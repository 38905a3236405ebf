"""Make the Evaluation Case of a Run: query, corpus and trace are frozen, evidence is still open.

\b
Examples:
  memcli case create last
  memcli case create 3f2a 91c0
  memcli case create --since 2d
  memcli case create --all

A Run has one Case: asking again gives the same one. The Run is kept from then
on. RUN is an id, a unique beginning of one, or `last`. A Run without an answer
or without its whole corpus is refused with the reason; with --since and --all
that is no error for Runs that failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memcli.cli.options import Invocation
from memcli.errors import InvalidInput

if TYPE_CHECKING:
    from memcli.facade.case_views import CaseCreations


def command(
    invocation: Invocation,
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="RUN...", help="Run ids, or last.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="Every Run since: 2h, 3d, a date, or a date and time."),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every Run of this project.")] = False,
) -> None:
    from memcli.cli.moments import since_moment

    if [bool(runs), since is not None, all_].count(True) != 1:
        raise InvalidInput(
            "usage", "give either RUN..., --since or --all", "Example: memcli case create last"
        )
    now = invocation.environment.now()
    with invocation.open() as memcli:
        unanswered: list[str] = []
        if runs:
            made = memcli.create_evaluation_cases(runs)
        else:
            made, unanswered = memcli.create_evaluation_cases_since(
                None if since is None else since_moment(since, now)
            )
    _print(invocation, made)
    made.raise_refusals(unanswered)


def _print(invocation: Invocation, made: CaseCreations) -> None:
    display = invocation.display
    if display.json:
        display.document(made.document())
        return
    if not made.made:
        display.message("no run yet" if made.selected else "no run was named")
        display.hint('next: memcli activate "your question"')
        return
    from memcli.cli.fitted_table import show_table

    rows = []
    for each in made.made:
        if each.case is None:
            # The first words, "run ... cannot become an evaluation case", are the row itself.
            reason = each.refusal.message.partition(": ")[2] if each.refusal else ""
            rows.append(["refused", "-", each.reference, "-", "-", reason])
        else:
            case = each.case
            outcome = "created" if each.is_new else "exists"
            rows.append(
                [outcome, case.case_id, case.run_id, case.status, str(case.version), case.query]
            )
    columns = ["outcome", "case", "run", "status", "version", "query or reason"]
    show_table(display, columns, rows, elastic=("query or reason",))
    _hint(invocation, made)


def _hint(invocation: Invocation, made: CaseCreations) -> None:
    cases = [each.case for each in made.made if each.case is not None]
    display = invocation.display
    if made.refused:
        display.message(f"{len(cases)} with a case, {len(made.refused)} refused")
    if len(cases) == 1:
        display.hint(f"next: memcli case resolve {cases[0].case_id}")
    elif cases:
        display.hint("next: memcli case next")
