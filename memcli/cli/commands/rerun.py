"""Ask the frozen questions again under the present models and settings, and score the answers.

\b
Examples:
  memcli rerun
  memcli rerun --reranker my-cross-encoder
  memcli rerun evaluation/fixture.json --json
  memcli rerun --embedder other.gguf --csv scores.csv

A report scores recorded Runs; this asks every Case of its own frozen corpus once
more and shows both scores. The corpora are indexed in a folder of their own that
is deleted at the end: neither the index nor the history is touched. Times are
measured warm, one query after the other, each --rounds times.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memcli.cli.case_source import case_source
from memcli.cli.model_options import (
    EmbedderOption,
    GpuOption,
    RerankerOption,
    ThreadsOption,
    model_settings,
)
from memcli.cli.options import Invocation
from memcli.errors import InvalidInput

if TYPE_CHECKING:
    from memcli.facade.rerunning import RerunView


def command(
    invocation: Invocation,
    cases: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CASE...|FIXTURE]", help="Case ids, or a fixture file."),
    ] = None,
    all_projects: Annotated[
        bool, typer.Option("--all-projects", help="Cases of every project.")
    ] = False,
    rounds: Annotated[
        int, typer.Option(min=1, max=1000, help="How often each query is timed.")
    ] = 3,
    csv: Annotated[str | None, typer.Option(metavar="FILE|-", help="Write it as CSV.")] = None,
    embedder: EmbedderOption = None,
    reranker: RerankerOption = None,
    threads: ThreadsOption = None,
    gpu: GpuOption = None,
) -> None:
    display, environment = invocation.display, invocation.environment
    if csv == "-" and display.json:
        raise InvalidInput("usage", "only one of --json and --csv - fits on stdout")
    if csv == "":
        raise InvalidInput("usage", "--csv needs the name of a file, or -")
    source = case_source(environment, cases or (), all_projects)
    flags = model_settings(embedder=embedder, reranker=reranker, threads=threads, gpu=gpu)
    with invocation.open(**flags) as memcli, display.progress() as progress:
        view = memcli.rerun_evaluation_set(source, rounds=rounds, progress=progress)
    if csv is not None and csv != "-":
        path = environment.working_directory / Path(csv).expanduser()
        view.write(path, view.csv_bytes())
        display.message(f"wrote {path}")
    _print(invocation, view, csv == "-")
    view.raise_losses()


def _print(invocation: Invocation, view: RerunView, as_csv: bool) -> None:
    display = invocation.display
    if display.json:
        display.document(view.document)
    elif as_csv:
        display.raw(view.csv_bytes().decode("utf-8"))
    else:
        from memcli.cli.rerun_text import rerun_lines

        display.lines(rerun_lines(display, view.document))
