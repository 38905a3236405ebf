"""Print the completion file for a shell: commands, options, and the ids and paths of this project.

\b
Examples:
  memcli completion bash > ~/.local/share/bash-completion/completions/memcli
  memcli completion zsh > "${fpath[1]}/_memcli"
  memcli completion fish > ~/.config/fish/completions/memcli.fish
  memcli completion powershell >> $PROFILE

The same files are in the folder completions/ of the source. Open a new shell
afterwards. Run ids, case ids, revisions and paths are asked for at each key
press; nothing is written then.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from memcli.cli.options import Invocation

SCHEMA = "memcli.completion.v1"


class Shell(str, Enum):
    """The shells that there is a completion for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def command(
    invocation: Invocation,
    shell: Annotated[Shell, typer.Argument(help="Which shell.", show_choices=True)],
) -> None:
    from memcli.cli.completion.scripts import script

    text = script(shell.value)
    if invocation.display.json:
        invocation.display.document({"schema": SCHEMA, "shell": shell.value, "script": text})
        return
    invocation.display.raw(text)
