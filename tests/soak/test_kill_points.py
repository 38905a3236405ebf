"""SIGKILL at a few file changes of each operation; ``benchmarks/soak.py`` tries hundreds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from soaking.fault_layer import FaultLayer, compiled, why_unavailable
from soaking.kill_points import PROMISE, kill, kill_once
from soaking.promises import Prepared
from soaking.tally import Plan, Tally, printed

# An operation that loads a model takes a second, the others a third of one.
LOADING = ("build", "record")


def test_an_operation_killed_at_any_moment_is_whole_or_not_at_all(
    prepared: Prepared, tmp_path: Path, name: str
) -> None:
    stage, it = prepared[name]
    count = 2 if name in LOADING else 3
    tally = Tally(PROMISE, count)
    kill(tally, Plan(tmp_path, count, seed=6), stage, it, count)
    assert tally.held, printed(tally, 0)
    assert tally.outcomes["killed"] == count


@pytest.mark.parametrize(
    ("name", "file"), [("export", "fixture.json"), ("migration", "local.db.backup-41-")]
)
def test_what_a_death_beside_one_file_leaves_goes_with_the_next_run(
    prepared: Prepared, name: str, file: str
) -> None:
    """Each of these once stayed for ever: half an export, and a second backup."""
    stage, it = prepared[name]
    at = [call.number for call in stage.calls if file in call.path][-1]
    tally = Tally(PROMISE, 1)
    kill_once(tally, stage, it, "kill-after", at)
    assert tally.held, printed(tally, 0)


CREATE_STORAGE = """
import sys
from pathlib import Path
from memcli.memory.project import create_storage
create_storage(Path(sys.argv[1]))
"""


def test_an_index_whose_making_was_killed_still_hides_from_git(
    layer: FaultLayer, tmp_path: Path
) -> None:
    """An empty ``.gitignore`` once stayed as it was."""

    def create(root: Path, mode: str, at: int) -> int:
        command = [sys.executable, "-c", CREATE_STORAGE, str(root)]
        return subprocess.run(command, env=layer.environ(mode, at, [root])).returncode

    root = tmp_path / "project"
    root.mkdir()
    assert create(root, "count", 0) == 0
    hidden = (root / ".memcli" / ".gitignore").read_bytes()
    assert hidden
    for call in layer.calls():
        root = tmp_path / f"project killed at {call.number}"
        root.mkdir()
        assert create(root, "kill-torn", call.number) == -9
        assert create(root, "count", 0) == 0
        files = {path.name: path.read_bytes() for path in (root / ".memcli").iterdir()}
        assert files == {".gitignore": hidden}, call


SCRIPT = """
import os, sys
for name in ("one", "two"):
    descriptor = os.open(name, os.O_CREAT | os.O_WRONLY, 0o600)
    print(os.write(descriptor, b"0123456789"), flush=True)
    os.fsync(descriptor)
    os.close(descriptor)
os.rename("one", "three")
"""


@pytest.fixture
def layer(tmp_path: Path) -> FaultLayer:
    if reason := why_unavailable():
        pytest.skip(reason)
    return compiled(tmp_path)


def under(layer: FaultLayer, folder: Path, mode: str, at: int) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    return subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=layer.environ(mode, at, [folder]),
        cwd=folder,
        capture_output=True,
        text=True,
    )


def test_the_layer_numbers_changes_of_watched_files_alone(
    layer: FaultLayer, tmp_path: Path
) -> None:
    done = under(layer, tmp_path / "watched", "count", 0)
    assert (done.returncode, done.stdout.split()) == (0, ["10", "10"])
    names = ["create", "write", "fsync", "create", "write", "fsync", "rename"]
    assert [call.name for call in layer.calls()] == names
    assert [call.number for call in layer.calls()] == list(range(1, 8))
    assert not any(call.struck for call in layer.calls())


@pytest.mark.parametrize(
    ("mode", "at", "status", "said", "left"),
    [
        ("kill-before", 2, -9, [], {"one": b""}),
        ("kill-after", 2, -9, [], {"one": b"0123456789"}),
        ("kill-torn", 2, -9, [], {"one": b"01234"}),
        ("kill-after", 7, -9, ["10", "10"], {"three": b"0123456789", "two": b"0123456789"}),
        ("full", 2, 1, [], {"one": b""}),
        ("full-once", 4, 1, ["10"], {"one": b"0123456789"}),
        ("short", 2, 1, ["5"], {"one": b"01234"}),
        ("full", 7, 0, ["10", "10"], {"three": b"0123456789", "two": b"0123456789"}),
        ("error", 7, 1, ["10", "10"], {"one": b"0123456789", "two": b"0123456789"}),
        ("error-once", 3, 1, ["10"], {"one": b"0123456789"}),
    ],
)
def test_the_layer_strikes_where_it_is_told(
    layer: FaultLayer,
    tmp_path: Path,
    mode: str,
    at: int,
    status: int,
    said: list[str],
    left: dict[str, bytes],
) -> None:
    folder = tmp_path / "watched"
    done = under(layer, folder, mode, at)
    assert (done.returncode, done.stdout.split()) == (status, said)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == left
    reason = {"error": "Errno 5", "error-once": "Errno 5"}.get(mode, "Errno 28")
    assert status != 1 or reason in done.stderr
