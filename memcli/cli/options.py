"""The global options, the same on every command, each with its environment variable."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from memcli.cli.display import Display
from memcli.cli.environment import Environment

if TYPE_CHECKING:
    from memcli.facade import Memcli, Surroundings

GLOBAL_OPTIONS: dict[str, Any] = {
    "project": Annotated[
        Path | None,
        typer.Option(
            "-C", "--project", metavar="DIR", help="Project directory. [env: MEMCLI_PROJECT]"
        ),
    ],
    "json": Annotated[
        bool, typer.Option("--json", help="Print one JSON document. [env: MEMCLI_JSON]")
    ],
    "quiet": Annotated[
        bool, typer.Option("-q", "--quiet", help="Results and errors only. [env: MEMCLI_QUIET]")
    ],
    "verbose": Annotated[
        bool, typer.Option("-v", "--verbose", help="Say more. [env: MEMCLI_VERBOSE]")
    ],
    "no_color": Annotated[
        bool, typer.Option("--no-color", help="No colour. [env: NO_COLOR, MEMCLI_NO_COLOR]")
    ],
    "no_input": Annotated[
        bool, typer.Option("--no-input", help="Never ask anything. [env: MEMCLI_NO_INPUT]")
    ],
    "yes": Annotated[
        bool, typer.Option("--yes", help="Answer yes to every question. [env: MEMCLI_YES]")
    ],
}


class ReaderGone(Exception):
    """Whoever read the output has closed it: it has seen enough, and nothing is wrong."""


@dataclass(frozen=True, slots=True)
class GlobalValues:
    """The global options as given, before or after the command's words."""

    project: Path | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    no_color: bool = False
    no_input: bool = False
    yes: bool = False

    def over(self, other: GlobalValues) -> GlobalValues:
        """These values where given, ``other``'s elsewhere."""
        return GlobalValues(
            self.project or other.project,
            *(
                getattr(self, name) or getattr(other, name)
                for name in ("json", "quiet", "verbose", "no_color", "no_input", "yes")
            ),
        )


def from_environment(environment: Environment) -> GlobalValues:
    """What the variables say; any value but empty, 0, false and no switches one on."""
    values = {
        name: environment.environ.get(f"MEMCLI_{name.upper()}", "").lower()
        not in ("", "0", "false", "no")
        for name in ("json", "quiet", "verbose", "no_color", "no_input", "yes")
    }
    return GlobalValues(project=None, **values)


@dataclass(slots=True)
class Invocation:
    """One command being run: its environment, global options and display."""

    environment: Environment
    options: GlobalValues
    display: Display = field(init=False)

    def __post_init__(self) -> None:
        self.display = Display(
            self.environment,
            json=self.options.json,
            quiet=self.options.quiet,
            verbose=self.options.verbose,
            color=not self.options.no_color,
        )

    def open(self, **flags: object) -> Memcli:
        """The facade over this project; ``flags`` are this command's settings, if given."""
        from memcli.facade import Memcli

        return Memcli.open(
            self.environment.working_directory,
            project=self.options.project,
            allow_broad=self.options.yes,
            flags={name: value for name, value in flags.items() if value is not None},
            surroundings=self.surroundings(),
        )

    def surroundings(self) -> Surroundings:
        """What the facade takes from outside, as this command's environment has it."""
        from memcli.facade import Surroundings

        environment = self.environment
        return Surroundings(
            environ=environment.environ,
            now=environment.now,
            clock=environment.clock,
            new_id=environment.new_id,
            native_guard=environment.native_guard,
        )


@dataclass(slots=True)
class Root:
    """What the program starts with; ``invocation`` is set once the options are read.

    The error ladder uses its display, so that ``--json`` shapes errors too.
    """

    environment: Environment
    options: GlobalValues
    invocation: Invocation

    def enter(self, given: GlobalValues) -> Invocation:
        self.options = given.over(self.options)
        self.invocation = Invocation(self.environment, self.options)
        return self.invocation


def global_parameters() -> list[inspect.Parameter]:
    """The global options as parameters of a function that typer reads."""
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if name == "project" else False,
            annotation=annotation,
        )
        for name, annotation in GLOBAL_OPTIONS.items()
    ]


def with_global_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the global options; its first parameter receives the ``Invocation``."""
    hints = get_type_hints(function, include_extras=True)
    own = list(inspect.signature(function).parameters.values())[1:]

    @functools.wraps(function)
    def run(ctx: typer.Context, **arguments: Any) -> None:
        given = GlobalValues(**{name: arguments.pop(name) for name in GLOBAL_OPTIONS})
        try:
            function(ctx.find_root().obj.enter(given), **arguments)
        except BrokenPipeError as error:
            # Under this name it passes typer, which would exit with status 1.
            raise ReaderGone from error

    added = global_parameters()
    kept = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
        for parameter in own
    ]
    context = inspect.Parameter(
        "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    # What typer reads through `inspect`; functions are typed without it.
    vars(run)["__signature__"] = inspect.Signature([context, *kept, *added])
    run.__annotations__ = {
        parameter.name: parameter.annotation for parameter in [context, *kept, *added]
    }
    del run.__wrapped__
    return run
