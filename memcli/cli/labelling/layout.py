"""Where things stand on a screen of a given size, and which keys are shown on it."""

from __future__ import annotations

from dataclasses import dataclass

from memcli.cli.labelling.text_layout import wrapped
from memcli.cli.safe_text import clipped, display_width

SIDE_BY_SIDE = 120
NARROWEST = 20
WIDEST_TEXT = 100
LABEL = 7
LEAST_ROWS = 3
LEAST_PREVIEW = 3

LIST_KEYS = (
    ("space", "mark"),
    ("w", "whole note"),
    ("enter", "read"),
    ("/", "search"),
    ("tab", "next list"),
    ("u", "undo"),
    ("s", "save"),
    ("n", "none matched"),
    (">", "skip"),
    ("v", "query"),
    ("q", "quit"),
    ("?", "help"),
)
READ_KEYS = (
    ("up down", "scroll"),
    ("o", "fragment or whole note"),
    ("space", "mark"),
    ("w", "whole note"),
    ("tab", "next"),
    ("u", "undo"),
    ("enter", "back"),
)
QUERY_KEYS = (("up down", "scroll"), ("enter", "back"))
SEARCH_KEYS = (("enter", "search; nothing typed lists every note"), ("esc", "back"))
CONFLICT_KEYS = (
    ("m", "keep my marks"),
    ("t", "take theirs"),
    ("b", "both"),
    ("esc", "back, not reloaded"),
)
HELP_KEYS = (("any key", "back"),)
KEYS = {
    "list": LIST_KEYS,
    "read": READ_KEYS,
    "query": QUERY_KEYS,
    "search": SEARCH_KEYS,
    "conflict": CONFLICT_KEYS,
    "help": HELP_KEYS,
}


@dataclass(frozen=True, slots=True)
class Layout:
    """Rows and cells of each part; ``body`` is what lies between head and foot.

    ``list_rows`` and ``preview_rows`` share it, one above the other or, at 120
    columns and more, beside each other. ``text_cells`` is the width of text that
    fills the body alone.
    """

    columns: int
    query: tuple[str, ...]
    keys: tuple[str, ...]
    body: int
    beside: bool
    list_rows: int
    list_cells: int
    preview_rows: int
    preview_cells: int
    text_cells: int


def layout(query: str, view: str, columns: int, rows: int) -> Layout:
    """The layout of one view on a screen of ``columns`` by ``rows``.

    A screen narrower than 20 columns shows the left of one of 20.
    """
    columns = max(NARROWEST, columns)
    # Help needs every row, and says nothing about the query.
    most = 0 if view == "help" else 3 if rows >= 24 else 2 if rows >= 16 else 1
    lines = wrapped(query.strip(), max(8, columns - LABEL - 1))
    shown = lines[:most]
    if 0 < most < len(lines):
        last = clipped(shown[-1], max(1, columns - LABEL - 12)).rstrip("…")
        shown = (*shown[:-1], f"{last}… (v: all)")
    keys = key_lines(KEYS[view], columns)
    if rows < 12:
        keys = keys[:1]
    # One line each for the head, the lists, the rule below them and the message.
    body = max(1, rows - 4 - len(shown) - len(keys))
    beside = columns >= SIDE_BY_SIDE
    if beside:
        list_rows = preview_rows = body
        list_cells = max(56, columns * 42 // 100)
        preview_cells = columns - list_cells - 3
    else:
        list_cells = preview_cells = columns
        list_rows = max(LEAST_ROWS, body * 45 // 100)
        preview_rows = body - list_rows - 1
        if preview_rows < LEAST_PREVIEW:
            list_rows, preview_rows = body, 0
    return Layout(
        columns=columns,
        query=shown,
        keys=keys,
        body=body,
        beside=beside,
        list_rows=list_rows,
        list_cells=list_cells,
        preview_rows=preview_rows,
        preview_cells=preview_cells,
        text_cells=min(WIDEST_TEXT, columns - 2),
    )


def key_lines(keys: tuple[tuple[str, str], ...], columns: int) -> tuple[str, ...]:
    """Keys with what they do, as many in a line as fit."""
    lines = [""]
    for key, does in keys:
        part = f"{key} {does}"
        if lines[-1] and display_width(lines[-1]) + 3 + len(part) > columns - 1:
            lines.append("")
        lines[-1] += f"   {part}" if lines[-1] else part
    return tuple(lines)
