"""The terminal of a session: raw keys in, whole screens out, and always left as it was found."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import BinaryIO

from memcli.cli.labelling.events import Key, Paste, Resized
from memcli.cli.labelling.keys import ESCAPE, decode
from memcli.errors import InvalidInput

# The other screen, no cursor, no wrapping at the edge, pasted text marked as such.
ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[2J"
LEAVE = b"\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l"
# How long a lone escape may still be the beginning of a sequence.
ESCAPE_SECONDS = 0.05
READ_BYTES = 4096


class Terminal:
    """Made by :func:`session_terminal`."""

    def __init__(self, keyboard: int, screen: BinaryIO, resized: int, pause: Callable[[], None]):
        self._keyboard = keyboard
        self._screen = screen
        self._resized = resized
        self._pause = pause
        self._undecoded = b""
        self._waiting: list[Key | Paste] = []

    def size(self) -> tuple[int, int]:
        """Columns and rows; 80 by 24 where the terminal does not know."""
        try:
            columns, rows = os.get_terminal_size(self._screen.fileno())
        except (OSError, ValueError):
            columns, rows = 0, 0
        return columns or 80, rows or 24

    def draw(self, lines: Sequence[str]) -> None:
        """Replace the whole screen."""
        text = "\x1b[H" + "\r\n".join(f"{line}\x1b[K" for line in lines) + "\x1b[J"
        self._screen.write(text.encode("utf-8", "backslashreplace"))
        self._screen.flush()

    def read(self) -> Key | Paste | Resized:
        """Wait for the next key, or for a new size.

        Raises:
            KeyboardInterrupt: for Ctrl-C, and when the terminal is gone.
        """
        while not self._waiting:
            if self._readable(None) == self._resized:
                os.read(self._resized, READ_BYTES)
                return Resized(*self.size())
            self._receive()
        key = self._waiting.pop(0)
        if key == Key("ctrl-c"):
            raise KeyboardInterrupt
        if key == Key("ctrl-z"):
            self._pause()
            return Resized(*self.size())
        if key == Key("ctrl-l"):
            return Resized(*self.size())
        return key

    def _receive(self) -> None:
        try:
            data = os.read(self._keyboard, READ_BYTES)
        except OSError:
            data = b""
        if not data:
            raise KeyboardInterrupt
        self._undecoded += data
        keys, self._undecoded = decode(self._undecoded)
        if self._undecoded == ESCAPE and self._readable(ESCAPE_SECONDS) != self._keyboard:
            keys.append(Key("escape"))
            self._undecoded = b""
        self._waiting += keys

    def _readable(self, seconds: float | None) -> int | None:
        """The descriptor that has something to read, the keyboard first."""
        ready, _, _ = select.select([self._keyboard, self._resized], [], [], seconds)
        if self._keyboard in ready:
            return self._keyboard
        return self._resized if ready else None


@contextmanager
def session_terminal(keyboard: BinaryIO, screen: BinaryIO) -> Iterator[Terminal]:
    """Take the terminal over, and give it back whatever happens.

    Raises:
        InvalidInput: ``usage``, where ``keyboard`` is no terminal that can be taken over.
    """
    try:
        import termios
        import tty
    except ImportError as error:  # Windows
        raise _no_terminal(error) from error
    try:
        descriptor = keyboard.fileno()
        before = termios.tcgetattr(descriptor)
    except (OSError, ValueError, termios.error) as error:
        raise _no_terminal(error) from error
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def on_resize(_signal: int, _frame: FrameType | None) -> None:
        with suppress(OSError):  # a full pipe says it already
            os.write(writer, b"r")

    def take() -> None:
        tty.setraw(descriptor)
        screen.write(ENTER)
        screen.flush()

    def give_back() -> None:
        with suppress(OSError, ValueError):
            screen.write(LEAVE)
            screen.flush()
        # What was typed ahead was meant for the session, not for the shell.
        with suppress(termios.error, OSError):
            termios.tcsetattr(descriptor, termios.TCSAFLUSH, before)

    def pause() -> None:
        give_back()
        os.kill(os.getpid(), signal.SIGTSTP)
        take()

    previous = signal.signal(signal.SIGWINCH, on_resize)
    try:
        take()
        yield Terminal(descriptor, screen, reader, pause)
    finally:
        give_back()
        signal.signal(signal.SIGWINCH, previous)
        os.close(reader)
        os.close(writer)


def _no_terminal(error: Exception) -> InvalidInput:
    return InvalidInput(
        "usage",
        f"this is no terminal that a labelling session can be held at: {error}",
        "Resolve with --expected-version and --evidence or --none-matched.",
    )
