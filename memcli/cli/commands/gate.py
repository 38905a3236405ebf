"""Fail, with status 4, when confirmed questions are answered worse than the rules allow.

\b
Examples:
  memcli gate --require "b4_reranked.ndcg_at_10>=0.7" --require "cases>=20"
  memcli gate evaluation/fixture.json --require "b4_reranked.recall_at_20.drop<=0.02"
  memcli gate --recorded --require "b4_reranked.mrr_at_10>=0.5" --json

\b
A rule is FIGURE>=NUMBER or FIGURE<=NUMBER; a figure at its limit holds. Figures:
  b1_bm25, b2_dense_vector, b3_hybrid_rrf, b4_reranked with .recall_at_20,
  .ndcg_at_10, .mrr_at_10, .resource_diversity_at_20, .scope_violation_at_20,
  .stale_result_at_20, .warm_p50_us, .warm_p95_us; of a rerun also with .drop,
  what the recorded Runs scored more than the rerun; cases; excluded.

The Cases are asked again as by `rerun`; --recorded scores the recorded Runs
instead. A resolved Case that cannot be scored fails the gate, as does a figure
that is not there. Exit 3: there is no Case to score.
"""

from __future__ import annotations

from typing import Annotated

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
from memcli.errors import GateFailed, InvalidInput


def command(
    invocation: Invocation,
    cases: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CASE...|FIXTURE]", help="Case ids, or a fixture file."),
    ] = None,
    require: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="What must hold; repeatable.")
    ] = None,
    all_projects: Annotated[
        bool, typer.Option("--all-projects", help="Cases of every project.")
    ] = False,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Score the recorded Runs; ask nothing again.")
    ] = False,
    rounds: Annotated[
        int, typer.Option(min=1, max=1000, help="How often each query is timed.")
    ] = 1,
    embedder: EmbedderOption = None,
    reranker: RerankerOption = None,
    threads: ThreadsOption = None,
    gpu: GpuOption = None,
) -> None:
    from memcli.facade import read_rules

    display = invocation.display
    if not require:
        raise InvalidInput(
            "usage", "a gate needs a rule", 'For example: --require "b4_reranked.ndcg_at_10>=0.7"'
        )
    rules = read_rules(require)
    source = case_source(invocation.environment, cases or (), all_projects)
    flags = model_settings(embedder=embedder, reranker=reranker, threads=threads, gpu=gpu)
    with invocation.open(**flags) as memcli, display.progress() as progress:
        document = memcli.gate_evaluation_set(
            source, rules, recorded=recorded, rounds=rounds, progress=progress
        )
    if display.json:
        display.document(document)
    else:
        from memcli.cli.rerun_text import gate_lines

        display.lines(gate_lines(display, document))
    if not document["passed"]:
        failed = [each["rule"] for each in document["rules"] if not each["held"]]
        lost = [f"case {case_id} could not be scored" for case_id in document["lost"]]
        raise GateFailed(
            "gate_failed",
            f"the gate does not hold: {'; '.join([*failed, *lost])}",
            "`memcli rerun` shows every case; `memcli report` what was recorded.",
        )
