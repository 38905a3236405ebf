"""The labelling session as a state machine: a state and an event give the next state.

Nothing here draws, reads a key or touches a store. What the outside has to do
is returned as an effect, and what came of it arrives as an event.
"""

from __future__ import annotations

from dataclasses import replace

from memcli.cli.labelling.events import (
    Effect,
    Event,
    Found,
    Paste,
    Quit,
    Refused,
    Resized,
    Save,
    Search,
    Skip,
    Theirs,
)
from memcli.cli.labelling.state import CANDIDATES, FOUND, Marks, State
from memcli.cli.labelling.text_layout import line_at
from memcli.evaluation.matching import in_order

MOVES = {"up": -1, "k": -1, "down": 1, "j": 1}
# What a key has to be pressed twice for, and what the first time says.
SURE = {
    "q": "not saved: q again leaves without saving, s saves",
    ">": "not saved: > again skips without saving, s saves",
    "n": "nothing in this memory answers the query? n again saves that",
}


def update(state: State, event: Event) -> tuple[State, Effect | None]:
    """The next state, and what is to be done outside."""
    if isinstance(event, Resized):
        return _scrolled(replace(state, columns=event.columns, rows=event.rows), 0), None
    if isinstance(event, Found):
        return _found(state, event), None
    if isinstance(event, Theirs):
        return replace(state, view="conflict", theirs=event, message="", pending=""), None
    if isinstance(event, Refused):
        return replace(state, message=f"not saved: {event.message}"), None
    if isinstance(event, Paste):
        if state.view == "search":
            return replace(state, typed=state.typed + " ".join(event.text.split())), None
        return state, None
    return _pressed(state, event.name)


def _pressed(state: State, key: str) -> tuple[State, Effect | None]:
    pending = state.pending
    state = replace(state, pending="", message="")
    if state.view == "search":
        return _typed(state, key)
    if state.view == "conflict":
        return _reconciled(state, key), None
    if state.view in ("read", "query"):
        return _read(state, key), None
    if state.view == "help":
        return replace(state, view="list"), None
    if key in SURE:
        return _sure(state, key, again=key == pending)
    if key == "s":
        return _save(state)
    return _listed(state, key), None


# Saving and leaving


def _sure(state: State, key: str, *, again: bool) -> tuple[State, Effect | None]:
    """Ask once more before work is lost, or a Case is said to have no evidence."""
    if not again and (key == "n" or state.changed):
        return replace(state, pending=key, message=SURE[key]), None
    if key == "n":
        return state, Save(state.version, ())
    return state, Quit() if key == "q" else Skip()


def _save(state: State) -> tuple[State, Effect | None]:
    if not state.marks:
        return replace(
            state, message="nothing is marked: space marks, n says that nothing matches"
        ), None
    return state, Save(state.version, in_order(state.marks))


def _reconciled(state: State, key: str) -> State:
    """Reload after a conflict; which marks go on is the person's choice."""
    theirs = state.theirs
    if key == "escape":
        return replace(state, view="list", message="still at the older version: s meets it again")
    if theirs is None or key not in ("m", "t", "b"):
        return state
    marks = {"m": state.marks, "t": theirs.evidence, "b": state.marks | theirs.evidence}[key]
    reloaded = replace(
        _marked(state, marks),
        view="list",
        version=theirs.version,
        saved=theirs.evidence,
        theirs=None,
    )
    what = {"m": "your marks kept", "t": "their marks taken", "b": "both kept"}[key]
    return replace(reloaded, message=f"at version {theirs.version} now, {what}; s saves")


# Lists and marks


def _listed(state: State, key: str) -> State:
    if key in MOVES:
        return _moved(state, MOVES[key])
    if key in ("pageup", "pagedown"):
        rows = state.layout.list_rows
        return _moved(state, rows if key == "pagedown" else -rows)
    if key in ("home", "g"):
        return _moved(state, -len(state.listed))
    if key in ("end", "G"):
        return _moved(state, len(state.listed))
    if key in ("tab", "backtab"):
        return replace(state, tab=(state.tab + (1 if key == "tab" else -1)) % 3)
    if key in ("enter", "right"):
        return _opened(state)
    if key == "/":
        return replace(state, view="search", typed="")
    if key == "v":
        return replace(state, view="query", scroll=0)
    if key == "?":
        return replace(state, view="help")
    if key == "escape":
        return replace(state, tab=CANDIDATES)
    return _mark_key(state, key)


def _mark_key(state: State, key: str) -> State:
    """The keys that change marks, in lists and while reading."""
    if key == "u":
        if not state.past:
            return replace(state, message="nothing to undo")
        *past, marks = state.past
        return replace(state, marks=marks, past=tuple(past), message="undone")
    entry = state.entry
    if entry is None or key not in (" ", "x", "w"):
        return state
    item = entry.note if key == "w" else entry.item
    return _marked(state, state.marks ^ {item})


def _marked(state: State, marks: Marks) -> State:
    if marks == state.marks:
        return state
    return replace(state, marks=marks, past=(*state.past, state.marks))


def _moved(state: State, by: int) -> State:
    place = max(0, min(state.cursor + by, len(state.listed) - 1))
    cursors = list(state.cursors)
    cursors[state.tab] = place
    return replace(state, cursors=(cursors[0], cursors[1], cursors[2]))


# Reading


def _opened(state: State) -> State:
    entry = state.entry
    if entry is None:
        return state
    opened = replace(state, view="read", whole=entry.rank is None, scroll=0)
    return _at_start(opened) if opened.whole else opened


def _read(state: State, key: str) -> State:
    if key in ("enter", "escape", "left", "q"):
        return replace(state, view="list")
    page = state.read_rows
    for keys, by in (
        (("up", "k"), -1),
        (("down", "j"), 1),
        (("pageup", "b"), 1 - page),
        (("pagedown", "f"), page - 1),
        (("home", "g"), -len(state.lines)),
        (("end", "G"), len(state.lines)),
    ):
        if key in keys:
            return _scrolled(state, by)
    if state.view == "query":
        return state
    if key in ("tab", "backtab"):
        return _opened(_moved(state, 1 if key == "tab" else -1))
    if key == "o":
        return _turned(state)
    before = state.entry
    marked = _mark_key(state, key)
    # In the list of marks the row that is read goes when its mark does.
    return marked if marked.entry == before else replace(marked, view="list")


def _turned(state: State) -> State:
    """From a fragment to the whole note, at the fragment's own place, and back."""
    entry = state.entry
    if entry is None or entry.rank is None:
        return replace(state, message="this is the whole note")
    if state.whole:
        return replace(state, whole=False, scroll=0)
    return _at_start(replace(state, whole=True, scroll=0))


def _at_start(state: State) -> State:
    """The whole note, scrolled to where the row begins in it."""
    if state.entry is None:
        return state
    start = state.sheet.start_of(state.entry)
    return _scrolled(state, line_at(state.reading, state.layout.text_cells, start))


def _scrolled(state: State, by: int) -> State:
    if state.view not in ("read", "query"):
        return state
    last = max(0, len(state.lines) - state.read_rows)
    return replace(state, scroll=max(0, min(state.scroll + by, last)))


# Searching


def _typed(state: State, key: str) -> tuple[State, Effect | None]:
    if key == "escape":
        return replace(state, view="list"), None
    if key == "enter":
        return _searched(state)
    if key == "backspace":
        return replace(state, typed=state.typed[:-1]), None
    if key == "ctrl-u":
        return replace(state, typed=""), None
    if key == "ctrl-w":
        return replace(state, typed=" ".join(state.typed.split()[:-1])), None
    if len(key) == 1:
        return replace(state, typed=state.typed + key), None
    return state, None


def _searched(state: State) -> tuple[State, Effect | None]:
    if state.typed.strip():
        return replace(state, view="list"), Search(state.typed)
    notes = state.sheet.notes
    return _found(replace(state, view="list"), Found("", notes, len(notes), 0)), None


def _found(state: State, found: Found) -> State:
    notes = "1 note" if found.total == 1 else f"{found.total} notes"
    what = f"{notes}: {found.text!r}" if found.text else f"all {notes}"
    if found.total > sum(each.rank is None for each in found.entries):
        what += ", the best are listed"
    if found.unreadable:
        what += f"; {found.unreadable} could not be read"
    message = what if found.entries else f"no frozen note holds {found.text!r}"
    cursors = (state.cursors[0], 0, state.cursors[2])
    return replace(state, view="list", found=found, tab=FOUND, cursors=cursors, message=message)
