"""Models as text: the table of all, what was added or pulled, and the question before replacing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from memcli.cli.display import confirm
from memcli.cli.options import Invocation
from memcli.cli.safe_text import safe_line

if TYPE_CHECKING:
    from memcli.facade import Memcli
    from memcli.facade.model_views import ModelAdded, ModelRow

COLUMNS = ("model", "role", "state", "size", "in use", "licence", "sha256", "about")
SHOWN_DIGITS = 12
UNKNOWN = "unknown"
CHECKING = "checking {}: loading it, golden pair, calibration"


def open_anywhere(invocation: Invocation, **flags: object) -> Memcli:
    """The facade, also outside of any project: models are the user's own."""
    options = dataclasses.replace(invocation.options, yes=True)
    return Invocation(invocation.environment, options).open(**flags)


def cells(row: ModelRow) -> list[str]:
    """One row of the table of models."""
    from memcli.facade.status import human_bytes

    own_file = row.kind != "built_in"
    nothing = UNKNOWN if own_file and row.kind != "broken" else "-"
    return [
        row.name,
        row.role or "-",
        row.state,
        human_bytes(row.size) if row.size is not None else nothing,
        ", ".join(f"{each.job} ({each.origin})" for each in row.in_use) or "-",
        row.licence or nothing,
        row.sha256[:SHOWN_DIGITS] if row.sha256 else nothing,
        row.problem or row.about,
    ]


def may_replace(invocation: Invocation, memcli: Memcli, name: str) -> bool:
    """Whether a model of this name may be replaced; asks where somebody can be asked.

    Ends with status 1 when the answer is no.
    """
    if invocation.options.yes or not memcli.has_model(name):
        return invocation.options.yes
    question = f"There is a model called {name} already. Replace it?"
    answer = confirm(invocation.display, question, no_input=invocation.options.no_input)
    if answer is False:
        invocation.display.message("nothing was changed")
        raise typer.Exit(1)
    return bool(answer)


def print_added(invocation: Invocation, added: ModelAdded) -> None:
    """The outcome of ``models add`` and ``models pull``."""
    display = invocation.display
    if display.json:
        display.document(added.document())
    else:
        display.lines(_added_lines(added))
    for remark in added.remarks:
        display.warning(remark)
    display.hint(f"next: {added.next_command}")


def _added_lines(added: ModelAdded) -> Iterator[str]:
    model = added.model
    verb = "replaced" if added.replaced else "added"
    if added.downloaded is not None:
        verb = "pulled" if added.downloaded else "already here"
    kind = "embedder" if model.role == "embed" else "reranker"
    yield f"{verb}: {kind} {safe_line(model.name)}"
    yield f"  file     {safe_line(str(model.file))}"
    yield f"  sha256   {model.sha256}"
    yield f"  profile  {safe_line(str(added.profile_path))}"
    if added.questions:
        yield f"  check    {added.answered} of {added.questions} built-in questions answered first"
