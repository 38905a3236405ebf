"""Prove installed models again: digest, header, one load, and an answer told from nonsense.

\b
Examples:
  memcli models verify
  memcli models verify bge-m3
  memcli models verify --json

Exit status 1 if any is broken.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli.model_options import GpuOption, ThreadsOption, model_settings
from memcli.cli.options import Invocation


def command(
    invocation: Invocation,
    name: Annotated[str | None, typer.Argument(help="Only this model.")] = None,
    threads: ThreadsOption = None,
    gpu: GpuOption = None,
) -> None:
    from memcli.cli.model_text import open_anywhere
    from memcli.cli.safe_text import safe_line

    display = invocation.display
    with open_anywhere(invocation, **model_settings(threads=threads, gpu=gpu)) as memcli:
        found = memcli.verify_models(name)
    if display.json:
        display.document(found.document())
    else:
        display.message(f"on {found.device}")
        for each in found.verdicts:
            mark = display.style("broken", "bad") if each.error else display.style("ok", "good")
            told = f": {safe_line(each.error.message)}" if each.error else ""
            display.lines([f"{mark}  {safe_line(each.model.name)}{told}"])
            if each.error and each.error.hint:
                display.hint(f"  {each.error.hint}")
    if found.broken:
        raise typer.Exit(1)
