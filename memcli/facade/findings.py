"""One finding of ``doctor``."""

from __future__ import annotations

from dataclasses import dataclass

OK, WARN, BROKEN = "ok", "warn", "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """``state`` is ``ok``, ``warn`` (it works, but costs something) or ``broken``.

    ``repair`` is the command that mends it, or what to do where no command can.
    """

    area: str
    check: str
    state: str
    message: str
    repair: str = ""
