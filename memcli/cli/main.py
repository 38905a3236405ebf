"""The program's first lines: ``--help`` and ``--version`` answer before anything is imported."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_HELP = ("-h", "--help")
_VERBOSE = ("-v", "--verbose")
_INTERRUPTED = 130


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run the real process and give its exit status."""
    if arguments is None:
        _begin_again_in_utf_8()
    try:
        status = _run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        status = _INTERRUPTED  # It came while the first modules were imported.
    if status == _INTERRUPTED:
        # CPython remembers an interrupt that met an exec of text (as in making a
        # dataclass), though it was handled, and would end by SIGINT instead. All
        # output is written by now, and all stores are closed.
        os._exit(status)
    return status


def _begin_again_in_utf_8() -> None:
    """Replace this process by one in UTF-8 mode where Python takes file names for something else.

    Notes have UTF-8 names whatever the locale: under LC_ALL=C with UTF-8 mode
    switched off they could neither be read nor shown. The mode is an option of
    this interpreter alone; an editor that is started sees nothing of it.
    """
    if os.name != "posix" or sys.flags.utf8_mode:
        return
    if sys.getfilesystemencoding().replace("-", "").lower() == "utf8":
        return
    given = sys.orig_argv[1:]
    # What came with standard input, a program too, cannot be read again.
    if not sys.executable or given[:1] in ([], ["-"]) or getattr(sys, "frozen", False):
        return
    try:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *given])
    except OSError:
        return  # What is ASCII works here too.


def _run(given: "list[str]") -> int:
    if not given or given[0] in _HELP:
        return _print(overview(), 0 if given else 2)
    if "--version" in given and all(each in ("--version", *_VERBOSE) for each in given):
        return _print(version_text(verbose=len(given) > 1), 0)
    if given[:2] == ["completion", "words"]:
        from memcli.cli.completion.words import print_words

        return print_words(given[2:])
    from memcli.cli.ladder import run_process

    return int(run_process(given))


def _print(text: str, status: int) -> int:
    try:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        sys.stdout = None
    except (OSError, AttributeError):  # a full disk, or no standard output at all
        sys.stdout = None
        return 1
    return status


def overview() -> str:
    """What ``memcli --help`` prints: examples first, then every command with its line."""
    from memcli.cli.command_table import COMMANDS

    names = [" ".join(command.words) for command in COMMANDS]
    width = max(map(len, names))
    listing = "\n".join(
        f"  {name:<{width}}  {command.summary}"
        for name, command in zip(names, COMMANDS, strict=True)
    )
    return f"""memcli - index a project's memory, answer from it, trace and evaluate every answer

Examples:
  memcli index build                      index the notes of this project
  memcli activate "how do we roll back"   the fragments that belong in context
  memcli why "how do we roll back" docs/deploy.md

Usage: memcli [GLOBAL OPTIONS] COMMAND [OPTIONS] [ARGUMENTS]

Commands:
{listing}

Global options, on every command:
  -C, --project DIR   project directory            [env: MEMCLI_PROJECT]
  --json              one JSON document on stdout  [env: MEMCLI_JSON]
  -q, --quiet         results and errors only      [env: MEMCLI_QUIET]
  -v, --verbose       say more                     [env: MEMCLI_VERBOSE]
  --no-color          no colour                    [env: NO_COLOR]
  --no-input          never ask anything           [env: MEMCLI_NO_INPUT]
  --yes               answer yes                   [env: MEMCLI_YES]
  -h, --help          help for a command
  --version           version (with -v also SQLite's and llama.cpp's)

Exit status: 0 ok, 1 failure, 2 usage, 3 not ready, 4 gate failed, 5 conflict, 130 interrupted
"""


def version_text(*, verbose: bool) -> str:
    """The version; ``verbose`` adds what it runs on."""
    from memcli import __version__

    if not verbose:
        return f"memcli {__version__}\n"
    from memcli.facade import engine_versions

    rows = [f"{name} {version}" for name, version in engine_versions().items()]
    return "\n".join([f"memcli {__version__}", *rows]) + "\n"
