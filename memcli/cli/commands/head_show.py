"""Show the revision that queries use.

\b
Examples:
  memcli head show
  memcli head show --json
"""

from __future__ import annotations

from memcli.cli.options import Invocation
from memcli.cli.safe_text import safe_line


def command(invocation: Invocation) -> None:
    with invocation.open() as memcli:
        head = memcli.show_head()
    display = invocation.display
    if display.json:
        display.document(head.document())
        return
    display.lines(f"{name:<15} {safe_line(value)}" for name, value in head.rows())
