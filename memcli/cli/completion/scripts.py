"""The completion file of each shell, by the shell's name."""

from __future__ import annotations

from memcli.cli.completion.bash import bash_script
from memcli.cli.completion.fish import fish_script
from memcli.cli.completion.powershell import powershell_script
from memcli.cli.completion.spec import program_spec
from memcli.cli.completion.zsh import zsh_script

# Where each lies in the folder completions/, under the name its shell looks for.
FILES = {
    "bash": "memcli.bash",
    "zsh": "_memcli",
    "fish": "memcli.fish",
    "powershell": "memcli.ps1",
}
_SCRIPTS = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
    "powershell": powershell_script,
}


def script(shell: str) -> str:
    """The file for ``shell``; the same text for the same commands."""
    return _SCRIPTS[shell](program_spec())
