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

from memcli.cli.model_options import (
    EmbedderOption,
    GpuOption,
    RerankerOption,
    ThreadsOption,
    model_settings,
)
from memcli.cli.options import Invocation


def command(
    invocation: Invocation,
    embedder: EmbedderOption = None,
    reranker: RerankerOption = None,
    threads: ThreadsOption = None,
    gpu: GpuOption = None,
) -> None:
    from memcli.cli.safe_text import safe_message

    flags = model_settings(embedder=embedder, reranker=reranker, threads=threads, gpu=gpu)
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
