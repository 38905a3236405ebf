"""Everything in the central store is for its owner alone, whatever the umask (F33)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Worker = Callable[..., "subprocess.Popen[str]"]


@pytest.mark.parametrize("umask", ["022", "000", "077"])
def test_files_are_0600_and_directories_0700_sidecars_included(
    tmp_path: Path, worker: Worker, umask: str
) -> None:
    home = tmp_path / "data" / "memcli"
    output, errors = worker("modes", home, umask).communicate(timeout=60)
    assert errors == ""
    modes: dict[str, int] = json.loads(output)
    assert {"local.db", "local.db-wal", "local.db-shm", "local.db.lock", "memcli.log"} <= set(modes)
    assert "evaluation-corpora/blobs.lock" in modes
    assert sum(name.startswith("evaluation-corpora/blobs/") for name in modes) >= 4
    for name, mode in modes.items():
        expected = 0o700 if (home / name).is_dir() else 0o600
        assert mode == expected, f"{name}: {mode:o}"
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
