"""Builds and readers in processes of their own: one writer, everybody else undisturbed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import orjson
import pytest
from index_support import build, notes, outcome, run_process, start_build

from memcli.errors import Conflict, NotReady
from memcli.index.locking import running_build
from memcli.index.reader import open_head
from memcli.index.storage import IndexStorage
from memcli.index.swap import swap_head


def wait_until_embedding(process: object) -> None:
    stdout = getattr(process, "stdout", None)
    assert stdout is not None
    assert stdout.readline() == "embedded\n"


def test_the_old_head_answers_throughout_a_build(storage: IndexStorage) -> None:
    first = build(storage, notes(60))
    reader = run_process("read", {"directory": str(storage.directory), "for_seconds": 4})
    second = outcome(start_build(storage, notes(60, seed=5), seconds=0.02))
    seen = outcome(reader)
    assert seen["times"] > 10
    # The new head appears once and for good, if it was ready in time; nothing else ever does.
    assert seen["seen"] in ([first.revision_id], [first.revision_id, second["revision"]])


def test_a_second_build_waits_for_the_first(storage: IndexStorage) -> None:
    first = start_build(storage, notes(40), seconds=0.03)
    wait_until_embedding(first)
    second = start_build(storage, notes(40))
    made, found = outcome(first), outcome(second)
    assert made["created"]
    assert not found["created"]
    assert found["revision"] == made["revision"]
    assert found["embedded"] == 0


def test_a_build_that_will_not_wait_says_who_holds_the_lock(storage: IndexStorage) -> None:
    first = start_build(storage, notes(40), seconds=0.05)
    wait_until_embedding(first)
    with pytest.raises(Conflict) as caught:
        build(storage, notes(40), wait=False)
    assert caught.value.code == "busy"
    assert str(first.pid) in caught.value.message
    assert outcome(first)["created"]
    assert not build(storage, notes(40), wait=False).created


def test_before_the_first_head_a_running_build_is_index_preparing(storage: IndexStorage) -> None:
    first = start_build(storage, notes(40), seconds=0.05)
    wait_until_embedding(first)
    holder = running_build(storage)
    assert holder is not None
    assert holder.pid == first.pid
    with pytest.raises(NotReady) as caught, open_head(storage):
        pass
    assert caught.value.code == "index_preparing"
    assert outcome(first)["created"]
    assert running_build(storage) is None
    with open_head(storage) as reader:
        assert reader.unit_count == 40


def test_a_dead_builders_lock_and_a_recycled_process_id_stop_nobody(
    storage: IndexStorage,
) -> None:
    first = start_build(storage, notes(40), seconds=0.05)
    wait_until_embedding(first)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    # The holder's file still stands; let it name a process that lives and is none of ours.
    storage.lock_holder.write_bytes(
        orjson.dumps({"pid": os.getppid(), "host": "here", "started_at": "long ago"})
    )
    assert running_build(storage) is None
    with pytest.raises(NotReady) as caught, open_head(storage):
        pass
    assert caught.value.code == "index_not_ready"
    assert build(storage, notes(40), wait=False).created


def test_the_head_can_be_swapped_while_a_build_runs(storage: IndexStorage) -> None:
    first = build(storage, notes(30))
    build(storage, notes(30, seed=1))
    running = start_build(storage, notes(30, seed=2), seconds=0.05)
    wait_until_embedding(running)
    from datetime import datetime, timezone

    swap_head(storage, None, True, lambda: datetime.now(timezone.utc))
    with open_head(storage) as reader:
        assert reader.revision.revision_id == first.revision_id
    made = outcome(running)
    with open_head(storage) as reader:
        assert reader.revision.revision_id == made["head"] == made["revision"]
        assert len(reader.fts_bm25('"note"', 100)) == 30


def test_eight_first_builds_and_their_readers_never_meet_a_locked_database(
    storage: IndexStorage,
) -> None:
    builds = [start_build(storage, notes(20)) for _ in range(8)]
    readers = [
        run_process("read", {"directory": str(storage.directory), "for_seconds": 3})
        for _ in range(3)
    ]
    made = [outcome(process) for process in builds]
    assert sum(it["created"] for it in made) == 1
    assert {it["revision"] for it in made} == {made[0]["revision"]}
    for process in readers:
        seen = outcome(process)["seen"]
        assert set(seen) <= {"index_not_ready", "index_preparing", made[0]["revision"]}


def test_eight_first_builds_of_unlike_memories_all_succeed(storage: IndexStorage) -> None:
    made = [outcome(it) for it in [start_build(storage, notes(5, seed=n)) for n in range(8)]]
    assert all(it["created"] and it["units"] == 5 for it in made)
    with open_head(storage) as reader:
        assert reader.revision.revision_id in {it["revision"] for it in made}


def test_forty_parallel_readers_all_get_an_answer(storage: IndexStorage) -> None:
    summary = build(storage, notes(40))
    readers = [
        run_process("read", {"directory": str(storage.directory), "for_seconds": 0})
        for _ in range(40)
    ]
    for process in readers:
        assert outcome(process)["seen"] == [summary.revision_id]


def test_a_holder_that_has_not_said_who_it_is_is_another_process(tmp_path: Path) -> None:
    storage = IndexStorage(tmp_path)
    first = start_build(storage, notes(40), seconds=0.05)
    wait_until_embedding(first)
    storage.lock_holder.write_bytes(b"{not json")
    holder = running_build(storage)
    assert holder is not None
    assert str(holder) == "another process"
    first.kill()
    first.communicate()
