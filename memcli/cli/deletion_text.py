"""What ``clear``, ``runs delete`` and ``forget`` share: ask, delete, say what is gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from memcli.cli.display import confirm
from memcli.cli.options import Invocation
from memcli.cli.safe_text import safe_line
from memcli.errors import InvalidInput

if TYPE_CHECKING:
    from memcli.facade.run_views import Deletion


def carry_out(
    invocation: Invocation,
    name: str,
    delete: Callable[[bool], Deletion],
    *,
    dry_run: bool,
    next_command: str,
) -> bool:
    """Try, ask, delete; whether anything was deleted. ``delete`` takes whether it is a trial.

    Raises ``InvalidInput`` ``usage`` where nobody can be asked and ``--yes``
    was not given; ends with status 1 when the answer is no.
    """
    display, options = invocation.display, invocation.options
    if not dry_run and not options.yes and not _can_ask(invocation):
        raise InvalidInput(
            "usage",
            f"`memcli {name}` deletes for good, and there is no terminal to ask at",
            "Add --yes to delete, or --dry-run to see what would be deleted.",
        )
    if dry_run:
        _print(invocation, delete(True), "would delete", next_command)
        return False
    if not options.yes:
        trial = delete(True)
        question = f"Delete {_amount(trial)}?"
        if not trial.is_empty and not confirm(display, question, no_input=options.no_input):
            display.message("nothing was deleted")
            raise typer.Exit(1)
    _print(invocation, delete(False), "deleted", next_command)
    return True


def _can_ask(invocation: Invocation) -> bool:
    return invocation.environment.stdin_is_terminal and not invocation.options.no_input


def _print(invocation: Invocation, deletion: Deletion, verb: str, next_command: str) -> None:
    display = invocation.display
    if display.json:
        display.document(deletion.document())
    elif deletion.is_empty:
        display.lines([f"nothing to delete in {safe_line(deletion.subject)}"])
    else:
        display.lines([f"{verb} {_amount(deletion)}"])
    if deletion.summary.backups and not deletion.is_empty:
        copies = ", ".join(deletion.summary.backups)
        display.warning(f"copies from before a migration may still hold it: {copies}")
    display.hint(f"next: {next_command}")


def _amount(deletion: Deletion) -> str:
    from memcli.facade.status import human_bytes

    summary = deletion.summary
    parts = [_counted(summary.runs, "run")]
    if summary.cases:
        parts.append(_counted(summary.cases, "evaluation case"))
    bodies = f"{_counted(summary.blobs, 'stored body', 'stored bodies')}"
    parts.append(f"{bodies} that nothing else needs ({human_bytes(summary.bytes)})")
    return f"{', '.join(parts[:-1])} and {parts[-1]}: {safe_line(deletion.subject)}"


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
