"""Index the project's memory beside the old index, then move the head to it.

\b
Examples:
  memcli index build
  memcli index build --no-swap && memcli head swap
  memcli index build --force --json
  memcli index build --watch

Queries are answered from the old head until the new revision is complete.
What did not change is not embedded again. --watch builds again whenever notes
or settings change, one line for each time, until Ctrl-C; models stay loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from memcli.cli.model_options import EmbedderOption, GpuOption, ThreadsOption, model_settings
from memcli.cli.options import Invocation

if TYPE_CHECKING:
    from memcli.facade import BuildReport, Memcli


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
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on, and build again as files change.")
    ] = False,
    embedder: EmbedderOption = None,
    threads: ThreadsOption = None,
    gpu: GpuOption = None,
) -> None:
    from memcli.cli.build_text import print_summary

    display = invocation.display
    flags = model_settings(embedder=embedder, threads=threads, gpu=gpu)

    def build(first: bool) -> BuildReport:
        with display.progress() as report:
            return memcli.build_index(
                swap=not no_swap,
                force=force and first,
                keep=keep and first,
                wait=not no_wait,
                progress=report,
                on_wait=lambda holder: display.message(f"waiting for another build: {holder}"),
            )

    with invocation.open(**flags) as memcli:
        print_summary(invocation, build(first=True))
        if watch:
            _watch(invocation, memcli, flags, lambda: build(first=False))


def _watch(
    invocation: Invocation,
    memcli: Memcli,
    flags: Mapping[str, object],
    build: Callable[[], BuildReport],
) -> None:
    from memcli.cli.build_text import event_line
    from memcli.facade.watching import watch

    display = invocation.display
    display.message(f"watching {memcli.project.root}; Ctrl-C ends it")
    given = {name: value for name, value in flags.items() if value is not None}
    for event in watch(memcli, given, build):
        display.message(event_line(event, invocation.environment.now()))
        if display.json and event.report is not None:
            display.document(event.report.document())
