"""Progress with rate and time left, on stderr; chosen once per command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from memcli.cli.safe_text import safe_line

if TYPE_CHECKING:
    from memcli.cli.display import Display

# (stage, done, total): what a build reports.
Report = Callable[[str, int, int], None]
ProgressDisplay = AbstractContextManager[Report]


def silent() -> ProgressDisplay:
    """No display: not a terminal, or quiet."""
    return nullcontext(lambda stage, done, total: None)


@contextmanager
def bar(display: Display) -> Iterator[Report]:
    """Rich's bar over the command's own stderr, one task a stage."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.1f}/s" if task.speed else "")

    console = Console(
        file=cast(IO[str], _Text(display.environment.stderr)),
        force_terminal=True,
        markup=False,
        highlight=False,
        emoji=False,
        width=display.environment.columns,
        # A terminal that does not know its height says 0, and would be shown nothing.
        height=24,
        no_color=not display.error_color,
    )
    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    tasks: dict[str, TaskID] = {}

    def report(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = progress.add_task(safe_line(stage), total=total or None)
        progress.update(tasks[stage], completed=done, total=total or None)

    with progress:
        yield report


class _Text:
    """The little of a text stream that Rich asks for, over a stream of bytes."""

    encoding = "utf-8"

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(text.encode("utf-8", "backslashreplace"))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()
