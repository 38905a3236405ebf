"""Download a well-known model, check it, and keep it: the only command that uses a network.

\b
Examples:
  memcli models pull bge-small-en-v1.5
  memcli models pull bge-m3 --url https://mirror.example/bge-m3-q8_0.gguf
  memcli models pull mxbai-embed-large-v1 --sha256 DIGEST

A broken-off download goes on where it stopped when the command is run again.
Length, first bytes and, where one is known, SHA-256 must be right before the
file counts; then it must do its job like any added model. `memcli models list`
shows what can be pulled.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli.model_options import GpuOption, ThreadsOption, model_settings
from memcli.cli.options import Invocation

BYTES_IN_MB = 1_000_000


def command(
    invocation: Invocation,
    name: Annotated[str, typer.Argument(help="A name from `memcli models list`.")],
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Another source of the same file.")
    ] = None,
    sha256: Annotated[
        str | None, typer.Option(metavar="DIGEST", help="The digest that the file must have.")
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Never connect. [env: MEMCLI_OFFLINE]")
    ] = False,
    threads: ThreadsOption = None,
    gpu: GpuOption = None,
) -> None:
    from memcli.cli.model_text import CHECKING, may_replace, open_anywhere, print_added
    from memcli.facade.status import human_bytes

    display = invocation.display

    def announce(size: int | None) -> None:
        amount = human_bytes(size) if size is not None else "of unknown size"
        display.message(f"downloading {name} ({amount})")

    with open_anywhere(invocation, **model_settings(threads=threads, gpu=gpu)) as memcli:
        by_hand = memcli.is_added_by_hand(name)
        replace = by_hand and may_replace(invocation, memcli, name)
        with display.progress() as report:
            added = memcli.pull_model(
                name,
                url=url,
                sha256=sha256,
                offline=offline,
                replace=replace,
                progress=lambda present, total: report(
                    f"{name}, MB", present // BYTES_IN_MB, total // BYTES_IN_MB
                ),
                on_download=announce,
                on_check=lambda: display.message(CHECKING.format(name)),
            )
    print_added(invocation, added)
