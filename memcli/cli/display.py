"""What a command shows: results on stdout, everything else on stderr, colour only on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from memcli.cli.environment import Environment
from memcli.cli.safe_text import display_width, safe, safe_line, safe_message, safe_output
from memcli.errors import MemcliError

if TYPE_CHECKING:
    from memcli.cli.progress import ProgressDisplay

# DEL, C1 and the marks that reorder text, in UTF-8: orjson leaves them as they are.
_RAW_CONTROLS = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]"
)
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
# All that memcli itself says to a terminal in a result: these styles, and links to files.
_OWN = re.compile(rf"\x1b\[(?:0|{'|'.join(_STYLES.values())})m|\x1b\]8;;(?:file://[!-~]*)?\x1b\\")


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
        self.environment.stdout.write(json_bytes(document))
        self.environment.stdout.flush()

    def lines(self, lines: Iterable[str]) -> None:
        """Result text on stdout, never wrapped; of control sequences only our own come through.

        Whoever makes a line has made the texts in it harmless already, with the
        layout in mind. This is for the id or the path that was forgotten.
        """
        text = "".join(f"{line}\n" for line in lines)
        if text:
            self.raw(safe_output(text, _OWN if self.environment.stdout_is_terminal else None))

    def raw(self, text: str) -> None:
        """Text on stdout exactly as given."""
        self.environment.stdout.write(text.encode("utf-8", "backslashreplace"))
        self.environment.stdout.flush()

    def corpus_text(self, text: str) -> None:
        """Text out of notes, harmless also for the terminal that a pipe may end at."""
        self.raw(safe(text))

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
            self._to_stderr(safe_message(text))

    def hint(self, text: str) -> None:
        """The next useful command, dimmed, on stderr."""
        if not self.quiet:
            self._to_stderr(self._styled(safe_message(text), "dim"))

    def warning(self, text: str) -> None:
        self._to_stderr(self._styled("warning:", "warn") + " " + safe_message(text))

    def error(self, error: MemcliError) -> None:
        """An error with code, message and hint; under ``--json`` as a document on stderr.

        What else went wrong on the way comes before it, or beside it in the document.
        """
        if self.json:
            told = {"code": error.code, "message": error.message, "hint": error.hint}
            document: dict[str, Any] = {"error": told}
            if error.warnings:
                document["warnings"] = list(error.warnings)
            self.environment.stderr.write(json_bytes(document))
            return
        for warning in error.warnings:
            self.warning(warning)
        message = safe_message(error.message)
        self._to_stderr(self._styled("error:", "bad") + f" {message} [{error.code}]")
        if error.hint:
            self._to_stderr(self._styled("hint:", "dim") + f" {safe_message(error.hint)}")

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
    """One line of JSON. Dataclasses, dates and the like must have been turned into plain data.

    Bytes of arguments and file names that are no UTF-8 are shown as escapes.
    """
    import orjson

    try:
        data = orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:
        data = orjson.dumps(_encodable(document), option=orjson.OPT_APPEND_NEWLINE)
    return without_raw_controls(data)


def _encodable(value: Any) -> Any:
    """``value`` with every lone surrogate, which no UTF-8 has, as its escape."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_encodable(name): _encodable(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encodable(each) for each in value]
    return value


def without_raw_controls(data: bytes) -> bytes:
    """The same JSON with every character escaped that could act on a terminal."""
    return _RAW_CONTROLS.sub(lambda match: b"\\u%04x" % ord(match.group().decode()), data)


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
    environment.stderr.write(f"{safe_message(question)} [y/N] ".encode())
    environment.stderr.flush()
    answer = environment.stdin.readline().decode("utf-8", "replace").strip().lower()
    return answer in ("y", "yes")
