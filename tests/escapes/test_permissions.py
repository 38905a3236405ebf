"""What memcli creates anywhere is its owner's alone, whatever the umask (F33)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOUR = Path(__file__).with_name("mode_tour.py")
# The one file that is meant for others: clones share the project's settings.
SHARED = "project/memcli.toml"
SIDECARS = (
    "data/home/local.db-wal", "data/home/local.db-shm", "project/.memcli/search-index.sqlite-wal",
    "project/.memcli/search-index.sqlite-shm", "project/.memcli/token-vectors.sqlite-wal",
)  # fmt: skip
MADE = (
    "data", "data/home", "data/home/local.db", "data/home/local.db.lock",
    "data/home/evaluation-corpora/blobs.lock", "data/home/models/mine.gguf",
    "data/home/models/mxbai-embed-large-v1.gguf", "data/home/models/mxbai-embed-large-v1.gguf.part",
    "data/home/models/mxbai-embed-large-v1.gguf.part.json",
    "settings/config/config.toml", "settings/config/models/mine.toml",
    "project/.memcli", "project/.memcli/.gitignore", "project/.memcli/build.lock",
    "project/.memcli/search-index.sqlite", "project/.memcli.local/.gitignore",
    "project/state.json", "project/out/pages/r.html", "project/out/tables/r.csv",
    "project/out/rerun.csv", "project/out/json/fixture.json", "project/out/json/report.json",
    "project/out/trec/qrels.txt", "project/out/beir/corpus.jsonl",
    "plain/.memcli/project-id", "plain/.memcli/project-id.lock", "full/home/memcli.log",
)  # fmt: skip


@pytest.mark.parametrize("umask", ["000", "077", "777"])
def test_every_directory_is_0700_and_every_file_0600_at_every_moment(
    umask: str, tmp_path: Path
) -> None:
    """Under 777 a thing is nobody's at all for the instant before it is made its owner's."""
    done = subprocess.run(
        [sys.executable, str(TOUR), umask, str(tmp_path)], capture_output=True, timeout=300
    )
    assert done.returncode == 0, done.stderr.decode()
    seen: dict[str, list[int]] = json.loads(done.stdout)
    missing = [name for name in (*MADE, *SIDECARS) if name not in seen]
    assert missing == []
    assert any("local.db.backup-41-" in name for name in seen)
    assert sum(name.endswith(".tmp") for name in seen) > 30
    wrong = {
        name: [oct(mode) for mode in modes]
        for name, modes in seen.items()
        if name != SHARED
        and ".memcli.toml." not in name
        and any(mode & 0o177 and mode != 0o700 for mode in modes)
    }
    assert wrong == {}
    base = tmp_path / "base"
    for path in base.rglob("*"):
        name = str(path.relative_to(base))
        if name not in seen or name == SHARED:
            continue
        assert path.stat().st_mode & 0o7777 == (0o700 if path.is_dir() else 0o600), name


@pytest.mark.parametrize(
    ("umask", "mode"), [("000", 0o644), ("022", 0o644), ("077", 0o600), ("777", 0o600)]
)
def test_a_projects_settings_can_be_read_by_others_and_written_by_nobody_else(
    umask: str, mode: int, tmp_path: Path
) -> None:
    script = (
        "import os, sys; os.umask(int(sys.argv[1], 8)); from memcli.cli.main import main;"
        " sys.exit(main(sys.argv[2:]))"
    )
    env = {
        "MEMCLI_HOME": str(tmp_path / "home"), "MEMCLI_CONFIG": str(tmp_path / "config"),
        "HOME": str(tmp_path), "PATH": "/usr/bin:/bin",
    }  # fmt: skip
    for name, arguments in (
        ("made", ("init",)),
        ("chosen", ("models", "use", "late_interaction", "--in-project")),
    ):
        root = tmp_path / name
        root.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", script, umask, *arguments],
            cwd=root,
            env=env,
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr
        assert (root / "memcli.toml").stat().st_mode & 0o7777 == mode
