"""``memcli doctor``: what is broken is found and named with what mends it, and left as it is."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.project_support import validate
from cli.run_support import Bench, Printed
from filelock import FileLock
from tiny_gguf import write_tiny_bert

from memcli.facade.doctor_files import room
from memcli.index.storage import IndexStorage
from memcli.models.profile import BUNDLED_EMBEDDER

LAYOUT_41 = Path(__file__).parent.parent / "history" / "data" / "local-41.sql"


@pytest.fixture
def bench(tmp_path: Path, built_project: tuple[Path, dict[str, str]]) -> Bench:
    """A copy of the small indexed project, with one Run in its history."""
    bench = Bench(tmp_path)
    bench.root = tmp_path / "copy"
    shutil.copytree(built_project[0], bench.root)
    bench.record()
    return bench


def storage(bench: Bench) -> IndexStorage:
    return IndexStorage.of_project(bench.root)


def findings(printed: Printed, state: str) -> dict[str, dict[str, Any]]:
    return {
        f"{each['area']}/{each['check']}": each
        for each in printed.document["findings"]
        if each["state"] == state
    }


def broken(bench: Bench, *arguments: str, **more: Any) -> dict[str, dict[str, Any]]:
    """The broken findings; the status must say that there are any."""
    printed = bench.run("doctor", "--json", *arguments, **more)
    validate(printed.document)
    found = findings(printed, "broken")
    assert printed.status == (1 if found else 0)
    assert printed.document["healthy"] == (not found)
    assert all(each["repair"] for each in found.values())
    return found


def change(database: Path, *statements: str) -> None:
    with sqlite3.connect(database) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def everything(*directories: Path) -> dict[str, tuple[int, int, str]]:
    """Mode, time of change and content of every file and directory."""
    found = {}
    for directory in directories:
        for path in (directory, *directory.rglob("*")):
            status = path.lstat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            found[str(path)] = (status.st_mode, status.st_mtime_ns, content)
    return found


def test_a_sound_project_is_healthy_and_every_part_was_looked_at(bench: Bench) -> None:
    printed = bench.run("doctor", "--json")
    validate(printed.document)
    assert printed.status == 0, printed.out
    assert printed.document["counts"]["broken"] == 0
    assert not findings(printed, "warn")
    ok = findings(printed, "ok")
    assert set(ok) == {
        "program/memcli", "program/sqlite", "program/llama.cpp",
        "project/root", "project/configuration", "project/id",
        "index/integrity", "index/head", "index/build lock",
        "models/device", "models/bundled", "models/embedder", "models/reranker",
        "history/integrity",
        "files/rights of the central store", "files/room for the central store",
        "files/rights of the project", "files/room for the project",
    }  # fmt: skip
    assert sqlite3.sqlite_version in ok["program/sqlite"]["message"]
    assert "trigram" in ok["program/sqlite"]["message"]
    assert BUNDLED_EMBEDDER.sha256 in ok["models/embedder"]["message"]
    assert "cpu" in ok["models/device"]["message"]
    assert "layout 42" in ok["history/integrity"]["message"]
    assert "schema 7" in ok["index/integrity"]["message"]


def test_text_names_the_repair_below_each_fault(bench: Bench) -> None:
    storage(bench).database.write_bytes(b"no database at all, but long enough to be looked at" * 9)
    printed = bench.run("doctor", columns=100)
    assert printed.status == 1
    lines = printed.out.splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("  broken"))
    assert lines[at + 1].split() == ["repair:", "memcli", "index", "build"]
    assert "1 broken" in printed.err


@pytest.mark.parametrize("state", ["sound", "damaged", "old"])
def test_nothing_is_ever_modified(bench: Bench, state: str) -> None:
    home = bench.store.home
    if state == "damaged":
        storage(bench).database.write_bytes(storage(bench).database.read_bytes()[:9000])
        bench.store.path.write_bytes(bench.store.path.read_bytes()[:9000])
    if state == "old":
        bench.store.path.unlink()
        connection = sqlite3.connect(bench.store.path)
        connection.executescript(LAYOUT_41.read_text(encoding="utf-8"))
        connection.close()
        os.chmod(bench.store.path, 0o600)
    for leftover in (*home.glob("*-wal"), *home.glob("*-shm")):
        leftover.unlink()
    before = everything(bench.root, home)
    printed = bench.run("doctor", "--json")
    assert everything(bench.root, home) == before
    assert printed.status == (1 if state == "damaged" else 0)
    if state == "old":
        assert "layout 41" in findings(printed, "warn")["history/integrity"]["message"]


def _truncated(bench: Bench) -> None:
    database = storage(bench).database
    database.write_bytes(database.read_bytes()[: database.stat().st_size // 2])


def _without_units(bench: Bench) -> None:
    change(storage(bench).database, "DELETE FROM search_units WHERE ordinal = 1")


def _without_vectors(bench: Bench) -> None:
    change(storage(bench).database, "UPDATE search_units SET vector = NULL WHERE ordinal = 1")


def _without_full_text(bench: Bench) -> None:
    change(storage(bench).database, "DELETE FROM search_units_fts")


def _older(bench: Bench) -> None:
    change(storage(bench).database, "PRAGMA user_version = 6")


@pytest.mark.parametrize(
    "damage", [_truncated, _without_units, _without_vectors, _without_full_text, _older]
)
def test_a_damaged_index_is_found_and_the_command_that_is_named_repairs_it(
    bench: Bench, damage: Callable[[Bench], None]
) -> None:
    damage(bench)
    found = broken(bench)
    assert set(found) == {"index/integrity"}
    repair = shlex.split(found["index/integrity"]["repair"])
    assert repair[0] == "memcli"
    assert bench.run(*repair[1:]).status == 0
    assert not broken(bench), "the repair did not help"


def test_a_newer_index_asks_for_a_newer_memcli(bench: Bench) -> None:
    change(storage(bench).database, "PRAGMA user_version = 8")
    assert "--upgrade memcli" in broken(bench)["index/integrity"]["repair"]


def test_damaged_derived_files_and_the_rest_of_a_killed_build_are_warnings(bench: Bench) -> None:
    place = storage(bench)
    (vectors,) = place.directory.glob("vectors-*")
    vectors.write_bytes(vectors.read_bytes()[:-40] + b"x" * 40)
    (lexicon,) = place.directory.glob("lexicon-*")
    lexicon.write_bytes(lexicon.read_bytes()[:100])
    place.lock_holder.write_text('{"pid": 1, "host": "here", "started_at": "then"}')
    place.lock_holder.chmod(0o600)
    change(
        place.database,
        "INSERT INTO search_revisions (revision_id, status, effective_hash, recipe,"
        " recipe_hash, embedding_revision, dimension, resource_count, unit_count, token_count,"
        " created_at, kept, builder_pid, builder_host)"
        " VALUES ('half', 'building', '', '{}', '', '', 1, 0, 0, 0, '', 0, 1, 'here')",
    )
    printed = bench.run("doctor", "--json")
    assert printed.status == 0
    told = [each["message"] for each in printed.document["findings"] if each["state"] == "warn"]
    text = "\n".join(told)
    for named in (vectors.name, lexicon.name, "half", "killed"):
        assert named in text
    assert bench.run("index", "build").status == 0
    assert not findings(bench.run("doctor", "--json"), "warn")


def test_a_running_build_is_no_fault(bench: Bench) -> None:
    place = storage(bench)
    place.lock_holder.write_text('{"pid": 4711, "host": "here", "started_at": "now"}')
    place.lock_holder.chmod(0o600)
    with FileLock(place.lock):
        printed = bench.run("doctor", "--json")
    assert printed.status == 0
    assert "4711" in findings(printed, "ok")["index/build lock"]["message"]


def test_a_project_without_an_index_is_told_to_build_one(bench: Bench) -> None:
    shutil.rmtree(storage(bench).directory)
    printed = bench.run("doctor", "--json")
    assert printed.status == 0
    assert findings(printed, "warn")["index/integrity"]["repair"] == "memcli index build"
    assert not storage(bench).directory.exists()


def test_a_damaged_history_and_a_missing_body_are_broken(bench: Bench) -> None:
    body = next(path for path in (bench.store.blobs.blobs).glob("*/*") if path.is_file())
    body.unlink()
    found = broken(bench)
    assert str(body) in found["history/bodies"]["message"]
    assert "`memcli activate` writes back" in found["history/bodies"]["repair"]
    bench.store.path.write_bytes(b"SQLite format 3\0" + b"damage" * 500)
    assert "Nothing was overwritten" in broken(bench)["history/integrity"]["repair"]


def test_a_newer_history_asks_for_a_newer_memcli(bench: Bench) -> None:
    change(bench.store.path, "PRAGMA user_version = 43")
    assert "--upgrade memcli" in broken(bench)["history/integrity"]["repair"]


def test_files_that_others_may_read_are_broken_and_the_command_closes_them(bench: Bench) -> None:
    """F33."""
    storage(bench).database.chmod(0o644)
    bench.store.home.chmod(0o755)
    found = broken(bench)
    assert set(found) == {"files/rights of the central store", "files/rights of the project"}
    assert str(storage(bench).database) in found["files/rights of the project"]["message"]
    for each in found.values():
        subprocess.run(["sh", "-c", each["repair"]], check=True)
    assert not broken(bench)
    assert storage(bench).database.stat().st_mode & 0o777 == 0o600


def test_old_temporary_files_are_named_and_the_command_removes_them_alone(bench: Bench) -> None:
    bench.moment = bench.moment.fromtimestamp(time.time(), tz=bench.moment.tzinfo)
    old = storage(bench).directory / ".search-index.sqlite.0123456789ab.tmp"
    fresh = storage(bench).directory / ".seen-files.json.0123456789ab.tmp"
    for path in (old, fresh):
        path.touch(0o600)
    an_hour_ago = time.time() - 3600
    os.utime(old, (an_hour_ago, an_hour_ago))
    warning = findings(bench.run("doctor", "--json"), "warn")["files/leftovers in the project"]
    assert old.name in warning["message"]
    assert fresh.name not in warning["message"]
    subprocess.run(["sh", "-c", warning["repair"]], check=True)
    assert not old.exists()
    assert fresh.exists()


@pytest.mark.parametrize(
    ("free", "state"), [(20_000_000_000, "ok"), (600_000_000, "warn"), (1_000_000, "broken")]
)
def test_little_room_is_a_warning_and_none_is_broken(free: int, state: str) -> None:
    finding = room("project", Path("/x"), free)
    assert finding.state == state
    assert bool(finding.repair) == (state != "ok")


def test_a_broken_configuration_does_not_hide_the_rest(bench: Bench) -> None:
    (bench.root / "memcli.toml").write_text("threads = 1\n")
    printed = bench.run("doctor", "--json")
    assert printed.status == 1
    found = findings(printed, "broken")["project/configuration"]
    assert "unknown key threads" in found["message"]
    assert "models.threads" in found["repair"]
    ok = findings(printed, "ok")
    assert "program/sqlite" in ok
    assert "history/integrity" in ok


def test_a_required_gpu_that_is_not_there_is_broken(bench: Bench) -> None:
    """F27: never the CPU in silence."""
    from memcli.models.native_library import native

    if native().llama_supports_gpu_offload():
        pytest.skip("this llama.cpp has a GPU backend")
    found = broken(bench, env={"MEMCLI_GPU": "require"})
    assert set(found) == {"models/device"}
    assert "pip install" in found["models/device"]["repair"]


def test_models_that_do_not_serve_are_named_with_the_reason(bench: Bench, tmp_path: Path) -> None:
    """F14."""
    found = broken(bench, env={"MEMCLI_EMBEDDER": str(tmp_path / "gone.gguf")})
    assert "gone.gguf" in found["models/embedder"]["message"]
    found = broken(bench, env={"MEMCLI_RERANKER": str(BUNDLED_EMBEDDER.file)})
    assert BUNDLED_EMBEDDER.file.name in found["models/reranker"]["message"]
    reranker = write_tiny_bert(tmp_path / "tiny.gguf", seed=5)
    printed = bench.run("doctor", "--json", env={"MEMCLI_RERANKER": str(reranker)})
    assert "tiny, SHA-256" in findings(printed, "ok")["models/reranker"]["message"]


def test_a_profile_that_cannot_be_read_or_whose_file_is_gone_is_a_warning(
    bench: Bench, tmp_path: Path
) -> None:
    model = tmp_path / "copy.gguf"
    shutil.copyfile(BUNDLED_EMBEDDER.file, model)
    added = bench.run("models", "add", "mine", str(model))
    assert added.status == 0, added.err
    assert findings(bench.run("doctor", "--json"), "ok")["models/profile mine"]
    model.write_bytes(b"GGUF")
    (bench.base / "config/models/torn.toml").write_text("role = \n")
    (bench.base / "config/models/torn.toml").chmod(0o600)
    warnings = findings(bench.run("doctor", "--json"), "warn")
    assert warnings["models/profile mine"]["repair"] == "memcli models verify mine"
    assert "torn" in warnings["models/profile torn"]["message"]


def test_in_a_home_directory_there_is_no_project_and_nothing_is_broken(bench: Bench) -> None:
    printed = bench.run("doctor", "--json", cwd=bench.base)
    assert printed.status == 0
    assert findings(printed, "warn")["project/configuration"]["repair"]
    assert "history/integrity" in findings(printed, "ok")


def test_doctor_works_as_a_process_and_closes_its_pipe_quietly(
    built_project: tuple[Path, dict[str, str]], memcli: Callable[..., Any]
) -> None:
    done = memcli("doctor", "--json")
    assert done.err == ""
    validate(done.document)
    assert "llama" not in memcli("doctor", "-q").err
