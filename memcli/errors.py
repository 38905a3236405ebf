"""The one error hierarchy: every failure a user can meet has a code, a message and a hint."""

from __future__ import annotations

LONGEST_SHOWN = 120


def shown(value: object) -> str:
    """``value`` as a message quotes it: its ``repr``, cut where that is long or cannot be made."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        # Nested deeper than Python goes, or a whole number of thousands of digits.
        return "a value too large to be shown"
    return clipped(text)


def clipped(text: str) -> str:
    """``text`` at a length that a message can hold."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"


class MemcliError(Exception):
    """What happened (``message``), its stable name (``code``) and what to do (``hint``).

    The five direct subclasses are the five ways a command can end badly; the
    command line maps each of them to one exit status and knows no others.
    ``warnings`` are what else went wrong on the way, and is worth saying too.
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class Failure(MemcliError):
    """The work was possible but did not succeed (exit status 1)."""


class InvalidInput(MemcliError):
    """What the caller asked for is malformed (exit status 2)."""


class NotReady(MemcliError):
    """Something that is needed is missing, unfinished or unsuitable (exit status 3)."""


class GateFailed(MemcliError):
    """A quality gate was evaluated and did not hold (exit status 4)."""


class Conflict(MemcliError):
    """Somebody else holds or has changed what is needed (exit status 5)."""
