"""The state of a labelling session, and what follows from it: rows, cursor, text, layout."""

from __future__ import annotations

from dataclasses import dataclass

from memcli.cli.labelling.events import Found, Theirs
from memcli.cli.labelling.layout import Layout, layout
from memcli.cli.labelling.sheet import Entry, Sheet
from memcli.cli.labelling.text_layout import wrapped
from memcli.evaluation.matching import EvidenceItem, in_order

Marks = frozenset[EvidenceItem]
CANDIDATES, FOUND, MARKED = range(3)


@dataclass(frozen=True, slots=True)
class State:
    """A session on one Case. ``saved`` is what the store holds at ``version``.

    ``view`` is ``list``, ``read``, ``query``, ``search``, ``conflict`` or
    ``help``. ``tab`` says which rows are listed, ``cursors`` the place in each.
    ``past`` are earlier marks, for undo. ``pending`` is a key that is waiting to
    be pressed again.
    """

    sheet: Sheet
    columns: int
    rows: int
    version: int
    saved: Marks
    marks: Marks
    view: str = "list"
    tab: int = CANDIDATES
    cursors: tuple[int, int, int] = (0, 0, 0)
    whole: bool = False
    scroll: int = 0
    typed: str = ""
    found: Found | None = None
    past: tuple[Marks, ...] = ()
    pending: str = ""
    message: str = ""
    theirs: Theirs | None = None

    @property
    def changed(self) -> bool:
        """Whether there are marks that the store does not hold."""
        return self.marks != self.saved

    @property
    def listed(self) -> tuple[Entry, ...]:
        """The rows of the present list."""
        if self.tab == FOUND:
            return self.found.entries if self.found else ()
        if self.tab == MARKED:
            return tuple(self.entry_of(item) for item in in_order(self.marks))
        return self.sheet.entries

    @property
    def cursor(self) -> int:
        return max(0, min(self.cursors[self.tab], len(self.listed) - 1))

    @property
    def entry(self) -> Entry | None:
        """The row under the cursor."""
        rows = self.listed
        return rows[self.cursor] if rows else None

    @property
    def layout(self) -> Layout:
        return layout(self.sheet.query, self.view, self.columns, self.rows)

    def entry_of(self, item: EvidenceItem) -> Entry:
        """The row of an item, wherever it was marked."""
        for entry in (*self.sheet.entries, *self.sheet.notes):
            if entry.item == item:
                return entry
        return Entry(item, None, False, item.unit_key or item.resource_id, "", "", "")

    @property
    def reading(self) -> str:
        """The text that the reading views show."""
        if self.view == "query":
            return self.sheet.query
        entry = self.entry
        if entry is None:
            return ""
        return self.sheet.note(entry.item)[0] if self.whole else self.sheet.fragment(entry.item)

    @property
    def lines(self) -> tuple[str, ...]:
        """What is read, in lines of the screen."""
        return wrapped(self.reading, self.layout.text_cells)

    @property
    def read_rows(self) -> int:
        """Lines of text that a reading view shows; one row of the body is its heading."""
        return max(1, self.layout.body - 1)


def open_session(sheet: Sheet, columns: int, rows: int) -> State:
    """The first state: what the Case holds is marked."""
    return State(sheet, columns, rows, sheet.version, sheet.held, sheet.held)
