"""Tables that fit the terminal: the longest text columns are shortened, no line ever wraps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from memcli.cli.display import Display
from memcli.cli.safe_text import clipped, display_width, safe_line

GAP = "  "
SHORTEST_CELLS = 8


def show_table(
    display: Display,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    elastic: Collection[str],
) -> None:
    """Like ``display.table``; on a terminal the ``elastic`` columns give way to its width.

    Elsewhere the values are tab-separated and whole.
    """
    table = [list(row) for row in rows]
    if display.environment.stdout_is_terminal:
        may_shrink = [at for at, name in enumerate(columns) if name in elastic]
        header, *table = fitted([list(columns), *table], display.environment.columns, may_shrink)
        columns = header
    display.table(columns, table)


def fitted(rows: Sequence[Sequence[str]], cells: int, elastic: Collection[int]) -> list[list[str]]:
    """``rows`` as safe single lines, clipped so that they fit ``cells`` when aligned.

    The widest elastic column gives way first, down to 8 cells; only where that
    is not enough do the others.
    """
    safe_rows = [[safe_line(cell) for cell in row] for row in rows]
    widths = column_widths(safe_rows)
    room = cells - len(GAP) * (len(widths) - 1)
    for columns, shortest in ((elastic, SHORTEST_CELLS), (range(len(widths)), 1)):
        while sum(widths) > room:
            widest = max(columns, key=lambda at: widths[at], default=None)
            if widest is None or widths[widest] <= shortest:
                break
            others = sum(widths) - widths[widest]
            second = max((widths[at] for at in columns if at != widest), default=0)
            # Down to the next widest at once, then evenly.
            widths[widest] = max(shortest, room - others, min(second, widths[widest] - 1))
    return [
        [clipped(cell, width) for cell, width in zip(row, widths, strict=True)] for row in safe_rows
    ]


def column_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """The cells that each column takes."""
    return [max(map(display_width, column)) for column in zip(*rows, strict=True)]


def aligned(cells: Sequence[str], widths: Sequence[int], right: Collection[int] = ()) -> str:
    """One line of a table; columns in ``right`` are flush right."""
    padded = []
    for at, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        blank = " " * (width - display_width(cell))
        padded.append(blank + cell if at in right else cell + blank)
    return GAP.join(padded).rstrip()
