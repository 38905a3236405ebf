"""Use a model from now on: write its name into your config.toml, or into memcli.toml.

\b
Examples:
  memcli models use bge-m3
  memcli models use bge-reranker-v2-m3 --in-project
  memcli models use bundled
  memcli models use late_interaction

Only the one value changes; the rest of the file stays as you wrote it. Another
embedder needs `memcli index build`; until then queries are answered with the
embedder that the index was built with. `bundled` and `late_interaction` go back
to what memcli comes with.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli.options import Invocation
from memcli.cli.role_option import Role


def command(
    invocation: Invocation,
    name: Annotated[str, typer.Argument(help="A model that is installed: `memcli models list`.")],
    role: Annotated[Role | None, typer.Option(help="Refuse a model that has another job.")] = None,
    in_project: Annotated[
        bool,
        typer.Option("--in-project", help="Write into this project's memcli.toml."),
    ] = False,
) -> None:
    from memcli.cli.model_text import open_anywhere
    from memcli.cli.safe_text import safe_line

    # Only a project's own file has to lie in a real project.
    with invocation.open() if in_project else open_anywhere(invocation) as memcli:
        choice = memcli.use_model(name, role=role.value if role else None, in_project=in_project)
    display = invocation.display
    if display.json:
        display.document(choice.document())
    elif choice.changed:
        before = f" (was {choice.previous})" if choice.previous else ""
        display.lines([safe_line(f"{choice.setting} = {choice.name}{before} in {choice.file}")])
    else:
        display.lines([safe_line(f"{choice.setting} is {choice.name} in {choice.file} already")])
    if choice.warning:
        display.warning(choice.warning)
    if choice.next_command:
        display.hint(f"next: {choice.next_command}")
