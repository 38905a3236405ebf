"""Build the typer application: only the commands that this run needs are imported."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from typing import Any

import typer

from memcli.cli.command_table import COMMANDS, GROUPS, Command
from memcli.cli.options import (
    GLOBAL_OPTIONS,
    GlobalValues,
    global_parameters,
    with_global_options,
)

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def build_app(commands: Iterable[Command] = COMMANDS) -> typer.Typer:
    """An application with these commands and their groups."""
    app = _typer()
    app.callback()(_root)
    groups: dict[str, typer.Typer] = {}
    for command in commands:
        parent = app
        if len(command.words) > 1:
            group = command.words[0]
            if group not in groups:
                groups[group] = _typer()
                app.add_typer(groups[group], name=group, help=GROUPS[group])
            parent = groups[group]
        module = importlib.import_module(f"memcli.cli.commands.{command.module}")
        parent.command(
            command.words[-1],
            help=(module.__doc__ or "").strip(),
            short_help=command.summary,
            context_settings=_SETTINGS,
        )(with_global_options(module.command))
    return app


def _typer() -> typer.Typer:
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings=_SETTINGS,
    )


def _root(ctx: typer.Context, **given: Any) -> None:
    ctx.obj.enter(GlobalValues(**given))


# What typer reads through `inspect`; functions are typed without it.
vars(_root)["__signature__"] = inspect.Signature(
    [
        inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
        *global_parameters(),
    ]
)
_root.__annotations__ = {"ctx": typer.Context, **GLOBAL_OPTIONS}
