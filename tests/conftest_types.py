"""Types of fixtures that test modules name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Run = Callable[..., Any]
