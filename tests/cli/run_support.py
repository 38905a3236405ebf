"""A project with Runs made by hand, and commands run in this process on any kind of terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import orjson
from history.factory import Corpus, make_activation, numbered_corpus

from memcli.cli.environment import Environment
from memcli.cli.ladder import run as run_command
from memcli.cli.safe_text import display_width
from memcli.history.processes import this_process
from memcli.history.projects import CentralRegistry
from memcli.history.recording import RunRecorder
from memcli.history.store import HistoryStore
from memcli.retrieval.activation import ActivationFault, ActivationLimits, Candidate

BEGINNING = datetime(2026, 3, 1, 9, 30, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class Printed:
    """What a command left on both streams, and its status."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return orjson.loads(self.out)

    @property
    def error(self) -> Any:
        return orjson.loads(self.err)["error"]

    @property
    def widest(self) -> int:
        """Cells of the widest line on stdout."""
        return max(map(display_width, self.out.splitlines()), default=0)


class Bench:
    """One project called ``harbor`` with its central store, and a clock that tests move."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = self.project("harbor")
        self.moment = BEGINNING
        self.store = HistoryStore(base / "central", self.now, lock_wait_seconds=5.0)
        self.registry = CentralRegistry(self.store)
        self.registry.remember("harbor", str(self.root))

    def project(self, name: str, *, configured: bool = True) -> Path:
        root = self.base / name
        root.mkdir()
        (root / "memcli.toml").write_text(f'id = "{name}"\n' if configured else "")
        return root

    def now(self) -> datetime:
        self.moment += timedelta(milliseconds=1)
        return self.moment

    def later(self, **how_long: float) -> None:
        self.moment += timedelta(**how_long)

    def record(
        self,
        query: str = "how do we moor at night?",
        *,
        project_id: str = "harbor",
        corpus: Corpus | None = None,
        candidates: tuple[Candidate, ...] | None = None,
        **changes: Any,
    ) -> str:
        """A succeeded Run; its id."""
        searched = corpus or numbered_corpus(5)
        activation = make_activation(
            searched, project_id=project_id, query=query, candidates=candidates, **changes
        )
        with RunRecorder(self.store) as recorder:
            run_id = recorder.begin(project_id, query, None, ActivationLimits())
            recorder.succeed(run_id, activation, searched)
        return run_id

    def fail(self, query: str = "how do we sink?", code: str = "index_not_ready") -> str:
        """A failed Run; its id."""
        with RunRecorder(self.store) as recorder:
            run_id = recorder.begin("harbor", query, None, ActivationLimits())
            recorder.fail(run_id, ActivationFault("open", code, "There is no index yet."))
        return run_id

    def begin(self, query: str = "still asking", *, gone: bool = False) -> str:
        """A Run that is running, of this process or of one that is gone; its id."""
        mark = replace(this_process(), started="0") if gone else this_process()
        with RunRecorder(self.store, process=mark) as recorder:
            return recorder.begin("harbor", query, None, ActivationLimits())

    def run(
        self,
        *arguments: str,
        columns: int | None = None,
        answer: str | None = None,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> Printed:
        """Run a command: piped, or on a terminal of ``columns``; ``answer`` is typed at it."""
        out, err = io.BytesIO(), io.BytesIO()
        environ = {
            "MEMCLI_HOME": str(self.store.home),
            "MEMCLI_CONFIG": str(self.base / "config"),
            "HOME": str(self.base),
            "NO_COLOR": "1",
            "COLUMNS": str(columns or 80),
        }
        environment = Environment(
            stdin=io.BytesIO((answer or "").encode()),
            stdout=out,
            stderr=err,
            stdin_is_terminal=answer is not None,
            stdout_is_terminal=columns is not None,
            stderr_is_terminal=False,
            environ={**environ, **(env or {})},
            working_directory=cwd or self.root,
            now=self.now,
        )
        status = run_command(list(arguments), environment)
        return Printed(int(status), out.getvalue().decode(), err.getvalue().decode())


def cells(printed: Printed) -> list[list[str]]:
    """The rows of tab-separated output, the header first."""
    return [line.split("\t") for line in printed.out.splitlines()]


def column(printed: Printed, name: str) -> list[str]:
    """The values of one column of tab-separated output."""
    header, *rows = cells(printed)
    at = header.index(name)
    return [row[at] for row in rows]


def ids(printed: Printed) -> Sequence[str]:
    """Run ids of a ``runs list --json`` document."""
    return [run["run_id"] for run in printed.document["runs"]]
