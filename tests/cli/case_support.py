"""A bench with Cases, and a labelling session held at a real pseudo-terminal."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import orjson
from cli.run_support import Bench, Printed
from evaluation.factory import TIMINGS, corpus, trace
from history.factory import Corpus

from memcli.cli.environment import Environment
from memcli.cli.ladder import run as run_command
from memcli.cli.safe_text import display_width
from memcli.evaluation.cases import CaseDetail, get_case
from memcli.evaluation.creation import create_case

ROOT = Path(__file__).parents[2]
SECONDS = 30.0
STYLING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
MOORING = "how do we moor at night?"


def validate(document: Any, name: str) -> None:
    """Check a document against the schema that the package publishes under its name."""
    (path,) = (ROOT / "memcli").glob(f"*/schemas/{name}.json")
    schema = orjson.loads(path.read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)


class CaseBench(Bench):
    """Four notes, every one a candidate; Runs have the stage times that a report sums up."""

    def asked(self, query: str = MOORING, searched: Corpus | None = None, **changes: Any) -> str:
        """A succeeded Run; its id."""
        notes = searched or corpus()
        given = {"candidates": trace(notes), "timings_us": TIMINGS, **changes}
        return self.record(query, corpus=notes, **given)

    def draft(self, query: str = MOORING, searched: Corpus | None = None, **changes: Any) -> str:
        """A Case that nobody has resolved; its id."""
        run_id = self.asked(query, searched, **changes)
        return create_case(self.store, run_id, project_id="harbor").case_id

    def ready(self, *evidence: str, query: str = MOORING, **changes: Any) -> str:
        """A Case with evidence; its id."""
        case_id = self.draft(query, **changes)
        given = [word for each in evidence or ("rank:1",) for word in ("--evidence", each)]
        done = self.run("case", "resolve", case_id, "--expected-version", "1", *given)
        assert done.status == 0, done.err
        return case_id

    def held(self, case_id: str) -> CaseDetail:
        """A Case as the store holds it."""
        return get_case(self.store, case_id, project_id="harbor")

    def spellings(self, case_id: str) -> list[str]:
        return [each.item.spelling for each in self.held(case_id).evidence]

    def piped(self, *arguments: str, given: bytes) -> Printed:
        """Run a command with ``given`` on its standard input, a pipe like the others."""
        out, err = io.BytesIO(), io.BytesIO()
        environment = Environment(
            stdin=io.BytesIO(given),
            stdout=out,
            stderr=err,
            stdin_is_terminal=False,
            stdout_is_terminal=False,
            stderr_is_terminal=False,
            environ={"MEMCLI_HOME": str(self.store.home), "HOME": str(self.base)},
            working_directory=self.root,
            now=self.now,
        )
        status = run_command(list(arguments), environment)
        return Printed(int(status), out.getvalue().decode(), err.getvalue().decode())

    @contextmanager
    def sitting(
        self,
        *arguments: str,
        columns: int = 80,
        rows: int = 24,
        script: str = "",
        env: Mapping[str, str] | None = None,
    ) -> Iterator[Sitting]:
        """The program at a pseudo-terminal, or a shell script that runs ``MEMCLI``.

        It is killed at the end where it still runs.
        """
        environ = {
            "MEMCLI_HOME": str(self.store.home),
            "MEMCLI_CONFIG": str(self.base / "config"),
            "HOME": str(self.base),
            "PATH": "/usr/bin:/bin",
            "TERM": "xterm-256color",
            "PYTHONPATH": str(ROOT),
            **(env or {}),
        }
        program = [sys.executable, "-m", "memcli"]
        command = [*program, *arguments]
        if script:
            command = ["/bin/bash", "-c", script.replace("MEMCLI", " ".join(program))]
        sitting = Sitting(command, self.root, environ, columns, rows)
        try:
            yield sitting
        finally:
            sitting.end()


class Sitting:
    """A process at a terminal of its own, and what its screen shows."""

    def __init__(
        self, command: list[str], root: Path, env: dict[str, str], columns: int, rows: int
    ) -> None:
        self.size = (columns, rows)
        self.shown = b""
        self.status: int | None = None
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            self._resize(0, columns, rows)
            os.chdir(root)
            os.execve(command[0], command, env)

    @staticmethod
    def _resize(descriptor: int, columns: int, rows: int) -> None:
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns: int, rows: int) -> None:
        self.size = (columns, rows)
        self._resize(self.terminal, columns, rows)

    def press(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    @property
    def screen(self) -> list[str]:
        """The last whole screen, without its styling."""
        frames = [part for part in self.shown.split(b"\x1b[H")[1:] if b"\x1b[J" in part]
        if not frames:
            return []
        text = frames[-1].split(b"\x1b[J")[0].decode("utf-8", "replace")
        return [STYLING.sub("", line) for line in text.split("\r\n")]

    @property
    def text(self) -> str:
        return "\n".join(self.screen)

    @property
    def printed(self) -> str:
        """What was printed on the ordinary screen after the session."""
        return STYLING.sub("", self.shown.rsplit(b"\x1b[?1049l", 1)[-1].decode())

    def until(self, what: str | Callable[[Sitting], bool]) -> list[str]:
        """Read until the screen shows ``what``; that screen."""
        given = what
        reached = (lambda one: given in one.text) if isinstance(given, str) else given
        deadline = time.monotonic() + SECONDS
        while not reached(self):
            assert time.monotonic() < deadline, f"{what!r} never came; the screen:\n{self.text}"
            assert self._read(), f"ended with {self.status} before {what!r}:\n{self.shown.decode()}"
        self._fits()
        return self.screen

    def _fits(self) -> None:
        columns, rows = self.size
        assert len(self.screen) == rows
        assert max(map(display_width, self.screen)) <= columns

    def finish(self) -> int:
        """Read to the end; the exit status."""
        while self._read():
            pass
        if self.status is None:
            _, status = os.waitpid(self.process, 0)
            self.status = os.waitstatus_to_exitcode(status)
        return self.status

    def _read(self) -> bool:
        ready, _, _ = select.select([self.terminal], [], [], SECONDS)
        assert ready, f"nothing came any more; the screen:\n{self.text}"
        try:
            part = os.read(self.terminal, 65536)
        except OSError:
            return False
        self.shown += part
        return bool(part)

    def settings(self) -> list[Any]:
        """The terminal's own settings, to compare before and after."""
        return termios.tcgetattr(self.terminal)

    def end(self) -> None:
        if self.status is None:
            os.kill(self.process, 9)
            os.waitpid(self.process, 0)
        os.close(self.terminal)
