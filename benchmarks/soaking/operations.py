"""The operations that are killed and that meet full disks, each with the ground it starts from."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from soaking.ground import QUERIES, Ground

LAYOUT_41 = Path(__file__).parents[2] / "tests" / "history" / "data" / "local-41.sql"
BODIES_OF_41 = (
    "# Mooring\n\nBerth three takes ships up to 80 m at night.\n",
    "# Tariff\n\nPrices are frozen while a snapshot loads.\n",
    "# Tariff\n\nPrices are frozen while a snapshot loads, and logged.\n",
    "# 靠泊\n\n夜间第三泊位可停靠八十米以下的船。\n",
)
CHANGED = (
    "# The queue\n\n## Retries\n\nA job is tried seven times, two minutes apart at first.\n\n"
    "## Dead letters\n\nWhat fails seven times waits in the dead letter queue for a person.\n"
)
ADDED = "# Backups\n\nEvery night at two the database is copied to another region.\n"
_THIS_PROJECT = """
INSERT INTO projects (project_id, root, name, created_at, last_seen)
VALUES ('ground', ?, 'project', '2025-11-05T09:00:00.000000Z', '2025-11-05T09:00:00.000000Z')
"""


@dataclass(frozen=True, slots=True)
class Command:
    """What is run, and the codes by which it may be refused when it is run once more."""

    arguments: tuple[str, ...]
    given: bytes = b""
    refused_again: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Operation:
    """``prepare`` makes a copied ground ready and names the command.

    ``in_steps``: it commits more than once to the history, so that a part of
    its work may be there without the rest. ``is_best_effort``: the history it
    writes may be missing where the answer says so.
    """

    name: str
    prepare: Callable[[Ground], Command]
    in_steps: bool = False
    is_best_effort: bool = False


def _change_notes(ground: Ground) -> None:
    (ground.root / "docs/queue.md").write_text(CHANGED, encoding="utf-8")
    (ground.root / "docs/backups.md").write_text(ADDED, encoding="utf-8")
    (ground.root / "docs/certificates.md").unlink()


def _build(ground: Ground) -> Command:
    _change_notes(ground)
    return Command(("index", "build", "--json"))


def _swap(ground: Ground) -> Command:
    first = ground.must("head", "show", "--json").document["revision"]["revision_id"]
    _change_notes(ground)
    ground.must("index", "build")
    return Command(("head", "swap", first, "--json"))


def _record(ground: Ground) -> Command:
    """Over notes that no Run has searched yet, so that bodies are written too."""
    _change_notes(ground)
    ground.must("index", "build")
    return Command(("activate", QUERIES[0], "--json"))


def _create(ground: Ground) -> Command:
    _change_notes(ground)
    ground.must("index", "build")
    run = ground.must("activate", QUERIES[1], "--json").document["run_id"]
    return Command(("case", "create", run, "--json"))


def _resolve(ground: Ground) -> Command:
    [draft] = _cases(ground, "draft")
    resolution = {
        "expected_version": draft["version"],
        "none_matched": False,
        "evidence": ["rank:1", "resource:docs/oncall.md"],
    }
    return Command(
        ("case", "resolve", draft["case_id"], "-", "--json"),
        orjson.dumps(resolution),
        frozenset({"evaluation_case_conflict"}),
    )


def _clear(ground: Ground) -> Command:
    """Runs to delete, bodies that go with them, and what dead processes left of others."""
    _change_notes(ground)
    ground.must("index", "build")
    for query in QUERIES[:2]:
        ground.must("activate", query)
    orphan = b"a body that no row names\n"
    name = hashlib.sha256(orphan).hexdigest()
    folder = ground.home / "evaluation-corpora" / "blobs" / name[:2]
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(orphan)
    (folder / f".{name}.0123456789ab.tmp").write_bytes(orphan[:7])
    return Command(("clear", "--yes", "--json"))


def _export(ground: Ground) -> Command:
    """Over an earlier export of one Case fewer."""
    resolve = _resolve(ground)
    ground.must(*resolve.arguments, given=resolve.given)
    return Command(("export", "--out", str(ground.exports), "--json"))


def _migrate(ground: Ground) -> Command:
    shutil.rmtree(ground.home)
    ground.home.mkdir(mode=0o700)
    with closing(sqlite3.connect(ground.home / "local.db")) as connection:
        connection.executescript(LAYOUT_41.read_text(encoding="utf-8"))
        connection.execute(_THIS_PROJECT, (str(ground.root),))
        connection.commit()
        connection.execute("PRAGMA journal_mode = WAL")
    for body in BODIES_OF_41:
        name = hashlib.sha256(body.encode()).hexdigest()
        file = ground.home / "evaluation-corpora" / "blobs" / name[:2] / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(body, encoding="utf-8")
    return Command(("runs", "list", "--all-projects", "--json"))


def _begin(ground: Ground) -> Command:
    """Nothing of memcli's is there yet: one command makes id, index, store and a Run."""
    for folder in (ground.index, ground.home, ground.exports):
        shutil.rmtree(folder)
    (ground.root / "memcli.toml").write_text("# a project without an id of its own\n")
    return Command(("activate", QUERIES[0], "--build", "--json"))


def _cases(ground: Ground, status: str) -> list[dict[str, Any]]:
    listed = ground.must("case", "list", "--status", status, "--json").document["cases"]
    return [dict(each) for each in listed]


OPERATIONS = (
    Operation("build", _build),
    Operation("swap", _swap),
    Operation("record", _record, is_best_effort=True),
    Operation("case create", _create),
    Operation("resolve", _resolve),
    Operation("clear", _clear),
    Operation("export", _export),
    Operation("migration", _migrate),
    Operation("first use", _begin, in_steps=True, is_best_effort=True),
)
