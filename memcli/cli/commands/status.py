"""Show project, sources, memory, index, head and models, and what needs attention.

\b
Examples:
  memcli status
  memcli status --json
"""

from __future__ import annotations

from memcli.cli.options import Invocation
from memcli.cli.safe_text import safe_line


def command(invocation: Invocation) -> None:
    with invocation.open() as memcli:
        status = memcli.status()
    display = invocation.display
    if display.json:
        display.document(status.document())
        return
    for section, rows in status.sections():
        display.lines([display.style(section, "heading")])
        display.lines(f"  {name:<15} {safe_line(value)}" for name, value in rows)
    for warning in status.warnings:
        display.warning(warning)
    if status.next_command:
        display.hint(f"next: {status.next_command}")
