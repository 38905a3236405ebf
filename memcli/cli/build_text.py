"""The summary of a build: what it holds, what it cost, what was skipped and why."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from memcli.cli.options import Invocation
from memcli.cli.safe_text import safe_line

if TYPE_CHECKING:
    from memcli.facade import BuildReport
    from memcli.facade.watching import WatchEvent

MOST_LISTED = 20
MOST_NAMED = 3


def print_summary(invocation: Invocation, report: BuildReport) -> None:
    """One JSON document, or a few lines; skipped files are always counted and listed."""
    display = invocation.display
    if display.json:
        display.document(report.document())
        return
    summary = report.summary
    made = "built" if summary.created else "already built"
    display.lines(
        [
            f"{made} {summary.revision_id}: {summary.resources} resources, {summary.units} units "
            f"({summary.embedded} embedded, {summary.reused} reused) in {report.seconds:.1f} s",
            f"head {summary.head}" + ("" if summary.swapped else " (not moved)"),
        ]
    )
    if summary.recreated:
        display.warning("the index was damaged or of an older layout, and was made anew")
    skipped = [each for each in summary.left_out if each.disposition.value == "skipped"]
    notes = [f"skipped {each.path}: {each.reason}: {each.detail}" for each in skipped]
    notes += [f"{each.path}: {each.reason}: {each.detail}" for each in summary.warnings]
    shown = notes if display.verbose else notes[:MOST_LISTED]
    for note in shown:
        display.warning(note)
    if len(notes) > len(shown):
        display.message(f"... and {len(notes) - len(shown)} more (-v shows all)")
    for warning in report.warnings:
        display.warning(warning)
    if skipped or summary.warnings:
        display.message(f"{len(skipped)} skipped, {len(summary.warnings)} indexed with a warning")
    if summary.head is None:
        display.hint("next: memcli head swap")
    else:
        display.hint('next: memcli activate "your question"')


def event_line(event: WatchEvent, moment: datetime) -> str:
    """One line for what a watch saw: when, which files, and what came of it."""
    shown = ", ".join(map(safe_line, event.paths[:MOST_NAMED]))
    more = len(event.paths) - MOST_NAMED
    what = f"{shown} and {more} more" if more > 0 else shown
    line = f"{moment.astimezone():%H:%M:%S} {what}: "
    if event.error is not None:
        return f"{line}{event.error.message} [{event.error.code}]"
    assert event.report is not None
    summary = event.report.summary
    if not summary.created:
        moved = "head" if summary.swapped else "nothing to do:"
        return f"{line}{moved} {summary.revision_id} holds this memory already"
    counts = f"{summary.embedded} embedded, {summary.reused} reused"
    return f"{line}built {summary.revision_id} ({counts}, {event.report.seconds:.1f} s)"
