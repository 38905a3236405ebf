"""The one error hierarchy: every failure a user can meet has a code, a message and a hint."""

from __future__ import annotations


class MemcliError(Exception):
    """What happened (``message``), its stable name (``code``) and what to do (``hint``).

    The five direct subclasses are the five ways a command can end badly; the
    command line maps each of them to one exit status and knows no others.
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

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
