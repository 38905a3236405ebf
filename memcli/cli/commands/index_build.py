"""Index the project's memory beside the old index, then move the head to it.

\b
Examples:
  memcli index build
  memcli index build --no-swap && memcli head swap
  memcli index build --force --json

Queries are answered from the old head until the new revision is complete.
What did not change is not embedded again.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli.options import Invocation


def command(
    invocation: Invocation,
    no_swap: Annotated[bool, typer.Option("--no-swap", help="Leave the head where it is.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Build even if an equal revision is ready.")
    ] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Never prune this revision.")] = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Exit 5 when another build is running.")
    ] = False,
    embedder: Annotated[
        str | None, typer.Option(help="Profile or .gguf file. [env: MEMCLI_EMBEDDER]")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="CPU threads; 0: the machine's. [env: MEMCLI_THREADS]")
    ] = None,
    gpu: Annotated[str | None, typer.Option(help="auto, off or require. [env: MEMCLI_GPU]")] = None,
) -> None:
    from memcli.cli.build_text import print_summary

    display = invocation.display
    memcli = invocation.open(
        **{"models.embedder": embedder, "models.threads": threads, "models.gpu": gpu}
    )
    with memcli, display.progress() as report:
        summary = memcli.build_index(
            swap=not no_swap,
            force=force,
            keep=keep,
            wait=not no_wait,
            progress=report,
            on_wait=lambda holder: display.message(f"waiting for another build: {holder}"),
        )
    print_summary(invocation, summary)
