"""List the models: built in, your own, and those that can be pulled.

\b
Examples:
  memcli models list
  memcli models list --json
  memcli models list --role rerank

A size or digest that nobody has confirmed is shown as unknown. No model file is
read and no network is used: `memcli models verify` proves what is installed.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli.options import Invocation
from memcli.cli.role_option import Role


def command(
    invocation: Invocation,
    role: Annotated[Role | None, typer.Option(help="Only embedders or only rerankers.")] = None,
) -> None:
    import dataclasses

    from memcli.cli.fitted_table import show_table
    from memcli.cli.model_text import COLUMNS, cells, open_anywhere

    with open_anywhere(invocation) as memcli:
        listing = memcli.list_models()
    if role:
        kept = tuple(each for each in listing.models if each.role == role.value)
        listing = dataclasses.replace(listing, models=kept)
    display = invocation.display
    if display.json:
        display.document(listing.document())
        return
    show_table(display, COLUMNS, map(cells, listing.models), elastic=("about", "in use"))
    for row in listing.models:
        if row.problem:
            display.warning(f"{row.name}: {row.problem}")
    display.hint("next: memcli models pull NAME, or memcli models use NAME")
