"""Build the index of a project: its storage, its id, its models, then the builder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from memcli.facade.freshness import remember_files
from memcli.facade.views import BuildReport
from memcli.index.build_report import BuildProgress
from memcli.index.builder import build_index
from memcli.memory.project import create_storage, ignore_local_memory

if TYPE_CHECKING:
    from memcli.facade.workspace import Memcli, Progress
    from memcli.index.locking import BuildHolder


def build(
    memcli: Memcli,
    swap: bool,
    force: bool,
    keep: bool,
    wait: bool,
    progress: Progress,
    on_wait: Callable[[BuildHolder], None],
) -> BuildReport:
    """See ``Memcli.build_index``."""
    around = memcli.surroundings
    started = around.clock()
    create_storage(memcli.project.root, trusted=memcli.configuration.trusted)
    ignore_local_memory(memcli.project.root)
    identity = memcli.identity(settle=True)

    def report(step: BuildProgress) -> None:
        progress(step.stage, step.done, step.total)

    summary = build_index(
        memcli.storage,
        memcli.synthesize,
        memcli.shelf.configured_embedder(),
        now=around.now,
        clock=around.clock,
        new_revision_id=lambda: f"{around.now():%Y%m%dT%H%M%S}-{around.new_id()[:6]}",
        swap=swap,
        force=force,
        keep=keep,
        wait=wait,
        token_vectors_mb=memcli.configuration.token_vectors_mb,
        progress=report,
        on_wait=on_wait,
        on_ready=lambda memory: remember_files(memcli, memory),
    )
    return BuildReport(summary, around.clock() - started, identity.warnings)
