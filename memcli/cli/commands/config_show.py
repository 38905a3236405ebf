"""Show every setting, its value, where the value came from, and the files that were considered.

\b
Examples:
  memcli config show
  MEMCLI_THREADS=2 memcli config show --gpu off
  memcli config show --json

A flag goes before an environment variable, then the project's memcli.toml, your
own config.toml, and the default. A project's file can choose no model file and
nothing outside the project unless your config.toml trusts it.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli.options import Invocation


def command(
    invocation: Invocation,
    embedder: Annotated[
        str | None, typer.Option(help="Profile or .gguf file. [env: MEMCLI_EMBEDDER]")
    ] = None,
    reranker: Annotated[
        str | None,
        typer.Option(help="late_interaction, a profile or a .gguf. [env: MEMCLI_RERANKER]"),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="CPU threads; 0: the machine's. [env: MEMCLI_THREADS]")
    ] = None,
    gpu: Annotated[str | None, typer.Option(help="auto, off or require. [env: MEMCLI_GPU]")] = None,
) -> None:
    from memcli.cli.safe_text import safe_message

    flags = {
        "models.embedder": embedder,
        "models.reranker": reranker,
        "models.threads": threads,
        "models.gpu": gpu,
    }
    with invocation.open(**flags) as memcli:
        view = memcli.configuration_view()
    display = invocation.display
    if display.json:
        display.document(view.document())
        return
    for section, rows in view.sections():
        display.lines([display.style(section, "heading")])
        width = max(len(name) for name, _ in rows)
        display.lines(f"  {name:<{width}}  {safe_message(value)}" for name, value in rows)
