"""What must hold when every worker of the mixed load has ended: nothing lost, nothing left over."""

from __future__ import annotations

import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from memcli.errors import MemcliError
from memcli.evaluation.cases import get_case, list_cases
from memcli.history.deletion import RETAINED_RUNS
from memcli.history.inspection import inspect_store
from memcli.history.runs import get_run, list_runs
from memcli.history.store import HistoryStore
from memcli.index.inspection import inspect_index
from memcli.index.locking import running_build
from memcli.index.storage import IndexStorage
from memcli.index.swap import head_info, list_revisions
from soaking.ground import Ground, answer_of
from soaking.mixed_ground import PROJECTS, QUERIES, Shared
from soaking.mixed_program import Program
from soaking.tally import Fault

Row = dict[str, Any]
Seen = Iterator[tuple[str, str]]

# The relevance floor of the built-in reranker, and what scores of another batch differ by.
ABOVE_FLOOR = 0.5 + 0.05
NAMED = "SELECT sha256 FROM retrieval_corpus_blobs"
CHECK_FTS = "INSERT INTO search_units_fts(search_units_fts, rank) VALUES('integrity-check', 0)"
FTS_ROWS = "SELECT rowid, revision_id FROM search_units_fts ORDER BY rowid"
UNIT_ROWS = """
    SELECT unit_rowid, revision_id FROM search_units
    WHERE revision_id = (SELECT head FROM search_heads) ORDER BY unit_rowid
"""


def end_faults(base: Path, rows: Sequence[Row], program: Program) -> list[Fault]:
    """Compare the logs (in order of their beginning) with what is stored, then tidy up and look."""
    store = HistoryStore(base / "central", lambda: datetime.now(timezone.utc))
    done = [row for row in rows if row["status"] == 0]
    checks: dict[str, Callable[[], Seen]] = {
        "store not sound": lambda: unsound_store(store),
        "lost run": lambda: lost_runs(store, done),
        "lost update": lambda: lost_updates(store, done),
        "index not sound": lambda: unsound_indexes(base),
        "left over": lambda: _leftovers(base, store, program),
        "other answers": lambda: _other_answers(base, program),
    }
    return [Fault(kind, trial, seen) for kind, check in checks.items() for trial, seen in check()]


def unsound_store(store: HistoryStore) -> Seen:
    for problem in inspect_store(store, thorough=True).problems:
        yield "local.db", problem
    for run in list_runs(store, project_id=None, status="running"):
        yield run.run_id, "it is running, and no process is"
    for project in PROJECTS:
        kept = [
            run
            for run in list_runs(store, project_id=project)
            if not run.pinned and run.case is None
        ]
        if len(kept) > RETAINED_RUNS:
            yield project, f"{len(kept)} unpinned runs are held"


def lost_runs(store: HistoryStore, done: Sequence[Row]) -> Seen:
    """Every Run that was handed out is there whole, or something that may have taken it was asked.

    ``done`` are the operations that succeeded.
    """
    present = {run.run_id: run for run in list_runs(store, project_id=None)}
    of_kind = _by(done, "kind")
    deleted = {row["run"]: row for row in of_kind["runs delete"]}
    unpinned = _by(of_kind["runs unpin"], "run")
    pinned = _by(of_kind["runs pin"], "run")
    asked = [*of_kind["activate"], *of_kind["activate with state"]]
    for row in asked:
        run_id = row["run"]
        if run_id in present:
            yield from _untrue_trace(store, row)
        elif run_id not in deleted and not _may_have_gone(row, of_kind, asked):
            yield run_id, "it was handed out, is gone, and nothing can have taken it"
    for run_id in deleted:
        if run_id in present:
            yield run_id, "it was deleted and is there"
    for run_id, pins in pinned.items():
        last = max(pin["started"] for pin in pins)
        undone = [*unpinned[run_id], *([deleted[run_id]] if run_id in deleted else [])]
        if all(each["ended"] < last for each in undone):
            if run_id not in present:
                yield run_id, "it was pinned and is gone"
            elif not present[run_id].pinned:
                yield run_id, "it was pinned and is not"


def _may_have_gone(row: Row, of_kind: dict[str, list[Row]], asked: Sequence[Row]) -> bool:
    """Whether a clear ended after the Run began, or retention may have come to it."""
    clears = [
        *(each for each in of_kind["clear"] if each["project"] == row["project"]),
        *of_kind["clear --all-projects"],
    ]
    later = sum(
        each["project"] == row["project"] and each["ended"] > row["started"] for each in asked
    )
    return any(each["ended"] > row["started"] for each in clears) or later >= RETAINED_RUNS


def _untrue_trace(store: HistoryStore, row: Row) -> Seen:
    try:
        detail = get_run(store, row["run"], project_id=row["project"])
    except MemcliError as error:
        yield row["run"], str(error)
        return
    returned = sorted(
        (each for each in detail.candidates if each.final_rank is not None),
        key=lambda each: each.final_rank or 0,
    )
    if [[each.unit_key, each.content_hash] for each in returned] != row["returned"]:
        yield detail.run.run_id, "its trace is not what was answered"
    counts = detail.run.counts
    if counts is None or counts.candidates != len(detail.candidates):
        yield detail.run.run_id, f"{len(detail.candidates)} candidates of {counts}"
    if not detail.corpus_is_complete:
        yield detail.run.run_id, "its corpus is not whole"


def lost_updates(store: HistoryStore, done: Sequence[Row]) -> Seen:
    """The versions of each Case are gapless, and the evidence is the last one's."""
    of_kind = _by(done, "kind")
    present = {case.case_id: case for case in list_cases(store, project_id=None)}
    deleted = {row["case"] for row in of_kind["case delete"]}
    created = _by(of_kind["case create"], "case")
    resolved = _by(of_kind["case resolve"], "case")
    if missing := created.keys() - deleted - present.keys():
        yield from ((case_id, "it was created and is gone") for case_id in missing)
    if kept := deleted & present.keys():
        yield from ((case_id, "it was deleted and is there") for case_id in kept)
    for case_id, creations in created.items():
        if sum(row["is_new"] for row in creations) != 1:
            yield case_id, f"{creations} say that they made it"
    for case_id, successes in resolved.items():
        versions = sorted(row["version"] for row in successes)
        if versions != list(range(2, len(versions) + 2)):
            yield case_id, f"its versions are {versions}"
    for case_id, case in present.items():
        successes = sorted(resolved[case_id], key=lambda row: int(row["version"]))
        if case.version != 1 + len(successes):
            yield case_id, f"version {case.version} after {len(successes)} resolutions"
        try:
            detail = get_case(store, case_id, project_id=None)
        except MemcliError as error:
            yield case_id, str(error)
            continue
        evidence = sorted(each.item.resource_id for each in detail.evidence)
        expected = successes[-1]["evidence"] if successes else []
        if evidence != expected:
            yield case_id, f"its evidence is {evidence}, not {expected}"
        if not detail.resources or not detail.candidates:
            yield case_id, "what it froze is not whole"


def unsound_indexes(base: Path) -> Seen:
    for project in PROJECTS:
        place = Shared(base, project)
        storage = IndexStorage(place.index)
        condition = inspect_index(storage, building=False)
        for problem in (*condition.faults, *condition.gaps, *condition.remarks):
            yield project, problem
        revisions, head = list_revisions(storage), head_info(storage).head
        heads = [each.revision_id for each in revisions if each.is_head]
        if heads != [head]:
            yield project, f"the head is {head}, and the heads are {heads}"
        for each in revisions:
            if each.status != "ready":
                yield project, f"{each.revision_id} is {each.status}: {each.error}"
        if holder := running_build(storage):
            yield project, f"the build lock is held by {holder}"
        with closing(sqlite3.connect(storage.database)) as index:
            for statement in ("PRAGMA integrity_check", "PRAGMA foreign_key_check"):
                answers = index.execute(statement).fetchall()
                if answers not in ([("ok",)], []):
                    yield project, f"{statement}: {answers}"
            try:
                index.execute(CHECK_FTS)
            except sqlite3.Error as error:
                yield project, f"the full-text table: {error}"
            index.rollback()
            if index.execute(FTS_ROWS).fetchall() != index.execute(UNIT_ROWS).fetchall():
                yield project, "the full-text table does not hold the head's rows"


def _leftovers(base: Path, store: HistoryStore, program: Program) -> Seen:
    """After a last build of each project and a last clear, nothing is there that nothing names."""
    for project in PROJECTS:
        Shared(base, project, program).must("index", "build")
        Shared(base, project, program).must("clear", "--yes")
    with store.reading() as connection:
        assert connection is not None
        named = {row[0] for row in connection.execute(NAMED)}
    stored = {path.name for path in store.blobs.blobs.glob("*/*")}
    for sha256 in stored - named:
        yield sha256, "no row names it"
    for sha256 in named - stored:
        yield sha256, "its file is missing"
    for path in base.rglob(".*.tmp*"):
        yield str(path.relative_to(base)), "a temporary file"
    for problem in inspect_store(store, thorough=True).problems:
        yield "local.db after a clear", problem


def _other_answers(base: Path, program: Program) -> Seen:
    """Each head answers as an index that is built of the same files elsewhere."""
    for project in PROJECTS:
        place = Shared(base, project, program)
        elsewhere = Shared(base / "elsewhere", project, program)
        shutil.copytree(place.root, elsewhere.root, ignore=shutil.ignore_patterns(".memcli"))
        elsewhere.must("index", "build")
        for query in QUERIES:
            here, there = _asked(place, query), _asked(elsewhere, query)
            if not _are_alike(here, there):
                yield f"{project}: {query}", f"{here} instead of {there}"


def _asked(place: Ground, query: str) -> tuple[str, dict[str, tuple[Any, float]]]:
    """The memory that answered, and by fragment what has to be the same and its relevance."""
    answer = answer_of(place.must("activate", query, "--no-record", "--json").document)
    return answer["effective_hash"], {
        it["unit_key"]: ((it["content_hash"], it["text"], it["ranks"]["bm25"]), it["final_score"])
        for it in answer["fragments"]
    }


def _are_alike(
    here: tuple[str, dict[str, tuple[Any, float]]], there: tuple[str, dict[str, tuple[Any, float]]]
) -> bool:
    """Vectors of another batch differ in their last digits: what is just above the floor may go."""
    (memory, mine), (other_memory, others) = here, there
    only_one = [(mine.get(key) or others[key])[1] for key in mine.keys() ^ others.keys()]
    same = all(mine[key][0] == others[key][0] for key in mine.keys() & others.keys())
    return memory == other_memory and same and all(score < ABOVE_FLOOR for score in only_one)


def _by(rows: Iterable[Row], name: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[str(row[name])].append(row)
    return found
