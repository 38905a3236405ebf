"""Full disks and I/O errors at a few file changes; ``benchmarks/soak.py`` tries hundreds."""

from __future__ import annotations

import os
from pathlib import Path

from soaking.ground import QUERIES, Ground, answer_of
from soaking.promises import Prepared
from soaking.tally import Plan, Tally, printed
from soaking.write_faults import PROMISE, fail, fail_once

from memcli.locations import replacing, write_private


def test_an_operation_that_cannot_write_says_so_and_does_nothing_by_halves(
    prepared: Prepared, tmp_path: Path, name: str
) -> None:
    stage, it = prepared[name]
    tally = Tally(PROMISE, 2)
    fail(tally, Plan(tmp_path, 2, seed=6), stage, it, 2)
    assert tally.held, printed(tally, 0)


def test_a_full_disk_answers_from_the_head_all_the_same(prepared: Prepared) -> None:
    """SQLite can then not make the log's index, without which it reads no WAL database."""
    stage, _ = prepared["swap"]
    stage.set()
    ground = Ground(stage.ground.base)
    asked = ("activate", QUERIES[0], "--no-record", "--json")
    right = stage.ground.must(*asked).document
    for path in (*ground.index.glob("*.sqlite-*"), *ground.home.glob("local.db-*")):
        assert path.suffix.endswith("-shm") or not path.stat().st_size, "nothing is in a log"
        path.unlink()
    ended = ground.memcli(*asked, environ=stage.layer.environ("full", 1, [ground.base]))
    assert ended.status == 0, ended.err
    assert answer_of(ended.document) == answer_of(right)
    refused = {Path(call.path).name for call in stage.layer.calls() if call.struck}
    assert "search-index.sqlite-shm" in refused or "search-index.sqlite-wal" in refused


def test_a_store_that_cannot_be_migrated_on_a_full_disk_is_not_called_damaged(
    prepared: Prepared,
) -> None:
    """It once was, with the advice to move it aside and begin a new history."""
    stage, it = prepared["migration"]
    copying = [call for call in stage.calls if "/.local.db." in call.path and call.name == "pwrite"]
    tally = Tally(PROMISE, 1)
    fail_once(tally, stage, it, "full", copying[1].number)
    assert tally.held, printed(tally, 0)
    assert tally.outcomes == {"history_write_failed": 1}


def test_leftovers_of_dead_writers_go_and_those_of_live_ones_stay(tmp_path: Path) -> None:
    target = tmp_path / "fixture.json"
    dead = tmp_path / ".fixture.json.0123456789ab.tmp"
    of_others = [
        tmp_path / name
        for name in (".fixture.json.mine.tmp", ".other.json.0123456789ab.tmp", "fixture.json.tmp")
    ]
    for path in (dead, *of_others):
        path.write_bytes(b"half")
    os.mkfifo(tmp_path / ".fixture.json.ba9876543210.tmp")
    with replacing(target) as stream:
        stream.write(b"first")
        write_private(target, b"second")
        assert target.read_bytes() == b"second"
    assert target.read_bytes() == b"first"
    assert not dead.exists()
    assert all(path.exists() for path in of_others)
