"""What the facade takes from outside: variables, time, fresh ids, and a guard for native output."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timezone


def utc_now() -> datetime:
    """The present moment, with its zone."""
    return datetime.now(timezone.utc)


def random_id() -> str:
    """Twelve hexadecimal digits: enough for one machine's projects and revisions."""
    return secrets.token_hex(6)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Replaceable, so that a test needs no patching.

    ``now`` gives the moments that are stored, ``clock`` monotonic seconds for
    stage times and the deadline. ``native_guard`` surrounds native calls that
    may print; without it llama.cpp's lines are only kept from the streams by
    its own log callback.
    """

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    now: Callable[[], datetime] = utc_now
    clock: Callable[[], float] = time.monotonic
    new_id: Callable[[], str] = random_id
    native_guard: Callable[[], AbstractContextManager[None]] = nullcontext
