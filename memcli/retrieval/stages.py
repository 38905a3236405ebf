"""The clock of one activation: where its time went, and the one deadline over all of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from memcli.errors import Failure

Clock = Callable[[], float]


class Stages:
    """Stage times in microseconds, and a deadline checked between and inside stages.

    ``clock`` gives monotonic seconds. ``current`` is the stage that is running,
    or ran last: what a failed Run names.
    """

    def __init__(self, clock: Clock, deadline_seconds: float) -> None:
        self._clock = clock
        self._started = clock()
        self._deadline = self._started + deadline_seconds
        self._seconds = deadline_seconds
        self.current = "open"
        self.timings_us: dict[str, int] = {}

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage; raises ``Failure`` ``activation_deadline`` before or after it."""
        self.current = name
        self.check()
        started = self._clock()
        try:
            yield
        finally:
            spent = round((self._clock() - started) * 1_000_000)
            self.timings_us[name] = self.timings_us.get(name, 0) + spent
        self.check()

    def expired(self) -> bool:
        """The stop check that models and SQLite call while they work."""
        return self._clock() >= self._deadline

    def check(self) -> None:
        if self.expired():
            raise self.deadline_error()

    def deadline_error(self) -> Failure:
        return Failure(
            "activation_deadline",
            f"the activation passed its deadline of {self._seconds:g} seconds "
            f"in the stage {self.current!r}",
            "Other work may be using all cores; try again, or choose a smaller reranker.",
        )

    def total_us(self) -> int:
        """Microseconds since the activation began."""
        return round((self._clock() - self._started) * 1_000_000)
