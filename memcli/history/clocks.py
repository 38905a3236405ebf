"""How the store writes moments: UTC text of one width, so that text order is time order."""

from __future__ import annotations

from datetime import datetime, timezone

STAMP = "%Y-%m-%dT%H:%M:%S.%fZ"


def stamp(moment: datetime) -> str:
    """``2026-03-01T09:30:00.000000Z``; a moment without a zone counts as local time."""
    return moment.astimezone(timezone.utc).strftime(STAMP)


def seconds_since(stamped: str, now: datetime) -> float:
    """Age of a stored moment; 0 for text that is none, so that nothing is too old by mistake."""
    try:
        moment = datetime.strptime(stamped, STAMP).replace(tzinfo=timezone.utc)
    except ValueError:
        return 0.0
    return (now.astimezone(timezone.utc) - moment).total_seconds()
