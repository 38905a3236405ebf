"""Open the file of a returned fragment in the user's editor, at its line."""

from __future__ import annotations

import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Protocol

from memcli.errors import Failure

if TYPE_CHECKING:
    from memcli.cli.options import Invocation
    from memcli.facade import Memcli
    from memcli.facade.run_views import RunView
    from memcli.index.unit import Locator

# How an editor is told the line, by the name of its program; all others get `+line file`.
_GOTO = frozenset(
    {"code", "code-insiders", "codium", "vscodium", "cursor", "windsurf", "positron"}
)  # -g file:line
_COLON = frozenset({"subl", "sublime_text", "zed", "zeditor", "hx", "helix"})  # file:line


class Fragment(Protocol):
    """A returned fragment, of an answer just given or of a stored Run."""

    @property
    def resource_id(self) -> str: ...
    @property
    def scope(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def locator(self) -> Locator: ...
    @property
    def final_rank(self) -> int | None: ...


def editor_of(environ: Mapping[str, str]) -> list[str]:
    """The words of ``$VISUAL``, else of ``$EDITOR``.

    Raises ``Failure`` ``no_editor``; called before the work that leads to opening.
    """
    for name in ("VISUAL", "EDITOR"):
        given = environ.get(name, "").strip()
        if not given:
            continue
        try:
            words = shlex.split(given)
        except ValueError as error:
            raise Failure(
                "no_editor", f"{name} cannot be read ({error}): {given!r}", "Correct its quotes."
            ) from error
        if words:
            return words
    raise Failure(
        "no_editor",
        "neither VISUAL nor EDITOR names an editor to open the file with",
        "For example: export EDITOR=vim",
    )


def editor_command(editor: Sequence[str], file: Path, line: int) -> list[str]:
    """The arguments that open ``file`` at ``line``. The absolute path is one word: no shell."""
    name = PurePath(editor[0]).name.lower().removesuffix(".exe").removesuffix(".cmd")
    if name in _GOTO:
        return [*editor, "-g", f"{file}:{line}"]
    if name in _COLON:
        return [*editor, f"{file}:{line}"]
    return [*editor, f"+{line}", str(file)]


def open_fragment(
    invocation: Invocation,
    memcli: Memcli,
    revision_id: str | None,
    returned: Sequence[Fragment],
    number: int,
) -> None:
    """Open the file of the fragment with final rank ``number``, as it is on disk now.

    Raises ``Failure``: ``no_editor``, ``fragment_not_found``, ``file_not_found``,
    ``editor_failed``.
    """
    environment = invocation.environment
    editor = editor_of(environment.environ)
    fragment = next((each for each in returned if each.final_rank == number), None)
    if fragment is None:
        count = sum(each.final_rank is not None for each in returned)
        there = "nothing was returned" if not count else f"1 to {count} were returned"
        raise Failure(
            "fragment_not_found",
            f"there is no fragment {number} to open: {there}",
            f"Choose --open 1 to --open {count}." if count else "",
        )
    file = memcli.file_of(fragment.resource_id, fragment.scope, fragment.path, revision_id)
    command = editor_command(editor, file, fragment.locator.start_line)
    try:
        with _left_to_the_editor():
            status = subprocess.run(
                command, cwd=environment.working_directory, env=dict(environment.environ)
            ).returncode
    except OSError as error:
        raise Failure(
            "editor_failed",
            f"the editor {editor[0]!r} cannot be started: {error.strerror or error}",
            "Set VISUAL or EDITOR to the command of an installed editor.",
        ) from error
    if status:
        raise Failure("editor_failed", f"the editor {editor[0]!r} ended with status {status}")


def open_fragment_of_run(
    invocation: Invocation, memcli: Memcli, view: RunView, number: int
) -> None:
    """The same for a stored Run of this project: its file as it is now, at the line of then.

    Raises as ``open_fragment``, and ``Failure`` ``file_not_found`` for another
    project's Run, whose files this project does not know.
    """
    run = view.run
    if view.other_project:
        raise Failure(
            "file_not_found",
            f"run {run.run_id} is of another project: {view.other_project}",
            f"Run it there: memcli -C {shlex.quote(run.project_root or 'DIR')} "
            f"runs show {run.run_id} --open {number}",
        )
    open_fragment(invocation, memcli, run.revision_id, view.detail.candidates, number)


@contextmanager
def _left_to_the_editor() -> Iterator[None]:
    """Ctrl-C is meant for the editor, which shares our terminal, until it has ended."""
    # A handler, for the editor would inherit an ignored signal.
    before = signal.signal(signal.SIGINT, lambda _signal, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
