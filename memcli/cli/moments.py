"""Moments as a person gives and reads them: ``2h``, ``2026-03-01``, "4 min" ago, local time."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from memcli.errors import InvalidInput

UNITS = {"s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
SPAN = re.compile(rf"(\d+)\s*({'|'.join(UNITS)})", re.IGNORECASE)
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
LONGEST_AGES = ((60, 1, "s"), (3600, 60, "min"), (86400, 3600, "h"))


def since_moment(text: str, now: datetime) -> datetime:
    """The moment a span before ``now``, or the date and time given; local without a zone.

    Raises ``InvalidInput`` ``usage``.
    """
    given = text.strip()
    if span := SPAN.fullmatch(given):
        try:
            return max(EPOCH, now - timedelta(**{UNITS[span[2].lower()]: int(span[1])}))
        except OverflowError:
            return EPOCH
    try:
        moment = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", given))
        return max(EPOCH, moment.astimezone(timezone.utc))
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(
            "usage",
            f"--since {given!r} is neither a date, a time nor a span",
            "Examples: --since 2h, --since 3d, --since 2026-03-01, --since 2026-03-01T09:30",
        ) from None


def age(stamped: str, now: datetime) -> str:
    """How long ago a stored moment is: ``12 s``, ``4 min``, ``3 h``, ``2 d``."""
    moment = _parsed(stamped)
    if moment is None:
        return "?"
    seconds = max(0.0, (now - moment).total_seconds())
    for longest, unit, name in LONGEST_AGES:
        if seconds < longest:
            return f"{int(seconds / unit)} {name}"
    return f"{int(seconds / 86400)} d"


def local_time(stamped: str) -> str:
    """A stored moment in local time, to the second, with its offset; as it is if it is none."""
    moment = _parsed(stamped)
    return stamped if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M:%S %z}"


def _parsed(stamped: str) -> datetime | None:
    try:
        return datetime.fromisoformat(stamped.replace("Z", "+00:00"))
    except ValueError:
        return None
