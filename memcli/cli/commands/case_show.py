"""Show one Evaluation Case: the question, its evidence, and what can become evidence.

\b
Examples:
  memcli case show 3f2a
  memcli case show 3f2a --search "night mooring"
  memcli case show 3f2a --resources
  memcli case show 3f2a --json

CASE is an id or a unique beginning of one. The column rank is what `rank:N`
means to `case resolve`. --search looks through the frozen corpus for what no
stage of retrieval found.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli.options import Invocation
from memcli.errors import InvalidInput


def command(
    invocation: Invocation,
    case: Annotated[str, typer.Argument(help="Case id, or its beginning.")],
    search: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Look through the frozen corpus.")
    ] = None,
    resources: Annotated[
        bool, typer.Option("--resources", help="The resources that were frozen.")
    ] = False,
) -> None:
    from memcli.cli.case_text import case_lines, search_lines

    display = invocation.display
    if search is not None and resources:
        raise InvalidInput("usage", "give --search or --resources, not both")
    with invocation.open() as memcli:
        if search is not None:
            found = memcli.search_frozen_corpus(case, search)
            if display.json:
                display.document(found.document())
                return
            display.lines(search_lines(display, found))
            if not found.search.total:
                display.message("no frozen resource holds any of these words")
            return
        view = memcli.get_evaluation_case(case)
    if display.json:
        display.document(view.document())
    elif resources:
        from memcli.cli.fitted_table import show_table

        names = ["resource_id", "scope", "kind", "path", "title"]
        rows = [[str(getattr(each, name)) for name in names] for each in view.detail.resources]
        show_table(display, names, rows, elastic=("resource_id", "path", "title"))
    else:
        display.lines(case_lines(display, view))
        display.hint(f"next: memcli case resolve {view.case.case_id}")
