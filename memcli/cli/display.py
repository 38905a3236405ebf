"""What a command shows: results on stdout, everything else on stderr, colour only on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from memcli.cli.environment import Environment
from memcli.cli.safe_text import display_width, safe, safe_line
from memcli.errors import MemcliError

if TYPE_CHECKING:
    from memcli.cli.progress import ProgressDisplay

_RAW_CONTROLS = re.compile("[\x7f-\x9f]")
_STYLES = {
    "strong": "1",
    "dim": "2",
    "heading": "1;36",
    "good": "32",
    "warn": "33",
    "bad": "31",
    "path": "36",
    "number": "35",
}


class Display:
    """Writes bytes, once per result. ``quiet`` drops messages, never results or errors."""

    def __init__(
        self, environment: Environment, *, json: bool, quiet: bool, verbose: bool, color: bool
    ) -> None:
        self.environment = environment
        self.json = json
        self.quiet = quiet
        self.verbose = verbose
        environ = environment.environ
        allowed = color and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
        self.color = allowed and environment.stdout_is_terminal and not json
        self.error_color = allowed and environment.stderr_is_terminal

    # Results

    def document(self, document: Any) -> None:
        """One JSON document on stdout, written once, never through Rich."""
        data = json_bytes(document)
        if self.environment.stdout_is_terminal:
            data = _without_raw_controls(data)
        self.environment.stdout.write(data)
        self.environment.stdout.flush()

    def lines(self, lines: Iterable[str]) -> None:
        """Result text on stdout; the lines are written as they are, whatever the width."""
        text = "".join(f"{line}\n" for line in lines)
        if text:
            self.raw(text)

    def raw(self, text: str) -> None:
        """Text on stdout exactly as given."""
        self.environment.stdout.write(text.encode("utf-8", "backslashreplace"))
        self.environment.stdout.flush()

    def corpus_text(self, text: str) -> None:
        """Text out of notes, as it is for a program, harmless on a terminal."""
        self.raw(safe(text) if self.environment.stdout_is_terminal else text)

    def style(self, text: str, name: str) -> str:
        """``text`` in a style, where stdout is a terminal that shows colour."""
        return f"\x1b[{_STYLES[name]}m{text}\x1b[0m" if self.color and text else text

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Aligned columns on a terminal; tab-separated values with a header elsewhere."""
        safe_rows = [[safe_line(cell) for cell in row] for row in rows]
        if not self.environment.stdout_is_terminal:
            self.lines("\t".join(cells) for cells in [list(columns), *safe_rows])
            return
        widths = [
            max(display_width(row[at]) for row in [list(columns), *safe_rows])
            for at in range(len(columns))
        ]
        shown = [self.style(_aligned(columns, widths), "strong")]
        shown += [_aligned(row, widths) for row in safe_rows]
        self.lines(shown)

    # Messages

    def message(self, text: str) -> None:
        """A remark on stderr; nothing under ``--quiet``."""
        if not self.quiet:
            self._to_stderr(safe(text))

    def hint(self, text: str) -> None:
        """The next useful command, dimmed, on stderr."""
        if not self.quiet:
            self._to_stderr(self._styled(safe(text), "dim"))

    def warning(self, text: str) -> None:
        self._to_stderr(self._styled("warning:", "warn") + " " + safe(text))

    def error(self, error: MemcliError) -> None:
        """An error with code, message and hint; under ``--json`` as a document on stderr."""
        if self.json:
            self.environment.stderr.write(
                json_bytes(
                    {
                        "error": {
                            "code": error.code,
                            "message": error.message,
                            "hint": error.hint,
                        }
                    }
                )
            )
            return
        self._to_stderr(self._styled("error:", "bad") + f" {safe(error.message)} [{error.code}]")
        if error.hint:
            self._to_stderr(self._styled("hint:", "dim") + f" {safe(error.hint)}")

    def progress(self) -> ProgressDisplay:
        """A progress bar on stderr, or nothing at all where stderr is no terminal."""
        from memcli.cli.progress import bar, silent

        terminal = self.environment.stderr_is_terminal and not self.quiet
        return (
            bar(self) if terminal and self.environment.environ.get("TERM") != "dumb" else silent()
        )

    def _styled(self, text: str, name: str) -> str:
        return f"\x1b[{_STYLES[name]}m{text}\x1b[0m" if self.error_color else text

    def _to_stderr(self, text: str) -> None:
        self.environment.stderr.write((text + "\n").encode("utf-8", "backslashreplace"))
        self.environment.stderr.flush()


def json_bytes(document: Any) -> bytes:
    """One line of JSON. Dataclasses, dates and the like must have been turned into plain data."""
    import orjson

    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)


def _without_raw_controls(data: bytes) -> bytes:
    """The same JSON with DEL and C1 controls escaped, which orjson writes as they are."""
    text = _RAW_CONTROLS.sub(lambda match: f"\\u{ord(match.group()):04x}", data.decode())
    return text.encode()


def json_lines(documents: Iterable[Any]) -> bytes:
    """NDJSON: one document a line."""
    return b"".join(json_bytes(document) for document in documents)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        cell + " " * (width - display_width(cell))
        for cell, width in zip(cells, widths, strict=True)
    ]
    return "  ".join(padded).rstrip()


def confirm(display: Display, question: str, *, no_input: bool) -> bool | None:
    """Ask on stderr, read a line from stdin; ``None`` where nobody can be asked."""
    environment = display.environment
    if no_input or not environment.stdin_is_terminal:
        return None
    environment.stderr.write(f"{safe(question)} [y/N] ".encode())
    environment.stderr.flush()
    answer = environment.stdin.readline().decode("utf-8", "replace").strip().lower()
    return answer in ("y", "yes")
