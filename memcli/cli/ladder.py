"""Run one command and turn whatever it raises into one exit status."""

from __future__ import annotations

import io
import signal
import sys
from typing import TYPE_CHECKING

from memcli.cli.command_table import COMMANDS, GROUPS, Command, find, in_group
from memcli.cli.environment import Environment, process_environment
from memcli.cli.exit_status import ExitStatus, status_of
from memcli.errors import Failure, InvalidInput, MemcliError
from memcli.interrupts import raise_interrupts

if TYPE_CHECKING:
    from memcli.cli.options import Root


def run_process(arguments: list[str]) -> ExitStatus:
    """Run one command line in the real process."""
    raise_interrupts()
    for stream in (sys.stdout, sys.stderr):
        # Help is printed by typer, in whatever PYTHONIOENCODING says; ours is UTF-8.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    status = run(arguments, process_environment())
    # All is said and done: a signal now would only end the interpreter in the midst of it.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    # Neither Python's nor llama.cpp's farewells may reach a closed pipe or a terminal.
    sys.stdout = sys.stderr = None
    return status


def run(arguments: list[str], environment: Environment) -> ExitStatus:
    """Run one command line in ``environment``."""
    try:
        return _run_command(arguments, environment)
    except BrokenPipeError:
        return ExitStatus.OK  # The reader has seen enough.
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED


def _run_command(arguments: list[str], environment: Environment) -> ExitStatus:
    from memcli.cli.options import GlobalValues, Invocation, ReaderGone, Root, from_environment

    values = from_environment(environment).over(GlobalValues(json="--json" in arguments))
    root = Root(environment, values, Invocation(environment, values))
    try:
        _invoke(arguments, root)
    except MemcliError as error:
        if environment.environ.get("MEMCLI_DEBUG") == "1":
            raise
        root.invocation.display.error(error)
        return status_of(error)
    except ReaderGone:
        return ExitStatus.OK
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except SystemExit as stop:
        return ExitStatus(stop.code if isinstance(stop.code, int) else 1)
    except Exception as fault:
        if environment.environ.get("MEMCLI_DEBUG") == "1":
            raise
        told = _unexpected(fault, arguments)
        root.invocation.display.error(told)
        return status_of(told)
    return ExitStatus.OK


def _invoke(arguments: list[str], root: Root) -> None:
    import typer

    from memcli.cli.app import build_app

    # The public class's own ancestor: typer gives usage errors no public name.
    usage_error: type[Exception] = typer.BadParameter.__mro__[2]
    application = build_app(_commands_for(arguments))
    try:
        status = typer.main.get_command(application).main(
            arguments, prog_name="memcli", standalone_mode=False, obj=root
        )
    except typer.Abort:
        raise KeyboardInterrupt from None
    except usage_error as error:
        raise _usage(error, arguments) from None
    if isinstance(status, int) and status:
        raise SystemExit(status)


def _commands_for(arguments: list[str]) -> tuple[Command, ...]:
    """The one command named, the group's, or (for whatever else) all."""
    words = tuple(_words(arguments))
    if command := find(words):
        return (command,)
    if not words:
        return COMMANDS
    from memcli.cli.near_miss import group_alone, unknown_command

    if words[0] not in GROUPS or len(words) > 1:
        raise unknown_command(words)
    if not {"-h", "--help"} & set(arguments):
        raise group_alone(words[0])
    return in_group(words[0])


def _words(arguments: list[str]) -> list[str]:
    """The first words that are no options; ``-C`` takes a value."""
    words: list[str] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in ("-C", "--project"):
            skip = True
        elif not argument.startswith("-"):
            words.append(argument)
            if len(words) == 2:
                break
        elif words:
            break
    return words


def _usage(error: BaseException, arguments: list[str]) -> InvalidInput:
    from memcli.cli.near_miss import unknown_option

    message = error.format_message() if hasattr(error, "format_message") else str(error)
    words = tuple(_words(arguments))
    command = find(words)
    name = " ".join(command.words) if command else " ".join(words[:1])
    hint = f"See `memcli {name} --help`.".replace("  ", " ")
    if option := unknown_option(error):
        message, hint = option[0], option[1] or hint
    return InvalidInput("usage", message, hint)


def _unexpected(fault: Exception, arguments: list[str]) -> MemcliError:
    if isinstance(fault, UnicodeEncodeError):
        # Nothing that is stored can have the name; files of such names are opened all the same.
        for argument in arguments:
            if argument.encode("utf-8", "replace") != argument.encode("utf-8", "surrogatepass"):
                return InvalidInput(
                    "usage", f"{argument} is not valid UTF-8", "Ids and questions are, everywhere."
                )
    if isinstance(fault, OSError) and fault.strerror:
        where = f": {fault.filename}" if fault.filename else ""
        return Failure(
            "system_error",
            f"{fault.strerror}{where}",
            "Check permissions and free space; `memcli status` shows where files are.",
        )
    return Failure(
        "internal_error",
        f"{type(fault).__name__}: {fault}",
        "This is a fault in memcli. MEMCLI_DEBUG=1 shows where; please report it.",
    )
