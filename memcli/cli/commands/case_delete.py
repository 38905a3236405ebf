"""Delete an Evaluation Case with its evidence for good. Its Run stays, but is kept no longer.

\b
Examples:
  memcli case delete 3f2a
  memcli case delete 3f2a --dry-run
  memcli case delete 3f2a --yes

The frozen bodies go with the next `memcli clear`, unless something else needs
them. CASE is an id or a unique beginning of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memcli.cli.options import Invocation
from memcli.errors import InvalidInput

if TYPE_CHECKING:
    from memcli.facade.case_views import CaseDeletion


def command(
    invocation: Invocation,
    case: Annotated[str, typer.Argument(help="Case id, or its beginning.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be deleted.")
    ] = False,
) -> None:
    from memcli.cli.display import confirm

    display, options = invocation.display, invocation.options
    can_ask = invocation.environment.stdin_is_terminal and not options.no_input
    if not (dry_run or options.yes or can_ask):
        raise InvalidInput(
            "usage",
            "`memcli case delete` deletes for good, and there is no terminal to ask at",
            "Add --yes to delete, or --dry-run to see what would be deleted.",
        )
    with invocation.open() as memcli:
        trial = memcli.delete_evaluation_case(case, dry_run=True)
        if dry_run:
            _print(invocation, trial)
            return
        if not options.yes and not confirm(
            display, f"Delete {_subject(trial)}?", no_input=options.no_input
        ):
            display.message("nothing was deleted")
            raise typer.Exit(1)
        # What was asked about is what is deleted, whatever the beginning fits by then.
        _print(invocation, memcli.delete_evaluation_case(trial.case.case_id))


def _print(invocation: Invocation, deletion: CaseDeletion) -> None:
    display = invocation.display
    if display.json:
        display.document(deletion.document())
        return
    verb = "would delete" if deletion.dry_run else "deleted"
    display.lines([f"{verb} {_subject(deletion)}"])
    if not deletion.dry_run:
        display.hint(f"its run is still there: memcli runs show {deletion.case.run_id}")


def _subject(deletion: CaseDeletion) -> str:
    from memcli.cli.safe_text import clipped, safe_line

    case = deletion.case
    pieces = "1 piece" if case.evidence_count == 1 else f"{case.evidence_count} pieces"
    query = clipped(safe_line(case.query), 60)
    return (
        f"case {case.case_id} ({case.status}, version {case.version}, {pieces} of evidence): "
        f"{query!r}"
    )
