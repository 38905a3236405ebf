"""Links that a cloned project brings in ``.memcli`` lead nowhere (F23)."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from memcli.errors import MemcliError
from memcli.facade import Memcli, Surroundings


@pytest.mark.parametrize("name", ["search-index.sqlite", "token-vectors.sqlite", "build.lock"])
def test_a_link_in_place_of_one_of_our_files_is_refused_and_its_target_untouched(
    tmp_path: Path, homes: dict[str, str], name: str
) -> None:
    victim = tmp_path / "victim"
    with sqlite3.connect(victim) as connection:
        connection.execute("CREATE TABLE precious (x)")
    connection.close()
    before = victim.read_bytes()
    root = tmp_path / "project"
    (root / ".memcli").mkdir(parents=True)
    (root / "memcli.toml").touch()
    (root / "a.md").write_text("text\n")
    (root / ".memcli" / name).symlink_to(victim)
    with (
        Memcli.open(root, project=root, surroundings=Surroundings(environ=homes)) as memcli,
        pytest.raises(MemcliError) as caught,
    ):
        memcli.build_index()
    assert caught.value.code == "storage_unsafe"
    assert victim.read_bytes() == before
    assert not victim.with_name("victim-wal").exists()


@pytest.mark.parametrize("name", ["search-index.sqlite", "token-vectors.sqlite"])
def test_a_pipe_in_place_of_a_database_is_refused_rather_than_waited_for(
    tmp_path: Path, homes: dict[str, str], name: str
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "memcli.toml").touch()
    (root / "a.md").write_text("The wifi password is on the fridge.\n")
    with Memcli.open(root, project=root, surroundings=Surroundings(environ=homes)) as memcli:
        memcli.build_index()
        for path in (root / ".memcli").glob(f"{name}*"):
            path.unlink()
        os.mkfifo(root / ".memcli" / name)
        with pytest.raises(MemcliError) as caught:
            memcli.activate_memory("where is the wifi password")
    assert caught.value.code == "storage_unsafe"
