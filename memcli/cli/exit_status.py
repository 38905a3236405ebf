"""Every status the program ends with, and which error means which."""

from __future__ import annotations

from enum import IntEnum

from memcli.errors import Conflict, GateFailed, InvalidInput, MemcliError, NotReady


class ExitStatus(IntEnum):
    """0 is success, an empty answer too; the others say what kind of trouble it was."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    NOT_READY = 3
    GATE_FAILED = 4
    CONFLICT = 5
    INTERRUPTED = 130


_BY_KIND = (
    (InvalidInput, ExitStatus.USAGE),
    (NotReady, ExitStatus.NOT_READY),
    (GateFailed, ExitStatus.GATE_FAILED),
    (Conflict, ExitStatus.CONFLICT),
)


def status_of(error: MemcliError) -> ExitStatus:
    """The exit status of an error's kind; ``FAILURE`` for the rest."""
    return next(
        (status for kind, status in _BY_KIND if isinstance(error, kind)), ExitStatus.FAILURE
    )
