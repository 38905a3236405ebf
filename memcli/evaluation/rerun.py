"""Asks the frozen Cases again, of their own corpora, under today's models and settings.

A report scores recorded Runs. A rerun answers what a change of model, limit or
code would have made of the same questions: every frozen corpus is indexed in a
folder of its own, apart from the project's index and history, every query goes
through the whole chain, and the new rankings are scored against the same
evidence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memcli.configuration import Limits
from memcli.evaluation.frozen import EvaluationSet, FrozenCase, FrozenCorpus
from memcli.evaluation.metrics import nearest_rank
from memcli.evaluation.rankings import STAGES_OF, VARIANTS, Ranked, RankedUnit
from memcli.evaluation.report import ReportBuilder, notes, report_document
from memcli.evaluation.scoring import METRICS
from memcli.index.builder import build_index
from memcli.index.reader import open_head
from memcli.index.storage import IndexStorage
from memcli.memory.resource import EffectiveMemory, Scope, SourceResource
from memcli.models.embedder import GgufEmbedder
from memcli.models.loaded_model import Aborted
from memcli.models.reranker import Reranker
from memcli.retrieval.activation import Activation
from memcli.retrieval.chain import Models, run_chain
from memcli.retrieval.stages import Stages

RERUN_SCHEMA = "memcli.rerun.v1"
TIMED_STAGES = STAGES_OF["b4_reranked"]


@dataclass(frozen=True, slots=True)
class RerunPlan:
    """What the Cases are asked under.

    ``folder`` is for this rerun alone; it may hold an index without revisions, whose
    vectors are used then. Each query is asked once to
    warm up and then ``rounds`` times for the times; the answers of all rounds
    are the same. ``clock`` gives monotonic seconds.
    """

    folder: Path
    embedder: GgufEmbedder
    reranker: Reranker
    limits: Limits
    rounds: int
    now: Callable[[], datetime]
    clock: Callable[[], float]
    progress: Callable[[str, int, int], None] = lambda stage, done, total: None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A Case with its new trace, and how many of its unit evidence the new cut has no unit for."""

    case: FrozenCase[Ranked]
    lost_units: int


def rerun_document(source: EvaluationSet, plan: RerunPlan) -> dict[str, Any]:
    """The scores of a rerun beside those of the recorded Runs, for every Case of ``source``.

    Raises:
        NotReady: ``case_not_ready``, when there is no Case to score.
        Failure: ``activation_deadline``, when a query takes longer than an activation may.
        Conflict: ``busy``, when a frozen body was collected meanwhile.
    """
    recorded = report_document(source)
    by_corpus: defaultdict[str, list[FrozenCase[Ranked]]] = defaultdict(list)
    for case in source.ranked_cases():
        by_corpus[case.corpus_hash].append(case)
    asked: list[_Asked] = []
    for corpus in source.corpora():
        cases = by_corpus[corpus.corpus_hash]
        asked += _ask_all(source, corpus, cases, plan, len(asked), source.case_count)
    asked.sort(key=lambda one: one.case.case_id)
    builder = ReportBuilder(source)
    for one in asked:
        builder.add(one.case)
    now = builder.document()
    lost = sum(one.lost_units for one in asked)
    return {
        "schema": RERUN_SCHEMA,
        "cases": now["cases"],
        "counts": {**now["counts"], "lost_unit_evidence": lost},
        "excluded": now["excluded"],
        "settings": {
            "models": {
                "embedder": dict(plan.embedder.description),
                "reranker": dict(plan.reranker.description),
            },
            "limits": asdict(plan.limits),
            "rounds": plan.rounds,
        },
        "variants": now["variants"],
        "recorded": recorded["variants"],
        "per_case": [
            {**after, "recorded": _quality_of(before["variants"])}
            for after, before in zip(now["per_case"], recorded["per_case"], strict=True)
        ],
        "notes": _notes(now["cases"], len(now["excluded"]), plan.rounds, lost),
    }


def _ask_all(
    source: EvaluationSet,
    corpus: FrozenCorpus,
    cases: Sequence[FrozenCase[Ranked]],
    plan: RerunPlan,
    done: int,
    total: int,
) -> list[_Asked]:
    """Index one frozen corpus, beside those before it, and ask its Cases."""
    memory = frozen_memory(corpus, source.body)
    storage = IndexStorage(plan.folder)
    build_index(
        storage,
        lambda known_headings: memory,
        plan.embedder,
        now=plan.now,
        clock=plan.clock,
        new_revision_id=lambda: corpus.corpus_hash[:32],
        progress=lambda step: plan.progress(f"index: {step.stage}", step.done, step.total),
    )
    asked = []
    for at, case in enumerate(cases, done + 1):
        asked.append(_ask(case, storage, plan))
        plan.progress("ask", at, total)
    return asked


def _ask(case: FrozenCase[Ranked], storage: IndexStorage, plan: RerunPlan) -> _Asked:
    first = _activation(case, storage, plan)
    rounds = [_activation(case, storage, plan).timings_us for _ in range(plan.rounds)]
    timings = {
        stage: nearest_rank([each[stage] for each in rounds], 50) or 0 for stage in TIMED_STAGES
    }
    units = {item.unit_key for item in case.evidence if item.unit_key is not None}
    with open_head(storage) as reader:
        lost = len(units) - len(reader.keys_present(sorted(units)))
    candidates = tuple(
        RankedUnit(*(getattr(one, name) for name in RankedUnit._fields)) for one in first.candidates
    )
    run = replace(case.run, timings_us=timings)
    return _Asked(replace(case, candidates=candidates, run=run), lost)


def _activation(case: FrozenCase[Ranked], storage: IndexStorage, plan: RerunPlan) -> Activation:
    """One activation as any other, with its own deadline, that nobody records."""
    stages = Stages(plan.clock, plan.limits.deadline_seconds)
    models = Models(plan.embedder, plan.reranker)
    try:
        with open_head(storage, interrupt_check=stages.expired) as reader:
            return run_chain(
                case.project_id, case.query, (), reader, models, reader, plan.limits, stages
            )
    except Aborted:
        raise stages.deadline_error() from None


def frozen_memory(corpus: FrozenCorpus, body: Callable[[str], str]) -> EffectiveMemory:
    """The Effective Memory that a corpus froze; its files' lines and places are not known."""
    resources = tuple(
        SourceResource(
            resource_id=one.resource_id,
            scope=Scope(one.scope),
            kind=one.kind,
            path=one.path,
            title=one.title,
            description=one.description,
            body=body(one.body_sha256),
            body_sha256=one.body_sha256,
            resource_hash=one.resource_hash,
            body_first_line=1,
            description_line=1 if one.description else None,
            file_path="",
        )
        for one in corpus.resources
    )
    return EffectiveMemory(resources, corpus.effective_hash, (), (), ())


def _quality_of(variants: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    return {name: {metric: variants[name][metric] for metric in METRICS} for name in VARIANTS}


def _notes(cases: int, excluded: int, rounds: int, lost: int) -> list[str]:
    times = "1 time" if rounds == 1 else f"{rounds} times"
    told = [
        "Every case was asked again of its own frozen corpus, under the models and limits "
        "of now; nothing was recorded.",
        f"warm_p50_us and warm_p95_us are stage times of this machine: each query {times} after "
        "once to warm up, one after the other, with the median of its rounds.",
        notes(cases, excluded=excluded)[-1],
    ]
    if lost:
        told.append(
            f"{lost} of the confirmed fragments do not exist under this model's cutting of the "
            "notes: they count as not found."
        )
    return told
