"""Show one Retrieval Run: the query, what was searched, where time went, every candidate.

\b
Examples:
  memcli runs show last
  memcli runs show 3f2a
  memcli runs show last --candidate 1
  memcli runs show last --candidate docs/deploy.md#/rolling-back~0.0
  memcli runs show last --open 1
  memcli runs show 3f2a --json

RUN is an id, a unique beginning of one, or `last`. A candidate is named by its
key, by a unique beginning of it, or by its place in the fusion (the column rrf).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memcli.cli.options import Invocation
from memcli.errors import InvalidInput

if TYPE_CHECKING:
    from memcli.facade.run_views import RunView

SHORT_DIGEST = 12


def command(
    invocation: Invocation,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Run id, its beginning, or last.")
    ] = "last",
    candidate: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="One candidate's whole story, with its text."),
    ] = None,
    resources: Annotated[
        bool, typer.Option("--resources", help="The manifest of what was searched.")
    ] = False,
    open_: Annotated[
        int | None,
        typer.Option(
            "--open", metavar="N", min=1, help="Open fragment N at its line. [env: VISUAL, EDITOR]"
        ),
    ] = None,
) -> None:
    if candidate is not None and resources:
        raise InvalidInput("usage", "give --candidate or --resources, not both")
    if open_ is not None:
        from memcli.cli.opening import editor_of

        editor_of(invocation.environment.environ)
    with invocation.open() as memcli:
        view = memcli.get_retrieval_run(run)
        _print(invocation, view, candidate, resources)
        if open_ is not None:
            from memcli.cli.opening import open_fragment_of_run

            open_fragment_of_run(invocation, memcli, view, open_)


def _print(invocation: Invocation, view: RunView, candidate: str | None, resources: bool) -> None:
    display = invocation.display
    if view.other_project:
        display.message(f"note: a run of another project: {view.other_project}")
    if candidate is not None:
        _print_candidate(invocation, view, candidate)
    elif display.json:
        display.document(view.document())
    elif resources:
        _print_resources(invocation, view)
    else:
        _print_run(invocation, view)


def _print_run(invocation: Invocation, view: RunView) -> None:
    from memcli.cli.candidate_text import candidate_lines
    from memcli.cli.run_text import fragment_lines, heading_lines, time_lines

    display = invocation.display
    display.lines(
        [
            *heading_lines(display, view),
            *time_lines(display, view.run.timings_us),
            *candidate_lines(display, view),
            *fragment_lines(display, view),
        ]
    )
    if view.detail.candidates:
        display.hint(f"one candidate: memcli runs show {view.run.run_id} --candidate 1")


def _print_candidate(invocation: Invocation, view: RunView, asked: str) -> None:
    from memcli.cli.candidate_text import candidate_story

    display = invocation.display
    found = view.candidate(asked)
    if display.json:
        display.document(view.candidate_document(found))
        return
    display.lines(candidate_story(display, view, found))


def _print_resources(invocation: Invocation, view: RunView) -> None:
    from memcli.cli.fitted_table import show_table

    display = invocation.display
    if not view.detail.resources:
        display.message(f"no corpus is stored with a run that {_why_no_corpus(view)}")
        return
    terminal = invocation.environment.stdout_is_terminal
    names = ["ordinal", "scope", "kind", "path", "title", "resource_hash"]
    if not terminal:
        names += ["resource_id", "description", "body_sha256"]
    rows = [[str(getattr(each, name)) for name in names] for each in view.detail.resources]
    if terminal:
        # Enough of a digest to tell two apart; paths and titles need the room.
        rows = [[*row[:-1], row[-1][:SHORT_DIGEST]] for row in rows]
    show_table(display, names, rows, elastic=("path", "title"))


def _why_no_corpus(view: RunView) -> str:
    states = {"succeeded": "searched an empty memory", "running": "is still running"}
    return states.get(view.run.status, view.run.status)
