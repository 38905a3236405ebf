"""Score the recorded answers of Evaluation Cases against the evidence that a person confirmed.

\b
Examples:
  memcli report
  memcli report 3f2a
  memcli report --html report.html
  memcli report --csv - | column -s, -t
  memcli report evaluation/fixture.json --json

Without CASE it takes every Case of the project. A name with a slash or the end
`.json` is a fixture that `export` wrote, - one on standard input: its report is
recomputed from the file alone. What is scored are the recorded Runs, not today's
index. A resolved Case that cannot be scored, or one asked for by name, ends it
with status 3 after the report of the others.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memcli.cli.case_source import fixture_among
from memcli.cli.options import Invocation
from memcli.errors import InvalidInput

if TYPE_CHECKING:
    from memcli.facade.case_views import ReportView


def command(
    invocation: Invocation,
    cases: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CASE...|FIXTURE]", help="Case ids, or a fixture file."),
    ] = None,
    all_projects: Annotated[
        bool, typer.Option("--all-projects", help="Cases of every project.")
    ] = False,
    csv: Annotated[str | None, typer.Option(metavar="FILE|-", help="Write it as CSV.")] = None,
    html: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Write it as a page with plots.")
    ] = None,
) -> None:
    display = invocation.display
    if [csv == "-", html == "-", display.json].count(True) > 1:
        raise InvalidInput("usage", "only one of --json, --csv - and --html - fits on stdout")
    if cases and all_projects:
        raise InvalidInput("usage", "give CASE... or --all-projects, not both")
    view = _report(invocation, cases or None, all_projects)
    for name, wanted in (("--csv", csv), ("--html", html)):
        if wanted is not None and wanted != "-":
            _write(invocation, name, wanted, view)
    if display.json:
        invocation.environment.stdout.write(_shown_json(invocation, view.to_bytes()))
    elif csv == "-":
        _print(invocation, view.csv_bytes())
    elif html == "-":
        _print(invocation, view.html_bytes())
    else:
        from memcli.cli.report_text import report_lines

        display.lines(report_lines(display, view.report))
        if html is None:
            display.hint("plots: the same with --html report.html")
    view.raise_losses()


def _report(invocation: Invocation, names: list[str] | None, all_projects: bool) -> ReportView:
    fixture = fixture_among(invocation.environment, names or ())
    if fixture is None:
        with invocation.open() as memcli:
            return memcli.report(names, all_projects=all_projects)
    from memcli.facade import Memcli

    return Memcli.report_fixture(fixture)


def _write(invocation: Invocation, option: str, wanted: str, view: ReportView) -> None:
    if not wanted:
        raise InvalidInput("usage", f"{option} needs the name of a file, or -")
    path = invocation.environment.working_directory / Path(wanted).expanduser()
    view.write(path, view.csv_bytes() if option == "--csv" else view.html_bytes())
    invocation.display.message(f"wrote {path}")


def _shown_json(invocation: Invocation, data: bytes) -> bytes:
    """In a pipe the very bytes that an export writes; on a terminal nothing in them can act."""
    from memcli.cli.display import without_raw_controls

    return without_raw_controls(data) if invocation.environment.stdout_is_terminal else data


def _print(invocation: Invocation, data: bytes) -> None:
    """As it is in a pipe; on a terminal a query's control sequences are made harmless."""
    if invocation.environment.stdout_is_terminal:
        from memcli.cli.safe_text import safe

        invocation.display.raw(safe(data.decode("utf-8")))
        return
    invocation.environment.stdout.write(data)
