"""Open the head, load its models, run the chain, record the Run: one activation end to end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from memcli.errors import Failure, MemcliError
from memcli.facade.answers import Answer
from memcli.history.best_effort import HistoryWarning, record_or_warn
from memcli.history.corpus import ManifestResource
from memcli.history.recording import RunRecorder
from memcli.history.store import HistoryStore
from memcli.index.faults import index_damaged
from memcli.index.reader import RevisionReader, open_head
from memcli.index.storage import IndexStorage
from memcli.models.loaded_model import Aborted
from memcli.models.model_shelf import ModelShelf
from memcli.retrieval.activation import (
    Activation,
    ActivationFault,
    ActivationLimits,
    Counts,
    Notice,
)
from memcli.retrieval.chain import Models, run_chain
from memcli.retrieval.delta import HeldUnit, state_fingerprint
from memcli.retrieval.stages import Stages

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class ActivationPlan:
    """Everything one activation needs; ``history`` is ``None`` when it is not recorded."""

    project_id: str
    query: str
    held: Sequence[HeldUnit]
    state_given: bool
    storage: IndexStorage
    shelf: ModelShelf
    limits: ActivationLimits
    history: HistoryStore | None
    clock: Callable[[], float]
    notices: Callable[[RevisionReader], Iterable[Notice]]
    warnings: tuple[str, ...] = ()


def activate(plan: ActivationPlan) -> Answer:
    """Answer and record. Raises what the chain raises; the failed Run is recorded first.

    The ``warnings`` of an error say what of that record could not be written.
    """
    trace = _Trace(plan)
    run_id = trace.begin()
    stages = Stages(plan.clock, plan.limits.deadline_seconds)
    known = _Known()
    try:
        with contextlib.ExitStack() as stack:
            with stages.stage("open"):
                reader = known.reader = stack.enter_context(
                    open_head(plan.storage, interrupt_check=stages.expired)
                )
                notices = tuple(plan.notices(reader))
            with stages.stage("load"):
                embedder = plan.shelf.embedder_of(reader.revision.recipe, stages.expired)
                models = Models(embedder, plan.shelf.reranker_for(embedder, stages.expired))
                known.models = _placed(models.description(), plan.shelf.placement)
            activation = run_chain(
                plan.project_id,
                plan.query,
                plan.held,
                reader,
                models,
                reader,
                plan.limits,
                stages,
                notices,
            )
            timings = {**stages.timings_us, "total": stages.total_us()}
            activation = replace(activation, models=known.models, timings_us=timings)
            # Recording is outside the deadline.
            reader.lift_deadline()
            started = plan.clock()
            run_id = trace.succeed(run_id, activation, _ReaderCorpus(reader))
            recorded = round((plan.clock() - started) * 1_000_000)
    except Aborted:
        error: Failure = stages.deadline_error()
        trace.fail(run_id, stages, error, known)
        error.warnings = trace.all_warnings
        raise error from None
    except MemcliError as error:
        trace.fail(run_id, stages, error, known)
        error.warnings = trace.all_warnings
        raise
    except BaseException as fault:
        code = "retrieval_interrupted" if isinstance(fault, KeyboardInterrupt) else "internal_error"
        summary = str(fault) or type(fault).__name__
        trace.fail(run_id, stages, Failure(code, summary), known)
        raise
    timings = {**activation.timings_us, "record": recorded}
    return Answer(activation, run_id, timings, trace.all_warnings)


@dataclass(slots=True)
class _Known:
    """What a failed Run can still tell: the revision that was open, the models loaded."""

    reader: RevisionReader | None = None
    models: dict[str, Any] | None = None


def _placed(models: Mapping[str, Any], placement: Mapping[str, Any]) -> dict[str, Any]:
    return {role: {**described, **placement} for role, described in models.items()}


class _Trace:
    """Best-effort recording: whatever goes wrong becomes one warning, never an error."""

    def __init__(self, plan: ActivationPlan) -> None:
        self._plan = plan
        self._recorder = RunRecorder(plan.history) if plan.history else None
        self._warnings: list[str] = []

    @property
    def all_warnings(self) -> tuple[str, ...]:
        """One cause, one warning: a store that cannot be written was no registry either."""
        return tuple(self._warnings) or self._plan.warnings

    def begin(self) -> str | None:
        plan = self._plan
        if self._recorder is None or plan.history is None:
            return None
        fingerprint = state_fingerprint(plan.held) if plan.state_given else None
        recorder = self._recorder
        begun = record_or_warn(
            plan.history,
            lambda: recorder.begin(plan.project_id, plan.query, fingerprint, plan.limits),
        )
        if isinstance(begun, HistoryWarning):
            self._warn(begun, "this answer")
            self._recorder = None
            return None
        return begun

    def succeed(
        self, run_id: str | None, activation: Activation, corpus: _ReaderCorpus
    ) -> str | None:
        plan, recorder = self._plan, self._recorder
        if recorder is None or plan.history is None or run_id is None:
            return None
        ended = record_or_warn(
            plan.history,
            lambda: recorder.succeed(run_id, activation, corpus),
        )
        recorder.close()
        if isinstance(ended, HistoryWarning):
            self._warn(ended, "this answer")
            return None
        return run_id

    def fail(
        self,
        run_id: str | None,
        stages: Stages,
        error: MemcliError,
        known: _Known,
    ) -> None:
        plan, recorder = self._plan, self._recorder
        if recorder is None or plan.history is None or run_id is None:
            return
        revision = known.reader.revision if known.reader else None
        fault = ActivationFault(
            stage=stages.current,
            code=error.code,
            summary=error.message,
            revision_id=revision.revision_id if revision else None,
            effective_hash=revision.effective_hash if revision else None,
            recipe=revision.recipe if revision else None,
            models=known.models,
            limits=plan.limits,
            counts=Counts(revision.resource_count, revision.unit_count, 0, 0, 0, 0)
            if revision
            else None,
            timings_us={**stages.timings_us, "total": stages.total_us()},
        )
        ended = record_or_warn(plan.history, lambda: recorder.fail(run_id, fault))
        recorder.close()
        if isinstance(ended, HistoryWarning):
            self._warn(ended, "this failure")

    def _warn(self, warning: HistoryWarning, what: str) -> None:
        hint = f". {warning.hint}" if warning.hint else ""
        self._warnings.append(f"{what} was not recorded: {warning.message}{hint}")


@dataclass(frozen=True, slots=True)
class _ReaderCorpus:
    """The searched revision as the history's ``CorpusSource``."""

    reader: RevisionReader

    def manifest(self) -> Iterable[ManifestResource]:
        return (
            ManifestResource(
                ordinal=ordinal,
                resource_id=each.resource_id,
                scope=each.scope,
                kind=each.kind,
                path=each.path,
                title=each.title,
                description=each.description,
                resource_hash=each.resource_hash,
                body_sha256=each.body_sha256,
            )
            for ordinal, each in enumerate(self.reader.manifest())
        )

    def body(self, resource_id: str) -> str:
        body = self.reader.body(resource_id)
        if body is None:
            raise index_damaged(f"the body of {resource_id} is missing")
        return body
