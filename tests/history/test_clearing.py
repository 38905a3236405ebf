"""``clear``, ``runs delete`` and ``forget`` take what is to go, all of it and nothing else."""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from history.factory import Corpus, numbered_corpus, sha256

from memcli.errors import Conflict, Failure, InvalidInput
from memcli.history.clearing import ClearSummary, clear_runs, delete_run, forget_project
from memcli.history.documents import clear_document
from memcli.history.inspection import inspect_store
from memcli.history.pinning import pin_run, unpin_run
from memcli.history.projects import CentralRegistry
from memcli.history.recording import RunRecorder
from memcli.history.runs import get_run, list_runs
from memcli.history.store import HistoryStore
from memcli.retrieval.activation import ActivationLimits

Record = Callable[..., str]
MakeCase = Callable[[str], str]
Worker = Callable[..., "subprocess.Popen[str]"]

SHARED = {"common": "in every corpus"}
UNPINNED = Corpus({**SHARED, "gone": "only in cleared runs"})
PINNED = Corpus({**SHARED, "kept": "in a pinned run"})
FROZEN = Corpus({**SHARED, "note-0": "in a case"})


def bodies(store: HistoryStore) -> set[str]:
    return {path.name for path in store.blobs.blobs.glob("*/*")}


def named(*corpora: Corpus) -> set[str]:
    return {one.body_sha256 for corpus in corpora for one in corpus.resources}


def require_whole(store: HistoryStore) -> None:
    """No Run and no Case misses a row or a body."""
    assert inspect_store(store, thorough=True).problems == ()
    for run in list_runs(store, project_id=None, status="succeeded"):
        detail = get_run(store, run.run_id, project_id=run.project_id)
        assert detail.corpus_is_complete
        for resource in detail.resources:
            store.blobs.read(resource.body_sha256)
    with closing(sqlite3.connect(store.path)) as connection:
        for (body,) in connection.execute("SELECT body_sha256 FROM evaluation_corpus_resources"):
            store.blobs.read(body)


@pytest.fixture
def mixed(store: HistoryStore, record: Record, make_case: MakeCase) -> HistoryStore:
    """Three plain Runs, one pinned, one with a Case, one at work, one of another project."""
    for _ in range(3):
        record(UNPINNED)
    pin_run(store, record(PINNED), project_id="harbor")
    make_case(record(FROZEN))
    with RunRecorder(store) as recorder:
        recorder.begin("harbor", "at work", None, ActivationLimits())
    record(numbered_corpus(2, "other"), project_id="qinghe")
    return store


def test_pinned_runs_survive_clear_with_everything_they_need(mixed: HistoryStore) -> None:
    summary = clear_runs(mixed, project_id="harbor")
    assert summary == ClearSummary("harbor", 3, 0, 1, len("only in cleared runs"), False, ())
    left = list_runs(mixed, project_id=None)
    assert [run.pinned for run in left] == [False, False, True, True]
    assert [run.status for run in left[:2]] == ["succeeded", "running"]
    assert bodies(mixed) == named(PINNED, FROZEN, numbered_corpus(2, "other"))
    require_whole(mixed)


def test_clear_of_all_projects_takes_the_other_one_too(mixed: HistoryStore) -> None:
    assert clear_runs(mixed, project_id=None).runs == 4
    assert bodies(mixed) == named(PINNED, FROZEN)
    assert clear_runs(mixed, project_id=None) == ClearSummary(None, 0, 0, 0, 0, False, ())


def test_a_dry_run_tells_exactly_what_a_clear_does_and_does_nothing(mixed: HistoryStore) -> None:
    before = (list_runs(mixed, project_id=None), bodies(mixed))
    told = clear_runs(mixed, project_id=None, dry_run=True)
    assert (list_runs(mixed, project_id=None), bodies(mixed)) == before
    done = clear_runs(mixed, project_id=None)
    assert (told.runs, told.blobs, told.bytes) == (done.runs, done.blobs, done.bytes)
    assert told.dry_run
    assert told.blobs > 0


def test_an_interrupted_run_is_cleared_as_an_ended_one(store: HistoryStore, worker: Worker) -> None:
    process = worker("begin-and-wait", store.home, "harbor")
    assert process.stdout is not None
    process.stdout.readline()
    assert clear_runs(store, project_id=None).runs == 0
    process.kill()
    process.wait()
    assert clear_runs(store, project_id=None).runs == 1


def test_clearing_nothing_makes_no_store(store: HistoryStore) -> None:
    assert clear_runs(store, project_id=None).runs == 0
    with pytest.raises(InvalidInput):
        forget_project(store, "harbor")
    with pytest.raises(Failure):
        delete_run(store, "last", project_id="harbor")
    assert not store.path.exists()


def test_leftovers_are_collected_and_files_of_others_are_left_alone(mixed: HistoryStore) -> None:
    clear_runs(mixed, project_id=None)
    place = mixed.blobs.path_of("ab" * 32)
    place.parent.mkdir(exist_ok=True)
    place.write_text("no row names this")
    half = place.with_name(f".{place.name}.0123456789ab.tmp")
    half.write_text("half a bo")
    foreign = place.with_name("notes.txt")
    foreign.write_text("somebody put this here")
    summary = clear_runs(mixed, project_id=None)
    assert (summary.runs, summary.blobs) == (0, 2)
    assert list(place.parent.iterdir()) == [foreign]


def test_a_deleted_run_takes_its_secret_along(store: HistoryStore, record: Record) -> None:
    secret = "hunter2-is-the-password"
    record(PINNED)
    run_id = record(Corpus({**SHARED, "leak": f"the key is {secret}"}), query=f"who is {secret}?")
    assert any(secret.encode() in path.read_bytes() for path in files_of(store))
    summary = delete_run(store, run_id[:6], project_id="harbor")
    assert (summary.runs, summary.blobs) == (1, 1)
    assert not any(secret.encode() in path.read_bytes() for path in files_of(store))
    require_whole(store)


def files_of(store: HistoryStore) -> list[Path]:
    return [path for path in store.home.rglob("*") if path.is_file()]


def test_the_source_of_a_case_is_neither_deleted_nor_unpinned(
    store: HistoryStore, record: Record, make_case: MakeCase
) -> None:
    run_id = record(FROZEN)
    case_id = make_case(run_id)
    for use in (delete_run, unpin_run):
        with pytest.raises(Conflict, match=case_id) as caught:
            use(store, run_id, project_id="harbor")
        assert caught.value.code == "evaluation_case_conflict"
    assert get_run(store, run_id, project_id="harbor").run.pinned


def test_a_live_run_is_not_deleted(store: HistoryStore) -> None:
    with RunRecorder(store) as recorder:
        run_id = recorder.begin("harbor", "at work", None, ActivationLimits())
        with pytest.raises(Conflict) as caught:
            delete_run(store, run_id, project_id="harbor")
    assert caught.value.code == "busy"


def test_an_unpinned_run_can_be_cleared_again(store: HistoryStore, record: Record) -> None:
    run_id = record(PINNED)
    assert pin_run(store, run_id[:5], project_id="harbor") == run_id
    assert clear_runs(store, project_id=None).runs == 0
    assert unpin_run(store, run_id, project_id="harbor") == run_id
    assert clear_runs(store, project_id=None).runs == 1


def test_forget_takes_a_project_with_all_its_history(mixed: HistoryStore) -> None:
    CentralRegistry(mixed).remember("harbor", "/srv/harbor")
    assert forget_project(mixed, "harbor", dry_run=True).runs == 6
    assert len(list_runs(mixed, project_id="harbor")) == 6
    summary = forget_project(mixed, "harbor")
    assert (summary.runs, summary.cases) == (6, 1)
    assert [run.project_id for run in list_runs(mixed, project_id=None)] == ["qinghe"]
    assert CentralRegistry(mixed).id_of_root("/srv/harbor") is None
    assert bodies(mixed) == named(numbered_corpus(2, "other"))
    report = inspect_store(mixed, thorough=True)
    assert (report.cases, report.projects, report.problems) == (0, 0, ())
    with pytest.raises(InvalidInput) as caught:
        forget_project(mixed, "harbor")
    assert caught.value.code == "project_not_found"


def test_a_backup_copy_that_may_hold_what_was_deleted_is_named(mixed: HistoryStore) -> None:
    (mixed.home / "local.db.backup-41-20260101T000000.000000Z").touch()
    document = clear_document(clear_runs(mixed, project_id=None))
    assert document["backups"] == ["local.db.backup-41-20260101T000000.000000Z"]
    assert document["runs"] == 4


def test_clear_and_recordings_at_once_never_lose_a_body(
    store: HistoryStore, worker: Worker
) -> None:
    processes = [worker("record-and-pin", store.home, "harbor", 14) for _ in range(3)]
    processes += [worker("clear", store.home, 25) for _ in range(2)]
    for process in processes:
        _, errors = process.communicate(timeout=180)
        assert (process.returncode, errors) == (0, "")
    require_whole(store)
    assert any(run.pinned for run in list_runs(store, project_id=None))
    clear_runs(store, project_id=None)
    require_whole(store)
    with closing(sqlite3.connect(store.path)) as connection:
        rows = {row[0] for row in connection.execute("SELECT sha256 FROM retrieval_corpus_blobs")}
    assert bodies(store) == rows


class DisturbedCorpus(Corpus):
    """Calls ``disturb`` when its last body is read: those before it are written by then."""

    def __init__(self, bodies: Mapping[str, str], disturb: Callable[[], None]) -> None:
        super().__init__(bodies)
        self.disturb = disturb

    def body(self, resource_id: str) -> str:
        if resource_id == self.resources[-1].resource_id:
            self.disturb()
        return super().body(resource_id)


def test_bodies_are_not_collected_between_their_writing_and_their_rows(
    store: HistoryStore, record: Record
) -> None:
    impatient = HistoryStore(store.home, store.now, lock_wait_seconds=0.05)
    written: list[int] = []

    def disturb() -> None:
        written.append(len(bodies(store)))
        collectors: list[Callable[[], object]] = [
            lambda: clear_runs(impatient, project_id=None),
            lambda: clear_runs(impatient, project_id=None, dry_run=True),
            lambda: delete_run(impatient, "last", project_id="harbor"),
        ]
        for collect in collectors:
            with pytest.raises(Conflict) as caught:
                collect()
            assert caught.value.code == "busy"

    record(DisturbedCorpus(numbered_corpus(70).bodies, disturb))
    assert written == [64]
    assert len(bodies(store)) == 70
    require_whole(store)


def copied(store: HistoryStore, home: Path) -> HistoryStore:
    shutil.copytree(store.home, home)
    return HistoryStore(home, store.now, store.lock_wait_seconds)


def points_of(worker: Worker, store: HistoryStore, home: Path, *command: object) -> int:
    name, *rest = command
    counted = worker(name, copied(store, home).home, *rest, env={"KILL_AT": "0"})
    return int(counted.communicate(timeout=60)[0].splitlines()[-1])


def test_a_clear_killed_at_any_moment_loses_nothing_that_is_needed(
    mixed: HistoryStore, worker: Worker, tmp_path: Path
) -> None:
    points = points_of(worker, mixed, tmp_path / "count", "clear")
    assert points > 20
    for point in random.Random(3).sample(range(1, points + 1), 12):
        store = copied(mixed, tmp_path / f"at-{point}")
        process = worker("clear", store.home, env={"KILL_AT": str(point)})
        process.communicate(timeout=60)
        assert process.returncode == -9, point
        require_whole(store)
        clear_runs(store, project_id=None)
        require_whole(store)
        assert bodies(store) == named(PINNED, FROZEN), point
        assert len(list_runs(store, project_id=None, status="succeeded")) == 2


def test_a_recording_killed_at_any_moment_leaves_a_whole_store(
    mixed: HistoryStore, worker: Worker, tmp_path: Path
) -> None:
    command = ("record", "harbor", 1, 4, "new")
    points = points_of(worker, mixed, tmp_path / "count", *command)
    assert points > 15
    for point in random.Random(8).sample(range(1, points + 1), 10):
        store = copied(mixed, tmp_path / f"at-{point}")
        name, *rest = command
        process = worker(name, store.home, *rest, env={"KILL_AT": str(point)})
        process.communicate(timeout=60)
        assert process.returncode == -9, point
        require_whole(store)
        codes = {run.error.code for run in list_runs(store, project_id=None) if run.error}
        assert codes <= {"retrieval_interrupted"}
        clear_runs(store, project_id=None)
        require_whole(store)
        assert bodies(store) == named(PINNED, FROZEN), point


def test_a_body_left_over_without_a_row_is_written_anew_and_so_mended(
    store: HistoryStore, record: Record
) -> None:
    record(PINNED)
    broken = store.blobs.path_of(sha256("only in cleared runs"))
    broken.parent.mkdir(exist_ok=True)
    broken.write_text("x")
    record(UNPINNED)
    require_whole(store)
