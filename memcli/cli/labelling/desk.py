"""Holds labelling sessions: draws, reads keys, saves and searches through the facade."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from memcli.cli.labelling.events import (
    Effect,
    Event,
    Found,
    Quit,
    Refused,
    Save,
    Search,
    Skip,
    Theirs,
)
from memcli.cli.labelling.screen import colored, draw, plain
from memcli.cli.labelling.session import update
from memcli.cli.labelling.sheet import entries_of_hits, sheet_of
from memcli.cli.labelling.state import State, open_session
from memcli.cli.labelling.terminal import Terminal, session_terminal
from memcli.errors import Conflict, InvalidInput, MemcliError

if TYPE_CHECKING:
    from memcli.cli.options import Invocation
    from memcli.evaluation.cases import Case
    from memcli.facade import Memcli
    from memcli.facade.case_views import CaseView

CONFLICT = "evaluation_case_conflict"


@dataclass(slots=True)
class Desk:
    """One sitting: ``saved`` are the Cases as they were saved, in that order."""

    memcli: Memcli
    terminal: Terminal
    color: bool
    saved: list[Case]
    skipped: list[str] = field(default_factory=list)

    def sit(self, first: CaseView) -> bool:
        """Label Case after Case, until the person quits; whether it ended for want of another."""
        view: CaseView | None = first
        while view is not None:
            ended = self._label(view)
            if isinstance(ended, Quit):
                return False
            view = self.memcli.next_evaluation_case(skipping=self.skipped)
        return True

    def _label(self, view: CaseView) -> Effect:
        """One session; how it ended."""
        drafts = self.memcli.list_evaluation_cases(status="draft").cases
        state = open_session(sheet_of(view, len(drafts)), *self.terminal.size())
        style = colored if self.color else plain
        while True:
            self.terminal.draw(draw(state, style))
            state, effect = update(state, self.terminal.read())
            while isinstance(effect, (Save, Search)):
                # Another process may hold the store for a while.
                doing = "saving ..." if isinstance(effect, Save) else "searching ..."
                self.terminal.draw(draw(replace(state, message=doing), style))
                event = self._done(view, state, effect)
                if event is None:
                    return effect
                state, effect = update(state, event)
            if isinstance(effect, Skip):
                self.skipped.append(view.case.case_id)
            if effect is not None:
                return effect

    def _done(self, view: CaseView, state: State, effect: Save | Search) -> Event | None:
        """Do what is asked; ``None`` when the Case was saved."""
        if isinstance(effect, Search):
            search = view.search(effect.text)
            hits = entries_of_hits(state.sheet, search.hits)
            return Found(effect.text, hits, search.total, len(search.unreadable))
        try:
            change = self.memcli.resolve_evaluation_case(
                view.case.case_id,
                expected_version=effect.expected_version,
                evidence=effect.evidence,
                none_matched=not effect.evidence,
            )
        except Conflict as error:
            return self._conflict(view, error)
        except MemcliError as error:
            return Refused(error.message)
        self.saved.append(change.case)
        return None

    def _conflict(self, view: CaseView, error: Conflict) -> Event:
        if error.code != CONFLICT:
            return Refused(error.message)
        try:
            now = self.memcli.get_evaluation_case(view.case.case_id)
        except MemcliError as gone:
            return Refused(gone.message)
        evidence = frozenset(each.item for each in now.detail.evidence)
        return Theirs(now.case.version, now.case.status, evidence)


def can_hold_session(invocation: Invocation) -> bool:
    """Whether a person sits there: both streams a terminal that can be drawn on, no --no-input."""
    environment, options = invocation.environment, invocation.options
    return (
        environment.stdin_is_terminal
        and environment.stdout_is_terminal
        and environment.environ.get("TERM") != "dumb"
        and not (options.no_input or options.json)
    )


def require_session(invocation: Invocation) -> None:
    """Refuse where :func:`can_hold_session` says no.

    Raises:
        InvalidInput: ``usage``.
    """
    if not can_hold_session(invocation):
        raise InvalidInput(
            "usage",
            "a labelling session needs a terminal to draw on, and neither --json nor --no-input",
            "Give --expected-version with --evidence or --none-matched.",
        )


def label(invocation: Invocation, memcli: Memcli, first: CaseView) -> None:
    """Hold a sitting at the terminal, then say what was saved.

    Raises:
        KeyboardInterrupt: after Ctrl-C; what was saved before stays.
        InvalidInput: ``usage``, where the terminal cannot be taken over.
    """
    environment, display = invocation.environment, invocation.display
    saved: list[Case] = []
    ran_out = False
    try:
        with session_terminal(environment.stdin, environment.stdout) as terminal:
            ran_out = Desk(memcli, terminal, display.color, saved).sit(first)
    finally:
        _say(invocation, saved, first)
    if ran_out:
        display.message("no other case is unresolved")


def _say(invocation: Invocation, saved: list[Case], first: CaseView) -> None:
    display = invocation.display
    for case in saved:
        pieces = f"{case.evidence_count} piece" + ("" if case.evidence_count == 1 else "s")
        display.lines(
            [f"saved case {case.case_id}: {case.status}, version {case.version}, {pieces}"]
        )
    if not saved:
        display.message(f"nothing was saved; case {first.case.case_id} is as it was")
    else:
        display.hint("next: memcli report")
