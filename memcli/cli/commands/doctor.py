"""Check everything that memcli stands on; each fault comes with the command that repairs it.

\b
Examples:
  memcli doctor
  memcli doctor --json | jq -r '.findings[] | select(.state != "ok") | .repair'

It looks at Python, SQLite, llama.cpp, the models, the project, its index, the
history, rights, leftovers and room on the disk. Nothing is changed. Exit 1 if
anything is broken; a warning is no failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from memcli.cli.options import Invocation

if TYPE_CHECKING:
    from memcli.facade.doctor import Diagnosis

_STYLES = {"ok": "good", "warn": "warn", "broken": "bad"}


def command(invocation: Invocation) -> None:
    from memcli.facade.doctor import diagnose

    diagnosis = diagnose(invocation.open, invocation.surroundings())
    display = invocation.display
    if display.json:
        display.document(diagnosis.document())
    else:
        _print(invocation, diagnosis)
    if not diagnosis.healthy:
        raise typer.Exit(1)


def _print(invocation: Invocation, diagnosis: Diagnosis) -> None:
    from memcli.cli.safe_text import display_width, safe_line

    display = invocation.display
    lines = []
    area = ""
    # A check is named after what it looked at, which may be a file of any name.
    names = [safe_line(each.check) for each in diagnosis.findings]
    width = max(map(display_width, names))
    for name, each in zip(names, diagnosis.findings, strict=True):
        if each.area != area:
            area = each.area
            lines.append(display.style(area, "heading"))
        state = display.style(f"{each.state:<6}", _STYLES[each.state])
        lines.append(
            f"  {state}  {name}{' ' * (width - display_width(name))}  {safe_line(each.message)}"
        )
        if each.repair:
            lines.append(f"          {'':<{width}}  repair: {safe_line(each.repair)}")
    display.lines(lines)
    broken, warnings = diagnosis.count("broken"), diagnosis.count("warn")
    if broken or warnings:
        display.message(f"{broken} broken, {warnings} to look at")
    else:
        display.message("everything is as it should be")
