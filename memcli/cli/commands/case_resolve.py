"""Say which evidence answers a Case: at a terminal in a labelling session, else by flags or JSON.

\b
Examples:
  memcli case resolve 3f2a
  memcli case resolve 3f2a --expected-version 1 --evidence rank:1 --evidence resource:docs/a.md
  memcli case resolve 3f2a --expected-version 1 --none-matched
  echo '{"expected_version": 1, "evidence": ["rank:1"]}' | memcli case resolve 3f2a -

Evidence is `unit:KEY`, `resource:ID` or `rank:N`, as `case show` lists them. All
of it replaces what the Case held before. Where the Case is not at the expected
version, nothing is changed and the status is 5. As JSON, evidence is a list of
spellings or of {"resource_id": ..., "unit_key": ...}, or there is
"none_matched": true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memcli.cli.options import Invocation
from memcli.errors import InvalidInput

if TYPE_CHECKING:
    from memcli.facade.case_views import CaseChange


def command(
    invocation: Invocation,
    case: Annotated[str, typer.Argument(help="Case id, or its beginning.")],
    source: Annotated[
        str | None, typer.Argument(metavar="[-]", help="- reads JSON from standard input.")
    ] = None,
    expected_version: Annotated[
        int | None, typer.Option(min=1, help="The version that was looked at.")
    ] = None,
    evidence: Annotated[
        list[str] | None,
        typer.Option(metavar="SPELLING", help="unit:KEY, resource:ID or rank:N; repeatable."),
    ] = None,
    none_matched: Annotated[
        bool, typer.Option("--none-matched", help="Nothing in this memory answers the query.")
    ] = False,
) -> None:
    environment = invocation.environment
    by_flags = expected_version is not None or bool(evidence) or none_matched
    if source not in (None, "-"):
        raise InvalidInput(
            "usage", f"unexpected {source!r}", "Evidence is named by --evidence, one each."
        )
    if source == "-" and by_flags:
        raise InvalidInput("usage", "give flags or JSON on standard input, not both")
    with invocation.open() as memcli:
        if by_flags:
            change = memcli.resolve_evaluation_case(
                case,
                expected_version=_required(expected_version),
                evidence=evidence or (),
                none_matched=none_matched,
            )
        elif source == "-" or not environment.stdin_is_terminal:
            change = memcli.resolve_evaluation_case_json(case, _resolution(invocation))
        else:
            from memcli.cli.labelling.desk import label, require_session

            require_session(invocation)
            label(invocation, memcli, memcli.get_evaluation_case(case))
            return
    _print(invocation, change)


def _required(expected_version: int | None) -> int:
    if expected_version is None:
        raise InvalidInput(
            "usage",
            "--expected-version is missing: the version of the Case that you looked at",
            "`memcli case show` tells it.",
        )
    return expected_version


def _resolution(invocation: Invocation) -> bytes:
    data = invocation.environment.stdin.read()
    if not data.strip():
        raise InvalidInput(
            "usage",
            "there is neither evidence nor a terminal for a labelling session",
            "Give --expected-version with --evidence or --none-matched, or JSON on standard input.",
        )
    return data


def _print(invocation: Invocation, change: CaseChange) -> None:
    display = invocation.display
    if display.json:
        display.document(change.document())
        return
    case = change.case
    pieces = f"{case.evidence_count} piece" + ("" if case.evidence_count == 1 else "s")
    display.lines([f"case {case.case_id}: {case.status}, version {case.version}, {pieces}"])
    if case.status == "ready":
        display.hint(f"score it: memcli report {case.case_id}")
    else:
        display.hint("next: memcli case next")
