"""Schemas and terminals for the tests of `init`, `config`, `doctor`, `completion` and opening."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import orjson

SCHEMAS = Path(__file__).parent.parent.parent / "memcli" / "facade" / "schemas"


def validate(document: Any) -> None:
    """Check a document against the schema that it names."""
    schema = orjson.loads((SCHEMAS / f"{document['schema']}.json").read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)


class Terminal:
    """A program on a terminal of its own, driven like a person does it."""

    def __init__(
        self,
        command: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        columns: int = 80,
    ) -> None:
        self.shown = b""
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(command[0], list(command), {**env, "COLUMNS": str(columns)})

    @classmethod
    def memcli(
        cls, arguments: Sequence[str], cwd: Path, env: Mapping[str, str], columns: int = 80
    ) -> Terminal:
        return cls([sys.executable, "-m", "memcli", *arguments], cwd, env, columns)

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def wait_for(self, text: str, seconds: float = 60) -> str:
        """Everything shown until ``text`` is."""
        end = time.monotonic() + seconds
        while text.encode() not in self.shown:
            assert time.monotonic() < end, f"{text!r} never came: {self.shown.decode()!r}"
            self._read(0.1)
        return self.shown.decode("utf-8", "replace")

    def settle(self, quiet: float = 0.5) -> str:
        """Everything shown until nothing more came for ``quiet`` seconds."""
        while self._read(quiet):
            pass
        return self.shown.decode("utf-8", "replace")

    def forget(self) -> None:
        self.shown = b""

    def status(self) -> int:
        """Read to the end and give the exit status."""
        while self._read(60):
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(status)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._terminal)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._terminal], [], [], seconds)[0]:
            return False
        try:
            part = os.read(self._terminal, 65536)
        except OSError:
            return False
        self.shown += part
        return bool(part)
