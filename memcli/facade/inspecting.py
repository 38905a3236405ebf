"""Questions that look at everything and change nothing: the status, and why a note did not come."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from memcli.errors import MemcliError
from memcli.facade.status import HistoryCounts, Status, sizes_on_disk
from memcli.index.locking import running_build
from memcli.index.reader import open_head
from memcli.index.revisions import HeadInfo, RevisionInfo
from memcli.index.swap import head_info, list_revisions
from memcli.memory.unlisted import why_unlisted
from memcli.models.loaded_model import Aborted, never
from memcli.retrieval.chain import Models, run_chain, valid_query
from memcli.retrieval.explanation import Story, tell_story
from memcli.retrieval.stages import Stages

if TYPE_CHECKING:
    from memcli.facade.workspace import Memcli


def status_of(memcli: Memcli) -> Status:
    """See ``Memcli.status``. What is broken becomes a warning, so that the rest is shown."""
    warnings: list[str] = []
    identity = memcli.identity(settle=False)
    warnings += identity.warnings
    memory = memcli.synthesize()
    head, revision = HeadInfo(None, None, None), None
    try:
        head = head_info(memcli.storage)
        revision = _head_revision(memcli, head)
    except MemcliError as error:
        warnings.append(f"{error.message} [{error.code}] {error.hint}")
    counts = None
    try:
        counts = _history_counts(memcli, identity.project_id)
        warnings += _damaged_records(memcli)
    except MemcliError as error:
        # One cause, one warning: the registry is in the same store.
        if not any(error.message in each for each in warnings):
            warnings.append(f"{error.message} [{error.code}] {error.hint}")
    build = running_build(memcli.storage)
    try:
        device_text = memcli.shelf.device_description
    except MemcliError as error:
        device_text = f"unusable: {error.message}"
    try:
        behind = _is_behind(memcli, revision, memory.effective_hash)
    except MemcliError as error:
        behind = True
        warnings.append(f"{error.message} [{error.code}] {error.hint}")
    for warning in memory.warnings:
        warnings.append(f"{warning.path}: {warning.reason}: {warning.detail}")
    for left in memory.left_out:
        if left.disposition.value == "skipped":
            warnings.append(f"skipped {left.path}: {left.reason}: {left.detail}")
    return Status(
        root=memcli.project.root,
        found_by=memcli.project.found_by,
        project_id=None if identity.is_new else identity.project_id,
        id_origin=identity.origin,
        sources=memcli.sources,
        memory=memory,
        head=head,
        revision=revision,
        build=str(build) if build else None,
        behind=behind,
        device=device_text,
        configuration=memcli.configuration,
        central_home=memcli.history.home,
        history=counts,
        sizes=sizes_on_disk(memcli.storage.directory),
        warnings=tuple(warnings),
    )


def _history_counts(memcli: Memcli, project_id: str) -> HistoryCounts:
    from memcli.evaluation.cases import list_cases
    from memcli.history.runs import list_runs

    runs = list_runs(memcli.history, project_id=project_id)
    cases = list_cases(memcli.history, project_id=project_id)
    return HistoryCounts(
        runs=Counter(run.status for run in runs),
        pinned=sum(run.pinned for run in runs),
        cases=Counter(case.status for case in cases),
    )


def _damaged_records(memcli: Memcli) -> Iterator[str]:
    from memcli.evaluation.cases import list_damaged_cases
    from memcli.history.digests import list_damaged_runs

    if runs := list_damaged_runs(memcli.history):
        yield f"damaged runs: {', '.join(runs)}; `memcli runs show` says more of each"
    if cases := list_damaged_cases(memcli.history):
        yield f"damaged cases: {', '.join(cases)}; `memcli case show` says more of each"


def _head_revision(memcli: Memcli, head: HeadInfo) -> RevisionInfo | None:
    revisions = list_revisions(memcli.storage)
    return next((each for each in revisions if each.revision_id == head.head), None)


def _is_behind(memcli: Memcli, revision: RevisionInfo | None, effective_hash: str) -> bool:
    """Whether files, or what shapes an index of them, are others than the head's."""
    if revision is None or revision.effective_hash != effective_hash:
        return True
    return not memcli.shelf.builds_like(revision.recipe)


@contextlib.contextmanager
def _aborted_at_the_deadline(stages: Stages) -> Iterator[None]:
    try:
        yield
    except Aborted:
        raise stages.deadline_error() from None


def explain(memcli: Memcli, query: str, note: str) -> Story:
    """See ``Memcli.explain_note``."""
    asked = valid_query(query)
    identity = memcli.identity(settle=False)
    memory = memcli.synthesize()
    limits = memcli.configuration.limits
    stages = Stages(memcli.surroundings.clock, limits.deadline_seconds)
    with (
        _aborted_at_the_deadline(stages),
        open_head(memcli.storage, interrupt_check=stages.expired) as reader,
    ):
        embedder = memcli.shelf.embedder_of(reader.revision.recipe, stages.expired)
        models = Models(embedder, memcli.shelf.reranker_for(embedder, stages.expired))
        activation = run_chain(
            identity.project_id, asked, (), reader, models, reader, limits, stages
        )
        vector = embedder.embed_query(asked, never).vector
        story = tell_story(note, memcli.project.root, memory, activation, reader, vector)
    return _with_reason(memcli, story)


def _with_reason(memcli: Memcli, story: Story) -> Story:
    """A file that no walk came by, with what kept it out."""
    if story.memory != "unknown" or story.head == "removed":
        return story
    reason, detail = why_unlisted(story.asked, memcli.project.root, memcli.sources) or ("", "")
    return replace(story, memory_reason=reason or None, memory_detail=detail or None)
