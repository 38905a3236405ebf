"""What every stage of a build is given: the store, the model, the clocks and the callbacks."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from memcli.index.build_report import BuildProgress
from memcli.index.embedding import Embedder
from memcli.index.storage import IndexStorage
from memcli.index.token_store import TokenVectorStore
from memcli.memory.resource import EffectiveMemory


@dataclass(frozen=True, slots=True)
class BuildContext:
    """``clock`` gives monotonic seconds; ``check_cancelled`` raises to stop the build.

    ``on_ready`` is told the memory whose revision is ready, when the head has moved.
    """

    storage: IndexStorage
    connection: sqlite3.Connection
    tokens: TokenVectorStore
    embedder: Embedder
    now: Callable[[], datetime]
    clock: Callable[[], float]
    progress: Callable[[BuildProgress], None]
    check_cancelled: Callable[[], None]
    on_ready: Callable[[EffectiveMemory], None]
    timings: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[Callable[[int, int], None]]:
        """Time a stage; yields what tells its progress and stops a cancelled build."""

        def told(done: int, total: int) -> None:
            self.check_cancelled()
            self.progress(BuildProgress(name, done, total))

        started = self.clock()
        try:
            yield told
        finally:
            self.timings[name] = self.timings.get(name, 0.0) + self.clock() - started
