"""Show one note as it is indexed: what it is, what it shadows, and how it is cut into units.

\b
Examples:
  memcli memory show docs/deploy.md
  memcli memory show docs/deploy.md --units
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from memcli.cli.display import Display
from memcli.cli.options import Invocation
from memcli.cli.safe_text import safe, safe_line

if TYPE_CHECKING:
    from memcli.facade import NoteView


def command(
    invocation: Invocation,
    path: Annotated[str, typer.Argument(help="Path key, file or resource id.")],
    units: Annotated[
        bool, typer.Option("--units", help="Show each unit with its key, lines and tokens.")
    ] = False,
) -> None:
    with invocation.open() as memcli:
        view = memcli.show_note(path, units=units)
    if invocation.display.json:
        invocation.display.document(view.document())
        return
    invocation.display.lines(_lines(invocation.display, view))


def _lines(display: Display, view: NoteView) -> Iterator[str]:
    resource = view.resource
    yield display.style(safe_line(resource.path), "path")
    for name, value in (
        ("id", resource.resource_id),
        ("scope", str(resource.scope)),
        ("kind", resource.kind),
        ("title", resource.title),
        ("description", resource.description),
        ("file", resource.file_path),
        ("hash", resource.resource_hash),
    ):
        if value:
            yield f"{name:<12}{safe_line(value)}"
    for each in view.shadowed:
        yield safe_line(f"{'shadows':<12}{each.path} ({each.scope}) {each.detail}")
    for warning in view.warnings:
        yield safe_line(f"{'warning':<12}{warning.reason}: {warning.detail}")
    if view.units is None:
        yield ""
        yield safe(resource.body.rstrip("\n"))
        return
    yield f"{'units':<12}{len(view.units)}"
    for unit in view.units:
        yield ""
        yield display.style(safe_line(unit.unit_key), "strong")
        place = f"lines {unit.locator.start_line}-{unit.locator.end_line}"
        yield display.style(f"{place}, {unit.token_count} tokens", "dim")
        yield from (f"  {line}".rstrip() for line in safe(unit.text).split("\n"))
