"""The outside world of one command: streams, terminals, variables, clocks; all replaceable."""

from __future__ import annotations

import io
import os
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, BinaryIO, cast


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


def _new_id() -> str:
    return secrets.token_hex(6)


@dataclass(frozen=True, slots=True)
class Environment:
    """``stdout`` and ``stderr`` take bytes, always UTF-8, whatever the locale says.

    ``native_guard`` surrounds native calls that may print by themselves. It is
    only set where these streams are not file descriptors 1 and 2, so that
    nothing of ours can be caught with llama.cpp's output.
    """

    stdin: BinaryIO
    stdout: BinaryIO
    stderr: BinaryIO
    stdin_is_terminal: bool
    stdout_is_terminal: bool
    stderr_is_terminal: bool
    environ: Mapping[str, str]
    working_directory: Path
    now: Callable[[], datetime] = _utc_now
    clock: Callable[[], float] = time.monotonic
    new_id: Callable[[], str] = _new_id
    native_guard: Callable[[], AbstractContextManager[None]] = field(default=nullcontext)

    @property
    def columns(self) -> int:
        """Width of the terminal, ``COLUMNS`` first, 80 where nobody knows."""
        if (stated := self.environ.get("COLUMNS", "")).isdigit() and int(stated) > 0:
            return int(stated)
        for stream in (self.stdout, self.stderr):
            try:
                return os.get_terminal_size(stream.fileno()).columns or 80
            except (OSError, ValueError, AttributeError):
                continue
        return 80


def process_environment() -> Environment:
    """The real one. Standard output and error are duplicated to descriptors of our own.

    Descriptors 1 and 2 can then be pointed elsewhere while llama.cpp works,
    and a progress bar drawn meanwhile still reaches the terminal.
    """
    terminals = [_is_terminal(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)]
    return Environment(
        stdin=sys.stdin.buffer if sys.stdin else _nothing(),
        stdout=_duplicate(1),
        stderr=_duplicate(2),
        stdin_is_terminal=terminals[0],
        stdout_is_terminal=terminals[1],
        stderr_is_terminal=terminals[2],
        environ=os.environ,
        working_directory=_working_directory(),
        native_guard=_captured_descriptors,
    )


def _captured_descriptors() -> AbstractContextManager[None]:
    from memcli.facade import captured_native_output

    return captured_native_output()


class _WholeWrites(io.RawIOBase):
    """A descriptor that is written whole and at once: nothing is left to flush at exit."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        rest = memoryview(data)
        while len(rest):
            rest = rest[os.write(self._descriptor, rest) :]
        return len(data)


def _duplicate(descriptor: int) -> BinaryIO:
    try:
        copy = os.dup(descriptor)
    except OSError:  # The caller closed it: what is written goes nowhere, as asked.
        copy = os.open(os.devnull, os.O_WRONLY)
    return cast(BinaryIO, _WholeWrites(copy))


def _nothing() -> BinaryIO:
    return open(os.devnull, "rb")


def _is_terminal(stream: object) -> bool:
    """``stream`` is ``None`` where the caller closed it before the program began."""
    isatty = getattr(stream, "isatty", None)
    try:
        return bool(isatty and isatty())
    except ValueError:  # closed since
        return False


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path("/")
