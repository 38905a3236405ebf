"""Real processes on one store and one index: none dies, none blocks, nothing readable by others."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import orjson
import pytest

from memcli.history.inspection import inspect_store
from memcli.history.store import HistoryStore
from memcli.index.locking import running_build
from memcli.index.storage import IndexStorage

QUERY = "how do I roll back a bad deploy?"
WORST = ("Traceback", "database is locked", "internal_error")
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
# Where a test waits for something, it gives up after this long; nothing is expected to be fast.
PATIENCE_SECONDS = 120.0

Built = tuple[Path, dict[str, str]]


class Shop:
    """A copy of the small indexed project with a store of its own."""

    def __init__(self, built: Built, base: Path) -> None:
        self.root = base / "copy"
        shutil.copytree(built[0], self.root)
        self.home = base / "central"
        self.env = {**built[1], "MEMCLI_HOME": str(self.home), "HOME": str(base)}
        # One thread each: two dozen processes share two cores here.
        self.env["MEMCLI_THREADS"] = "1"
        self.started: list[subprocess.Popen[bytes]] = []

    @property
    def store(self) -> HistoryStore:
        return HistoryStore(self.home, lambda: datetime.now(timezone.utc))

    def start(
        self,
        *words: str,
        env: Mapping[str, str] | None = None,
        prepare: Callable[[], None] | None = None,
        umask: int = -1,
        program: Sequence[str] = ("-m", "memcli"),
    ) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, *program, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.root,
            env={**self.env, **(env or {})},
            preexec_fn=prepare,
            umask=umask,
        )
        self.started.append(process)
        return process

    def run(self, *words: str, **more: Any) -> tuple[int, str, str]:
        return finished(self.start(*words, **more))

    def runs(self) -> list[dict[str, Any]]:
        status, out, err = self.run("runs", "list", "--json")
        assert status == 0, err
        found: list[dict[str, Any]] = orjson.loads(out)["runs"]
        return found


def finished(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, out.decode(), err.decode()


def all_succeeded(processes: Sequence[subprocess.Popen[bytes]]) -> list[str]:
    """What each printed; none failed, none complained."""
    printed = []
    for process in processes:
        status, out, err = finished(process)
        assert status == 0, err
        assert "warning:" not in err
        for word in WORST:
            assert word not in out + err
        printed.append(out)
    return printed


@pytest.fixture
def shop(built_project: Built, tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(built_project, tmp_path)
    yield shop
    for process in shop.started:
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def wait_until(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


# Many at once


def test_answers_status_and_lists_go_on_while_many_notes_are_indexed(shop: Shop) -> None:
    """F1."""
    for number in range(60):
        note = shop.root / f"notes/{number}.md"
        note.parent.mkdir(exist_ok=True)
        note.write_text(f"# Note {number}\n\nThe crane number {number} is painted on Mondays.\n")
    build = shop.start("index", "build")
    storage = IndexStorage(shop.root / ".memcli")
    wait_until(lambda: running_build(storage) is not None or build.poll() is not None)
    answers = []
    for _ in range(2):
        wave = [shop.start("activate", QUERY, "--json") for _ in range(4)]
        others = [shop.start(*words) for words in (("status",), ("runs", "list")) for _ in range(4)]
        answers += all_succeeded(wave)
        all_succeeded(others)
    all_succeeded([build])
    documents = [orjson.loads(answer) for answer in answers]
    assert {document["fragments"][0]["path"] for document in documents} == {"docs/rollback.md"}
    assert {document["run_id"] for document in documents} == {run["run_id"] for run in shop.runs()}
    after = orjson.loads(all_succeeded([shop.start("activate", QUERY, "--json")])[0])
    assert after["notices"] == []


def test_forty_parallel_activations_of_an_idle_index_all_succeed(shop: Shop) -> None:
    """F2."""

    def activate(_: int) -> str:
        return all_succeeded([shop.start("activate", QUERY, "--json")])[0]

    # Twenty at a time: forty would each have to share two cores beyond the deadline of a minute.
    with ThreadPoolExecutor(20) as pool:
        documents = [orjson.loads(out) for out in pool.map(activate, range(40))]
    assert len({document["run_id"] for document in documents} - {None}) == 40
    first, *others = [document["fragments"] for document in documents]
    assert all(fragments == first for fragments in others)
    runs = shop.runs()
    assert len(runs) == 40
    assert {run["status"] for run in runs} == {"succeeded"}


@pytest.mark.parametrize("indexed", [True, False])
def test_eight_parallel_activations_and_builds_on_a_brand_new_store_all_succeed(
    shop: Shop, indexed: bool
) -> None:
    """F1, F3: nobody dies of another's first steps, and all agree on one project."""
    (shop.root / "memcli.toml").write_text("")  # the id is settled by these very processes
    if not indexed:
        shutil.rmtree(shop.root / ".memcli")
    more = () if indexed else ("--build",)
    processes = []
    for _ in range(4):
        processes.append(shop.start("activate", QUERY, "--json", *more))
        processes.append(shop.start("index", "build", "--json"))
    documents = [orjson.loads(out) for out in all_succeeded(processes)]
    answers = [each for each in documents if "fragments" in each]
    assert len({each["project_id"] for each in answers}) == 1
    assert {each["run_id"] for each in answers} == {run["run_id"] for run in shop.runs()}
    assert len(shop.runs()) == 4
    assert inspect_store(shop.store, thorough=True).problems == ()
    assert len({each["effective_hash"] for each in documents}) == 1


def test_clears_and_activations_at_once_leave_no_run_without_its_bodies(shop: Shop) -> None:
    all_succeeded([shop.start("activate", QUERY) for _ in range(2)])
    processes = []
    for _ in range(3):
        processes.append(shop.start("activate", QUERY, "--json"))
        processes.append(shop.start("clear", "--yes"))
    all_succeeded(processes)
    assert inspect_store(shop.store, thorough=True).problems == ()
    for run in shop.runs():
        status, out, err = shop.run("runs", "show", run["run_id"], "--candidate", "1", "--json")
        assert status == 0, err
        assert orjson.loads(out)["text"]


TRACED = """
import json, sqlite3, sys
statements = []
connect = sqlite3.connect
def traced(*arguments, **options):
    connection = connect(*arguments, **options)
    connection.set_trace_callback(statements.append)
    return connection
sqlite3.connect = traced
from memcli.cli.main import main
status = main(sys.argv[2:])
with open(sys.argv[1], "w") as stream:
    json.dump(statements, stream)
sys.exit(status)
"""


@pytest.mark.parametrize(
    "words",
    [("activate", QUERY), ("status",), ("runs", "list"), ("runs", "show"), ("index", "list")],
)
def test_commands_that_read_run_no_ddl(shop: Shop, tmp_path: Path, words: tuple[str, ...]) -> None:
    """F2."""
    assert shop.run("activate", QUERY)[0] == 0
    trace = tmp_path / "trace.json"
    status, _, err = shop.run(str(trace), *words, program=("-c", TRACED))
    assert status == 0, err
    statements = [statement.split()[0].upper() for statement in json.loads(trace.read_text())]
    assert "SELECT" in statements
    assert not {"CREATE", "DROP", "ALTER", "VACUUM", "REINDEX"} & set(statements)
    if words[0] != "activate":
        assert not {"INSERT", "UPDATE", "DELETE", "REPLACE"} & set(statements)


# Who may read


def modes_below(*places: Path) -> dict[str, str]:
    """Everything that is open to others, with its mode."""
    found = {}
    for place in places:
        for path in (place, *place.rglob("*")):
            try:
                mode = stat.S_IMODE(path.lstat().st_mode)
            except FileNotFoundError:
                continue
            if mode != (0o700 if path.is_dir() else 0o600):
                found[str(path)] = oct(mode)
    return found


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_every_file_is_its_owners_alone_whatever_the_umask(shop: Shop, umask: int) -> None:
    """F33: sidecars, locks, temporary files, bodies, logs and states too."""
    places = shop.root / ".memcli", shop.home
    shutil.rmtree(places[0])
    state = shop.home.parent / "state.json"
    for words in (
        ("index", "build"),
        ("activate", QUERY, "--state-out", str(state)),
        ("runs", "pin", "last"),
        ("clear", "--yes"),
    ):
        process = shop.start(*words, umask=umask)
        while process.poll() is None:
            assert modes_below(*(place for place in places if place.exists())) == {}
            time.sleep(0.005)
        all_succeeded([process])
        assert modes_below(*places) == {}
    names = {path.name for place in places for path in place.rglob("*")}
    assert {"search-index.sqlite", "build.lock", ".gitignore", "local.db", "blobs"} <= names
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    for sidecar in shop.home.glob("local.db-*"):
        sidecar.unlink()
    (shop.home / "local.db").write_bytes(b"broken")
    assert shop.run("activate", QUERY, umask=umask)[0] == 0
    assert (shop.home / "memcli.log").exists()
    assert modes_below(*places) == {}


# History that cannot be written


def as_ordinary_user() -> None:
    """Root ignores permissions; without this capability it does not. Others never had it."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def with_small_files() -> None:
    """Nothing may grow beyond what the store's shared memory takes: a full disk, in effect."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (33_000, 33_000))


def read_only_file(home: Path) -> None:
    (home / "local.db").chmod(0o400)


def read_only_directory(home: Path) -> None:
    read_only_file(home)
    home.chmod(0o500)


def corrupt(home: Path) -> None:
    for sidecar in home.glob("local.db-*"):
        sidecar.unlink()
    data = bytearray((home / "local.db").read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    (home / "local.db").write_bytes(data)


def truncated(home: Path) -> None:
    for sidecar in home.glob("local.db-*"):
        sidecar.unlink()
    with (home / "local.db").open("r+b") as stream:
        stream.truncate(5000)


def untouched(home: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("break_it", "prepare", "is_logged"),
    [
        (read_only_file, as_ordinary_user, True),
        (read_only_directory, as_ordinary_user, False),
        (untouched, with_small_files, True),
        (corrupt, None, True),
        (truncated, None, True),
    ],
    ids=["read-only-file", "read-only-directory", "full", "corrupt", "truncated"],
)
def test_history_that_cannot_be_written_changes_no_answer_and_warns_once(
    shop: Shop,
    break_it: Callable[[Path], None],
    prepare: Callable[[], None] | None,
    is_logged: bool,
) -> None:
    before = answered(shop.run("activate", QUERY, "--json"))
    assert before["run_id"]
    with closing(sqlite3.connect(shop.home / "local.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    break_it(shop.home)
    stored = (shop.home / "local.db").read_bytes()
    try:
        done = shop.run("activate", QUERY, "--json", prepare=prepare)
    finally:
        shop.home.chmod(0o700)
    assert_warned_once(shop, done, before, is_logged)
    if prepare is None:
        assert (shop.home / "local.db").read_bytes() == stored


def test_history_that_another_process_holds_locked_changes_no_answer_and_warns_once(
    shop: Shop,
) -> None:
    before = answered(shop.run("activate", QUERY, "--json"))
    with closing(sqlite3.connect(shop.home / "local.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        done = shop.run("activate", QUERY, "--json")
    assert_warned_once(shop, done, before, is_logged=True)
    assert len(shop.runs()) == 1


def answered(done: tuple[int, str, str]) -> dict[str, Any]:
    status, out, err = done
    assert status == 0, err
    document: dict[str, Any] = orjson.loads(out)
    return document


def assert_warned_once(
    shop: Shop, done: tuple[int, str, str], before: dict[str, Any], is_logged: bool
) -> None:
    after = answered(done)
    assert after["run_id"] is None
    changing = ("run_id", "timings_us")
    assert {name: value for name, value in after.items() if name not in changing} == {
        name: value for name, value in before.items() if name not in changing
    }
    warnings = [line for line in done[2].splitlines() if not line.startswith("note:")]
    assert len(warnings) == 1, warnings
    assert warnings[0].startswith("warning: this answer was not recorded")
    log = shop.home / "memcli.log"
    lines = log.read_text().splitlines() if log.exists() else []
    assert len(lines) == (1 if is_logged else 0), lines
    assert all("history_write_failed" in line for line in lines)


# Processes that end before their answer


@contextmanager
def held_activation(shop: Shop) -> Iterator[subprocess.Popen[bytes]]:
    """An activation that waits for its reranker for ever: a pipe that nobody writes to."""
    fifo = shop.home.parent / "endless.gguf"
    os.mkfifo(fifo)
    process = shop.start("activate", QUERY, "--reranker", str(fifo))
    ends: list[int] = []

    def is_read() -> bool:
        assert process.poll() is None, process.communicate()
        with suppress(OSError):  # ENXIO: nobody has opened it to read yet.
            ends.append(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        return bool(ends)

    wait_until(is_read)
    yield process
    os.close(ends[0])


def test_interrupt_ends_with_130_and_the_run_is_recorded_as_interrupted(shop: Shop) -> None:
    with held_activation(shop) as process:
        while process.poll() is None:
            # One that arrives just before a read begins to wait is only seen when it ends:
            # whoever sits there presses again.
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
        status, out, err = finished(process)
    assert (status, out) == (130, "")
    assert "Traceback" not in err
    (run,) = shop.runs()
    assert run["status"] == "failed"
    assert run["error"]["code"] == "retrieval_interrupted"
    assert run["error"]["stage"] == "load"
    assert run["completed_at"] is not None


def test_killed_activation_is_shown_at_once_as_failed_and_a_live_one_never(shop: Shop) -> None:
    with held_activation(shop) as process:
        assert shop.runs()[0]["status"] == "running"
        assert shop.run("clear", "--yes")[0] == 0
        assert shop.runs()[0]["status"] == "running"
        process.kill()
        process.wait()
    (run,) = shop.runs()
    assert run["status"] == "failed"
    assert run["error"]["code"] == "retrieval_interrupted"
    assert run["error"]["summary"]
    # The next writer stores what readers showed.
    assert shop.run("activate", QUERY)[0] == 0
    with closing(sqlite3.connect(shop.home / "local.db")) as connection:
        stored = connection.execute("SELECT status, error_code FROM retrieval_runs").fetchall()
    assert sorted(stored, key=str) == [("failed", "retrieval_interrupted"), ("succeeded", None)]


def test_no_record_leaves_nothing_of_the_query_or_the_notes(shop: Shop) -> None:
    answer = answered(shop.run("activate", QUERY, "--no-record", "--json"))
    assert answer["run_id"] is None
    assert answer["fragments"]
    assert shop.runs() == []
    kept = [path for path in shop.home.rglob("*") if path.is_file()]
    assert not [path for path in kept if b"roll" in path.read_bytes()]
    assert not list(shop.home.glob("evaluation-corpora/blobs/*/*"))
    assert answered(shop.run("activate", QUERY, "--json"))["run_id"]
