"""Add a GGUF file of your own as a model, once it has shown that it does the job.

\b
Examples:
  memcli models add my-e5 ~/models/e5.gguf --query-prefix "query: " --passage-prefix "passage: "
  memcli models add my-reranker reranker.gguf --role rerank
  memcli models add my-bge bge.gguf --pooling cls --copy

The file's header is checked, the model is loaded, and it must tell a plain
answer from plain nonsense. Its scores are then calibrated over built-in
questions. Role and pooling are read from the file unless they are given;
prefixes are not in it: they stand in the model's card.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from memcli.cli.model_options import GpuOption, ThreadsOption, model_settings
from memcli.cli.options import Invocation
from memcli.cli.role_option import Role


class Pooling(str, Enum):
    """How token outputs become one vector."""

    MEAN = "mean"
    CLS = "cls"
    LAST = "last"


class PairForm(str, Enum):
    """What stands between query and passage for a reranker."""

    SINGLE_SEPARATOR = "single_separator"
    DOUBLE_SEPARATOR = "double_separator"
    FILE = "file"


def command(
    invocation: Invocation,
    name: Annotated[str, typer.Argument(help="Name that settings and options will use.")],
    file: Annotated[Path, typer.Argument(help="A GGUF file.")],
    role: Annotated[
        Role | None, typer.Option(help="Its job; a classification head makes it a reranker.")
    ] = None,
    query_prefix: Annotated[
        str | None, typer.Option(help="Text before each query (embedder).")
    ] = None,
    passage_prefix: Annotated[
        str | None, typer.Option(help="Text before each passage (embedder).")
    ] = None,
    pooling: Annotated[
        Pooling | None, typer.Option(help="How tokens become one vector (embedder).")
    ] = None,
    pair_form: Annotated[
        PairForm | None, typer.Option(help="How query and passage are joined (reranker).")
    ] = None,
    max_tokens: Annotated[
        int, typer.Option(min=0, help="Most tokens of one input; 0: what the file says.")
    ] = 0,
    copy: Annotated[
        bool, typer.Option("--copy", help="Keep a copy with memcli's own data.")
    ] = False,
    threads: ThreadsOption = None,
    gpu: GpuOption = None,
) -> None:
    from memcli.cli.model_text import CHECKING, may_replace, open_anywhere, print_added

    flags = model_settings(threads=threads, gpu=gpu)
    with open_anywhere(invocation, **flags) as memcli:
        replace = may_replace(invocation, memcli, name)
        if invocation.environment.stderr_is_terminal:
            invocation.display.message(CHECKING.format(file.name))
        added = memcli.add_model(
            name,
            invocation.environment.working_directory / file.expanduser(),
            role=role.value if role else None,
            pooling=pooling.value if pooling else None,
            query_prefix=query_prefix,
            passage_prefix=passage_prefix,
            pair_form=pair_form.value if pair_form else None,
            max_tokens=max_tokens,
            copy=copy,
            replace=replace,
        )
    print_added(invocation, added)
