"""Draws a session: a state becomes exactly as many lines as the terminal has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from memcli.cli.labelling.layout import LABEL, Layout
from memcli.cli.labelling.sheet import Entry
from memcli.cli.labelling.state import CANDIDATES, FOUND, MARKED, State
from memcli.cli.labelling.text_layout import clipped_left, highlighted, padded, wrapped
from memcli.cli.safe_text import clipped, safe_line
from memcli.evaluation.matching import in_order

Style = Callable[[str, str], str]
"""A text and the name of a style; gives the text with it, or as it is without colour."""

STYLES = {
    "strong": "1",
    "dim": "2",
    "heading": "1;36",
    "cursor": "7",
    "word": "1;33",
    "marked": "32",
    "suggested": "35",
    "alert": "1;31",
}
HELP = """
Mark what answers the query: x for a fragment, w for the whole note it is part of;
each is a piece of evidence. The likely candidates come first: those with * were
returned, or were the best of a stage.

  up down, j k        move               page up, page down, home, end   move far
  space, x            mark or unmark     w   mark or unmark the whole note
  enter               read in full; there o turns to the whole note and back
  /                   search all frozen notes, also those that no stage found
  tab                 candidates, notes found, marks
  u                   undo the last change of marks
  s                   save the marks as the evidence, in place of all before
  n n                 save that nothing in this memory answers the query
  >                   skip: the case stays as it is
  q, ctrl-c           leave; ctrl-c does not ask about marks that are not saved

Only s and n save. After saving the next unresolved case opens.
""".strip("\n")


def colored(text: str, name: str) -> str:
    """A ``Style`` with colour."""
    return f"\x1b[{STYLES[name]}m{text}\x1b[0m" if text else text


def plain(text: str, name: str) -> str:
    """A ``Style`` without any."""
    return text


def draw(state: State, style: Style) -> list[str]:
    """The screen, from its first row to its last; no line is wider than it."""
    place = state.layout
    lines = [
        style(clipped(_head(state), place.columns), "strong"),
        *(
            style(f"{'query' if at == 0 else '':<{LABEL}}", "dim") + style(line, "heading")
            for at, line in enumerate(place.query)
        ),
        _tabs(state, place, style),
        style("─" * place.columns, "dim"),
    ]
    body = list(_body(state, place, style))
    if len(body) > place.body:
        more = clipped("… and more than fits this terminal", place.columns)
        body[place.body - 1 :] = [style(more, "dim")]
    lines += [*body, *([""] * (place.body - len(body)))]
    kind = "alert" if state.pending or state.message.startswith("not saved") else "strong"
    lines.append(style(clipped(safe_line(state.message), place.columns), kind))
    lines += [style(clipped(line, place.columns), "dim") for line in place.keys]
    return lines[: state.rows]


def _head(state: State) -> str:
    marks = len(state.marks)
    parts = [
        f"case {state.sheet.case_id}",
        state.sheet.status,
        f"version {state.version}",
        f"{marks} marked" + (", not saved" if state.changed else ""),
        f"{state.sheet.unresolved} unresolved",
    ]
    return " · ".join(parts)


def _tabs(state: State, place: Layout, style: Style) -> str:
    names = [f"candidates {len(state.sheet.entries)}"]
    names.append(f"found {state.found.total}" if state.found else "found -")
    names.append(f"marked {len(state.marks)}")
    shown = [f"[{name}]" if at == state.tab else f" {name} " for at, name in enumerate(names)]
    room = place.columns
    line = ""
    for at, name in enumerate(shown):
        text = clipped(name, max(0, room))
        room -= len(name) + 1
        line += style(text, "cursor" if at == state.tab else "dim") + " "
        if room <= 0:
            break
    return line.rstrip()


def _body(state: State, place: Layout, style: Style) -> Iterator[str]:
    if state.view == "help":
        yield from wrapped(HELP, place.columns)
    elif state.view == "conflict":
        yield from _conflict(state, place, style)
    elif state.view in ("read", "query"):
        yield from _reading(state, place, style)
    elif place.beside:
        yield from _beside(state, place, style)
    else:
        yield from _listing(state, place, style)
        if place.preview_rows:
            yield style("─" * place.columns, "dim")
            yield from _preview(state, place, style)


def _beside(state: State, place: Layout, style: Style) -> Iterator[str]:
    rows = _listing(state, place, style)
    preview = list(_preview(state, place, style))
    for at, row in enumerate(rows):
        yield f"{row} {style('│', 'dim')} {preview[at] if at < len(preview) else ''}".rstrip()


def _listing(state: State, place: Layout, style: Style) -> list[str]:
    """Exactly ``list_rows`` rows of ``list_cells``: the page that holds the cursor."""
    if state.view == "search":
        typed = clipped_left(safe_line(state.typed), place.list_cells - 12)
        rows = [padded(f" search: {typed}_", place.list_cells)]
    else:
        entries = state.listed
        first = state.cursor // place.list_rows * place.list_rows
        rows = [
            _row(state, entry, at == state.cursor, place.list_cells, style)
            for at, entry in enumerate(entries[first : first + place.list_rows], first)
        ]
        if not entries:
            rows = [padded(_why_empty(state), place.list_cells)]
    return rows + [" " * place.list_cells] * (place.list_rows - len(rows))


def _why_empty(state: State) -> str:
    return {
        CANDIDATES: " no stage found anything: / searches the frozen notes",
        FOUND: " nothing found: / searches the frozen notes",
        MARKED: " nothing is marked",
    }[state.tab]


def _row(state: State, entry: Entry, selected: bool, cells: int, style: Style) -> str:
    marks = _marks(state, entry)
    rank = "note" if entry.rank is None else str(entry.rank)
    left = f"{'>' if selected else ' '}{marks} {rank:>4} {'*' if entry.suggested else ' '} "
    room = max(8, cells - len(left))
    path = safe_line(entry.path)
    line = f":{entry.lines.split('-')[0]}" if entry.lines else ""
    # Of a note that a search found, the line says more than the title.
    heading = safe_line(entry.about if entry.rank is None and entry.about else entry.heading)
    most = room if not heading else max(8, room * 3 // 5)
    where = clipped_left(path + line, most)
    text = padded(left + (f"{where}  {heading}" if heading else where), cells)
    if selected:
        return style(text, "cursor")
    if marks.strip("[] "):
        return style(text, "marked")
    return style(text, "suggested") if entry.suggested else text


def _preview(state: State, place: Layout, style: Style) -> Iterator[str]:
    entry = state.entry
    if entry is None or state.view == "search":
        return
    yield style(clipped(_title(entry), place.preview_cells), "strong")
    cells = min(place.text_cells, place.preview_cells)
    start = state.sheet.start_of(entry) if entry.rank is None else 0
    # No more of a long note than can be seen is looked at.
    text = state.sheet.fragment(entry.item)[start : start + place.preview_rows * cells]
    yield from _text(state, wrapped(text, cells)[: place.preview_rows - 1], style)


def _reading(state: State, place: Layout, style: Style) -> Iterator[str]:
    lines, rows = state.lines, state.read_rows
    last = min(len(lines), state.scroll + rows)
    part = f"lines {state.scroll + 1}-{last} of {len(lines)}"
    entry = state.entry
    if state.view == "query" or entry is None:
        title = f"whole query, {part}"
    else:
        what = "whole note" if state.whole else "fragment"
        title = f"{_marks(state, entry)} {what}, {part} · {_title(entry)}"
    yield style(clipped(title, place.columns), "strong")
    yield from _text(state, lines[state.scroll : last], style)


def _marks(state: State, entry: Entry) -> str:
    """``[x ]`` for a marked fragment, ``[ w]`` for its whole note, ``[xw]`` for both."""
    unit = "x" if entry.rank is not None and entry.item in state.marks else " "
    return f"[{unit}{'w' if entry.note in state.marks else ' '}]"


def _title(entry: Entry) -> str:
    lines = f":{entry.lines}" if entry.lines else ""
    parts = [f"{entry.path}{lines}", entry.about, entry.heading]
    return safe_line(" · ".join(part for part in parts if part))


def _text(state: State, lines: Sequence[str], style: Style) -> Iterator[str]:
    """Lines with the words that were searched for standing out."""
    words = state.sheet.words
    if state.tab == FOUND and state.found:
        words = (*words, *state.found.text.split())
    for line in lines:
        yield highlighted(line, words, lambda word: style(word, "word"))


def _conflict(state: State, place: Layout, style: Style) -> Iterator[str]:
    theirs = state.theirs
    if theirs is None:
        return
    text = (
        f"Somebody saved version {theirs.version} ({theirs.status}) of this case while you worked "
        f"on version {state.version}. Nothing of yours is lost, and nothing was saved."
    )
    for line in wrapped(text, place.columns - 1):
        yield style(line, "alert")
    for title, items in (
        ("only they have", theirs.evidence - state.marks),
        ("only you have", state.marks - theirs.evidence),
        ("both have", theirs.evidence & state.marks),
    ):
        yield ""
        yield style(f"{title} ({len(items)})", "strong")
        for item in in_order(items):
            yield clipped(f"  {safe_line(item.spelling)}", place.columns)
    if not theirs.evidence:
        yield ""
        yield clipped("They say that nothing matches.", place.columns)
