"""The grounds that are damaged: files of every kind, their pristine answers, older versions."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soaking.ground import NOTES, Ground, make_ground
from soaking.questions import Ids, answered, questions_of
from soaking.warm_program import WarmProgram

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

LATER_NOTE = "\n## Purging\n\nA purge of the queue needs two people and a written reason.\n"
BUNDLED = "memcli-embed-e5-small-q4_0.gguf"
EMBEDDER, RERANKER = "models/mine.gguf", "models/judge.gguf"


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of file: its share of the trials, where it lies, which questions read it."""

    name: str
    share: int
    kind: str
    files: Callable[[Ground], list[Path]]
    stage: str = "plain"
    is_rebuilt: bool = False
    """Whether a reader computes again what is damaged, in other batches than the build did."""


def _in_index(*patterns: str) -> Callable[[Ground], list[Path]]:
    return lambda ground: [
        path for pattern in patterns for path in sorted(ground.index.glob(pattern))
    ]


def _profiles(ground: Ground) -> list[Path]:
    return sorted((ground.base / "config" / "models").glob("*.toml"))


def _bodies(ground: Ground) -> list[Path]:
    return sorted(ground.home.glob("evaluation-corpora/blobs/*/*"))


TARGETS: Sequence[Target] = (
    Target("index", 130, "index", _in_index("search-index.sqlite")),
    Target("vectors", 20, "index", _in_index("vectors-*")),
    Target("lexicon", 25, "index", _in_index("lexicon-*")),
    Target("token vectors", 20, "index", _in_index("token-vectors.sqlite"), is_rebuilt=True),
    Target("seen files", 10, "index", _in_index("seen-files.json")),
    Target("project id", 15, "project", _in_index("project-id")),
    Target("history", 150, "store", lambda ground: [ground.home / "local.db"]),
    Target("journal", 15, "store", lambda ground: [ground.home / "local.db-wal"], "journal"),
    Target("bodies", 30, "blobs", _bodies),
    Target("fixture", 35, "fixture", lambda ground: [ground.exports / "fixture.json"]),
    Target("embedder", 20, "models", lambda ground: [ground.base / EMBEDDER], "models"),
    Target("reranker", 20, "models", lambda ground: [ground.base / RERANKER], "models"),
    Target("profile", 10, "models", _profiles, "models"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """How a question is answered: with a document, or with an error of this code."""

    status: int
    document: Any
    code: str


@dataclass(frozen=True, slots=True)
class Stage:
    """A ground at one place, its whole copies, and what it answers when nothing is damaged."""

    ground: Ground
    saved: Path
    older: Path
    ids: Ids
    answers: dict[str, Answer]
    older_answers: dict[str, Answer]

    def restored(self) -> Ground:
        """The ground as it was; big files that no command changes are links."""
        _restore(self.saved, self.ground.base)
        return self.ground

    def older_version_of(self, file: Path) -> bytes | None:
        path = self.older / file.relative_to(self.ground.base)
        if not path.is_file() and "-" in file.name:  # derived files are named by revision
            path = next(path.parent.glob(f"{file.name.split('-')[0]}-*{file.suffix}"), path)
        return path.read_bytes() if path.is_file() else None

    def foreign(self, ground: Ground) -> list[Path]:
        """Files whose content may come into another's place."""
        chosen = [
            *ground.index.glob("*.sqlite"),
            *ground.index.glob("*-*.*"),
            ground.home / "local.db",
        ]
        return [*chosen, ground.exports / "fixture.json", ground.root / "AGENTS.md"]


def make_stage(folder: Path, program: WarmProgram, stage: str) -> Stage:
    """Make a ground with an older version of every file; or give the one that is there."""
    if folder in _MADE:
        return _MADE[folder]
    ground = make_ground(folder / "trial", NOTES)
    # The id lives in .memcli/project-id then, as in most projects.
    (ground.root / "memcli.toml").write_text("")
    ground.must("activate", "certificates")
    older = folder / "older"
    _settle(ground)
    shutil.copytree(ground.base, older, symlinks=True)
    with (ground.root / "docs/queue.md").open("a") as note:
        note.write(LATER_NOTE)
    if stage == "models":
        _add_models(ground)
    ground.must("index", "build")
    for query in ("who may purge the queue", "how do we roll back a bad deploy?"):
        ground.must("activate", query)
    if stage == "journal":
        _leave_a_journal(ground)
    else:
        _settle(ground)
    saved = folder / "saved"
    shutil.copytree(ground.base, saved, symlinks=True)
    listed = ground.must("runs", "list", "--json").document["runs"]
    ids = Ids(
        [run["run_id"] for run in reversed(listed)],
        [case["case_id"] for case in ground.must("case", "list", "--json").document["cases"]],
    )
    kinds = {target.kind for target in TARGETS if target.stage == stage}
    made = Stage(ground, saved, older, ids, {}, {})
    for kind in sorted(kinds):
        made.answers.update(_answers(made.restored(), program, kind, ids))
        _restore(older, ground.base)
        made.older_answers.update(_answers(ground, program, kind, ids))
    _MADE[folder] = made
    return made


_MADE: dict[Path, Stage] = {}


def _answers(ground: Ground, program: WarmProgram, kind: str, ids: Ids) -> dict[str, Answer]:
    answers = {}
    for question in questions_of(kind, ids):
        ended = program.run(ground, *question.arguments, given=question.given)
        document = answered(question, ended) if ended.status in (0, 1) and ended.out else None
        answers[question.name] = Answer(ended.status, document, ended.code)
    return answers


def _restore(saved: Path, base: Path) -> None:
    shutil.rmtree(base, ignore_errors=True)
    shutil.copytree(saved, base, symlinks=True, copy_function=_copied)


def _copied(source: str, target: str) -> str:
    if source.endswith(".gguf"):
        os.link(source, target)
        return target
    return shutil.copy2(source, target)


def _settle(ground: Ground) -> None:
    """Both stores as single files, as after every command that ended well."""
    for path in (ground.home / "local.db", *ground.index.glob("*.sqlite")):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    for path in (*ground.home.glob("*.db-*"), *ground.index.glob("*.sqlite-*")):
        path.unlink(missing_ok=True)


def _leave_a_journal(ground: Ground) -> None:
    """History as a killed process leaves it: the last commits are in the journal."""
    _settle(ground)
    kept = ground.home / "kept"
    with closing(sqlite3.connect(ground.home / "local.db")) as connection:
        connection.execute("SELECT count(*) FROM retrieval_runs").fetchall()
        for query in ("who may purge the queue", "when are certificates renewed"):
            ground.must("activate", query)
        kept.mkdir()
        for path in ground.home.glob("local.db*"):
            shutil.copy2(path, kept / path.name)
    for path in kept.iterdir():
        if not path.name.endswith("-shm"):
            shutil.copy2(path, ground.home / path.name)
    shutil.rmtree(kept)


def _add_models(ground: Ground) -> None:
    """An embedder of another digest than the bundled one, in use; and a small cross-encoder."""
    from tiny_gguf import write_tiny_bert

    import memcli

    assert memcli.__file__ is not None
    bundled = (Path(memcli.__file__).parent / "models" / "data" / BUNDLED).read_bytes()
    embedder, reranker = ground.base / EMBEDDER, ground.base / RERANKER
    embedder.parent.mkdir()
    # Some bytes behind the last tensor change nothing but the digest.
    embedder.write_bytes(bundled + b"another file")
    write_tiny_bert(reranker, seed=5)
    ground.must("models", "add", "mine", str(embedder))
    ground.must("models", "use", "mine")
    ground.must("models", "add", "judge", str(reranker))
