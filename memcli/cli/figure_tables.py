"""What reports, reruns and gates are printed with: tables of figures, counts, times, notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memcli.cli.display import Display
from memcli.cli.fitted_table import aligned, column_widths, fitted
from memcli.cli.safe_text import safe_line

WIDEST_TEXT = 100


def table_lines(
    display: Display,
    rows: Sequence[Sequence[str]],
    *,
    elastic: Sequence[int],
    right: Sequence[int],
) -> Iterator[str]:
    """A table whose first row is its head; cells may be any text."""
    if not display.environment.stdout_is_terminal:
        yield from ("\t".join(safe_line(cell) for cell in row) for row in rows)
        return
    shown = fitted(rows, display.environment.columns, elastic)
    widths = column_widths(shown)
    head, *rest = (aligned(row, widths, right) for row in shown)
    yield display.style(head, "strong")
    yield from rest


def notes_lines(display: Display, notes: Sequence[str]) -> Iterator[str]:
    from textwrap import wrap

    width = max(20, min(WIDEST_TEXT, display.environment.columns))
    for note in notes:
        if display.environment.stdout_is_terminal:
            yield from (display.style(line, "dim") for line in wrap(note, width))
        else:
            yield note


def milliseconds(microseconds: int | None) -> str:
    return "-" if microseconds is None else f"{microseconds / 1000:.1f} ms"


def counted(count: int, one: str) -> str:
    return f"{count} {one if count == 1 else one + 's'}"
