"""Resolve the oldest Case that nobody has resolved yet, then the next, in a labelling session.

\b
Examples:
  memcli case next
  memcli case next --json

Without a terminal it shows that Case. When there is none it ends with status 1.
A Case of which somebody said that nothing matches is not offered again; `case
list --status needs_evidence` lists those.
"""

from __future__ import annotations

from memcli.cli.options import Invocation
from memcli.errors import Failure


def command(invocation: Invocation) -> None:
    from memcli.cli.labelling.desk import can_hold_session, label

    display = invocation.display
    with invocation.open() as memcli:
        view = memcli.next_evaluation_case()
        if view is None:
            raise Failure(
                "case_not_found",
                "no case of this project is unresolved",
                "`memcli case create last` makes one of the newest run.",
            )
        if can_hold_session(invocation):
            label(invocation, memcli, view)
            return
    if display.json:
        display.document(view.document())
        return
    from memcli.cli.case_text import case_lines

    display.lines(case_lines(display, view))
    display.hint(f"next: memcli case resolve {view.case.case_id} --expected-version ...")
