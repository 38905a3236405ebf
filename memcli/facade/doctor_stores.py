"""What ``doctor`` finds about the index of the project and the central store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from memcli.facade.findings import BROKEN, OK, WARN, Finding
from memcli.facade.status import human_bytes
from memcli.history.damage import damaged
from memcli.history.inspection import inspect_store
from memcli.history.schema import SCHEMA_VERSION as STORE_VERSION
from memcli.index.inspection import inspect_index
from memcli.index.locking import running_build
from memcli.index.tables import SCHEMA_VERSION as INDEX_VERSION

if TYPE_CHECKING:
    from memcli.history.store import HistoryStore
    from memcli.index.revisions import RevisionInfo
    from memcli.index.storage import IndexStorage

BUILD = "memcli index build"
UPGRADE = "python -m pip install --upgrade memcli"
REMOVE_BODIES = (
    "remove the damaged files; `memcli activate` writes back every body that the memory still has"
)


def index_findings(
    storage: IndexStorage, tell_head: Callable[[RevisionInfo], None]
) -> Iterator[Finding]:
    """The index as a whole, its head, and the lock of builds; a head is told to the caller."""
    holder = running_build(storage)
    condition = inspect_index(storage, building=holder is not None)
    if condition.head is not None:
        tell_head(condition.head)
    if problems := (*condition.faults, *condition.gaps):
        newer = condition.schema is not None and condition.schema > INDEX_VERSION
        repair = UPGRADE if newer else BUILD
        yield Finding("index", "integrity", BROKEN, "; ".join(problems), repair)
    elif condition.schema is None:
        yield Finding("index", "integrity", WARN, "there is no index yet", BUILD)
    else:
        revisions = f"{condition.revisions} revision{'s' if condition.revisions != 1 else ''}"
        sound = f"schema {condition.schema}, {revisions}, every page sound"
        yield Finding("index", "integrity", OK, sound)
        yield _head_finding(condition.head, condition.ready > 0)
    for remark in condition.remarks:
        yield Finding("index", "derived files", WARN, remark, BUILD)
    if holder is not None:
        yield Finding("index", "build lock", OK, f"held: {holder} is building")
    elif storage.lock_holder.exists():
        message = f"{storage.lock_holder.name} names a build that was killed"
        yield Finding("index", "build lock", WARN, message, BUILD)
    else:
        yield Finding("index", "build lock", OK, "free")


def _head_finding(head: RevisionInfo | None, ready: bool) -> Finding:
    if head is None:
        repair = "memcli head swap" if ready else BUILD
        return Finding("index", "head", WARN, "no revision is the head", repair)
    counts = f"{head.resource_count} resources, {head.unit_count} units"
    return Finding("index", "head", OK, f"{head.revision_id}: {counts}")


def history_findings(store: HistoryStore) -> Iterator[Finding]:
    """The central store: its layout, every page, every reference and every body."""
    report = inspect_store(store, thorough=True, untouched=True)
    if report.problems:
        # A process that began to write meanwhile can look like damage, but not twice.
        report = inspect_store(store, thorough=True, untouched=True)
    problems = [each for each in report.problems if each not in report.lost_bodies]
    if problems:
        is_newer = report.layout is None and any("knows up to" in each for each in problems)
        repair = UPGRADE if is_newer else damaged(store.path, "is damaged").hint
        yield Finding("history", "integrity", BROKEN, "; ".join(problems), repair)
    elif report.layout is None:
        yield Finding("history", "integrity", OK, f"nothing is recorded yet ({store.path})")
    elif report.layout < STORE_VERSION:
        message = f"layout {report.layout}; the next command brings it to {STORE_VERSION}"
        yield Finding("history", "integrity", WARN, message, "memcli runs list")
    else:
        bodies = f"{report.bodies} bodies ({human_bytes(report.body_bytes)})"
        bodies += "" if report.lost_bodies else " as promised"
        counts = f"{report.runs} runs, {report.cases} cases in {report.projects} projects"
        sound = f"layout {report.layout}, {counts}, every page sound, {bodies}"
        yield Finding("history", "integrity", OK, sound)
    if report.lost_bodies:
        yield Finding("history", "bodies", BROKEN, "; ".join(report.lost_bodies), REMOVE_BODIES)
    if report.backups:
        names = ", ".join(report.backups)
        yield Finding("history", "backups", OK, f"made before migrations: {names}")
