"""The options by which a command chooses models and where they run, and the settings they give."""

from __future__ import annotations

from typing import Annotated

import typer

EmbedderOption = Annotated[
    str | None, typer.Option(help="Profile or .gguf file. [env: MEMCLI_EMBEDDER]")
]
RerankerOption = Annotated[
    str | None,
    typer.Option(help="late_interaction, a profile or a .gguf. [env: MEMCLI_RERANKER]"),
]
ThreadsOption = Annotated[
    int | None, typer.Option(help="CPU threads; 0: the machine's. [env: MEMCLI_THREADS]")
]
GpuOption = Annotated[str | None, typer.Option(help="auto, off or require. [env: MEMCLI_GPU]")]


def model_settings(
    *,
    embedder: str | None = None,
    reranker: str | None = None,
    threads: int | None = None,
    gpu: str | None = None,
) -> dict[str, object]:
    """The settings by their keys; ``None`` where an option was not given."""
    return {
        "models.embedder": embedder,
        "models.reranker": reranker,
        "models.threads": threads,
        "models.gpu": gpu,
    }
