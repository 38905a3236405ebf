"""Sheets made by hand, and sessions driven by keys, for the tests of labelling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memcli.cli.labelling.events import Effect, Event, Key, Resized
from memcli.cli.labelling.screen import draw, plain
from memcli.cli.labelling.session import update
from memcli.cli.labelling.sheet import Entry, Sheet
from memcli.cli.labelling.state import State, open_session
from memcli.cli.safe_text import display_width
from memcli.evaluation.matching import EvidenceItem

NAMED = {
    "<up>": "up", "<down>": "down", "<enter>": "enter", "<esc>": "escape", "<tab>": "tab",
    "<backtab>": "backtab", "<pgdn>": "pagedown", "<pgup>": "pageup", "<home>": "home",
    "<end>": "end", "<back>": "backspace", "<c-u>": "ctrl-u", "<c-w>": "ctrl-w",
    "<left>": "left", "<right>": "right",
}  # fmt: skip


def unit(number: int) -> EvidenceItem:
    """The fragment of note ``number``."""
    return EvidenceItem(f"n{number}", f"n{number}#root~0.0")


def note(number: int) -> EvidenceItem:
    return EvidenceItem(f"n{number}")


def text_of(number: int) -> str:
    return f"# Note {number}\n\n" + "\n".join(f"line {at} of {number}" for at in range(1, 41))


def sheet(candidates: int = 10, notes: int = 12, **changes: Any) -> Sheet:
    """Notes of 42 lines; each of the first has one fragment, which begins at its third line."""

    def number(item: EvidenceItem) -> int:
        return int(item.resource_id[1:])

    def whole(item: EvidenceItem) -> tuple[str, int]:
        text = text_of(number(item))
        return text, text.index("line 1") if item.unit_key else 0

    def fragment(item: EvidenceItem) -> str:
        text, start = whole(item)
        return text[start:]

    values: dict[str, Any] = {
        "case_id": "c1",
        "query": "how do we moor?",
        "status": "draft",
        "version": 1,
        "held": frozenset(),
        "entries": tuple(
            Entry(unit(n), n, n <= 2, f"docs/n{n}.md", f"Note {n}", "3-42", f"bm25 {n}")
            for n in range(1, candidates + 1)
        ),
        "notes": tuple(
            Entry(note(n), None, False, f"docs/n{n}.md", f"Note {n}", "", "")
            for n in range(1, notes + 1)
        ),
        "words": ("moor", "line"),
        "unresolved": 3,
        "fragment": fragment,
        "note": whole,
    }
    return Sheet(**{**values, **changes})


class Sat:
    """A session that is driven: its state, and every effect that it asked for."""

    def __init__(self, given: Sheet | None = None, columns: int = 80, rows: int = 24) -> None:
        self.state: State = open_session(given or sheet(), columns, rows)
        self.effects: list[Effect] = []

    def press(self, keys: str) -> Sat:
        """Keys one after the other; ``<enter>`` and the like are one key each."""
        while keys:
            name = next((each for each in NAMED if keys.startswith(each)), keys[0])
            self.tell(Key(NAMED.get(name, name)))
            keys = keys[len(name) :]
        return self

    def tell(self, event: Event) -> Sat:
        self.state, effect = update(self.state, event)
        if effect is not None:
            self.effects.append(effect)
        self.check()
        return self

    def check(self) -> None:
        """What holds in every state: the screen has its size, and the cursor a row."""
        state = self.state
        lines = draw(state, plain)
        assert len(lines) == state.rows
        assert max(map(display_width, lines)) <= max(20, state.columns)
        assert not state.listed or state.entry in state.listed
        assert state.version >= 1

    @property
    def marks(self) -> set[EvidenceItem]:
        return set(self.state.marks)

    @property
    def screen(self) -> str:
        return "\n".join(draw(self.state, plain))

    def resized(self, columns: int, rows: int) -> Sat:
        return self.tell(Resized(columns, rows))

    def with_entries(self, entries: Sequence[Entry]) -> Sat:
        self.state = replace(self.state, sheet=replace(self.state.sheet, entries=tuple(entries)))
        return self
