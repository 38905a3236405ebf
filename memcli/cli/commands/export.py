"""Write the ready Evaluation Cases to files that need neither this project nor this machine.

\b
Examples:
  memcli export --out evaluation/
  memcli export --out harbor.json
  memcli export 3f2a 91c0 --out two-cases/ --report-only
  memcli export --out trec/ --format trec
  memcli export --out beir/ --format beir

By default a fixture, which holds queries, evidence, traces and every frozen
note, and the report beside it: DIR/fixture.json and DIR/report.json, or
NAME.json and NAME.report.json. `trec` writes qrels.txt and a run file for each
ranking, `beir` corpus.jsonl, queries.jsonl and qrels.tsv. The same Cases give
the same bytes. Files are for their owner alone: notes may hold secrets.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memcli.cli.options import Invocation
from memcli.errors import InvalidInput

if TYPE_CHECKING:
    from memcli.facade.case_views import ExportView


class Format(str, Enum):
    """What is written."""

    JSON = "json"
    TREC = "trec"
    BEIR = "beir"


def command(
    invocation: Invocation,
    out: Annotated[str, typer.Option("--out", metavar="DIR|FILE", help="Where to write.")],
    cases: Annotated[
        list[str] | None, typer.Argument(metavar="[CASE...]", help="Case ids. Default: all.")
    ] = None,
    all_projects: Annotated[
        bool, typer.Option("--all-projects", help="Cases of every project.")
    ] = False,
    fixture_only: Annotated[bool, typer.Option("--fixture-only", help="Write no report.")] = False,
    report_only: Annotated[bool, typer.Option("--report-only", help="Write no fixture.")] = False,
    format_: Annotated[Format, typer.Option("--format", help="What to write.")] = Format.JSON,
) -> None:
    from memcli.facade.case_access import ExportFormat

    _refuse_contradictions(out, cases, all_projects, fixture_only, report_only, format_)
    with invocation.open() as memcli:
        exported = memcli.export_evaluation_set(
            invocation.environment.working_directory / Path(out).expanduser(),
            cases or None,
            form=ExportFormat(format_.value),
            fixture=not report_only,
            report=not fixture_only,
            all_projects=all_projects,
        )
    _print(invocation, exported)
    exported.raise_losses()


def _refuse_contradictions(
    out: str,
    cases: list[str] | None,
    all_projects: bool,
    fixture_only: bool,
    report_only: bool,
    format_: Format,
) -> None:
    what = ""
    if fixture_only and report_only:
        what = "give --fixture-only or --report-only, not both"
    elif format_ is not Format.JSON and (fixture_only or report_only):
        what = f"--format {format_.value} writes neither fixture nor report"
    elif cases and all_projects:
        what = "give CASE... or --all-projects, not both"
    elif out in ("", "-"):
        what = "--out needs the name of a directory or a file"
    if what:
        raise InvalidInput("usage", what, "See `memcli export --help`.")


def _print(invocation: Invocation, exported: ExportView) -> None:
    display = invocation.display
    if display.json:
        display.document(exported.document())
        return
    from memcli.cli.safe_text import safe_line

    cases = f"{exported.cases} case" + ("" if exported.cases == 1 else "s")
    display.lines(
        [
            f"exported {cases}, {len(exported.excluded)} left out",
            *(f"  {safe_line(str(path))}" for path in exported.files),
        ]
    )
    for each in exported.excluded:
        display.message(f"left out: {each.case_id} ({each.status}): {each.reason}")
    if exported.form == "json":
        if exported.report is None:
            display.message("only the fixture was written, no report")
        elif exported.fixture is None:
            display.message("only the report was written, no fixture: it cannot be recomputed")
        else:
            display.hint(f"recompute: memcli report {exported.fixture}")
