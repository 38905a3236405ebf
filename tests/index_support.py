"""Small memories, builds of them, and builds in processes of their own, for tests of the index."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from stand_in import StandInEmbedder

from memcli.index.build_report import BuildSummary
from memcli.index.builder import build_index
from memcli.index.embedding import EmbeddedPassage, PassageInput
from memcli.index.storage import IndexStorage
from memcli.memory.hashing import body_sha256, effective_hash, resource_hash
from memcli.memory.resource import EffectiveMemory, Scope, SourceResource

TESTS = Path(__file__).parent


def resource(
    path: str,
    body: str,
    *,
    title: str | None = None,
    description: str = "",
    resource_id: str | None = None,
    first_line: int = 1,
) -> SourceResource:
    identity: dict[str, Any] = {
        "resource_id": resource_id or path,
        "scope": Scope.PROJECT,
        "kind": "note",
        "path": path,
        "title": title or path.rpartition("/")[2],
        "description": description,
        "body": body,
    }
    return SourceResource(
        **identity,
        body_sha256=body_sha256(body),
        resource_hash=resource_hash(**identity),
        body_first_line=first_line,
        description_line=2 if description else None,
        file_path=f"/project/{path}",
    )


def memory_of(resources: Sequence[SourceResource] | Mapping[str, str]) -> EffectiveMemory:
    if isinstance(resources, Mapping):
        resources = [resource(path, body) for path, body in sorted(resources.items())]
    pairs = [(each.resource_id, each.resource_hash) for each in resources]
    return EffectiveMemory(tuple(resources), effective_hash(pairs), (), (), ())


def notes(
    count: int, words: int = 60, seed: int = 0, changed: Sequence[int] = ()
) -> dict[str, str]:
    """``count`` small notes; those numbered in ``changed`` have another text."""
    return {
        f"notes/{number:04}.md": _note(number, words, seed + (1000 if number in changed else 0))
        for number in range(count)
    }


def _note(number: int, words: int, seed: int) -> str:
    chosen = [
        VOCABULARY[(number * 31 + at * 7 + at * at * seed) % len(VOCABULARY)] for at in range(words)
    ]
    return f"# Note {number} of {seed}\n\n" + " ".join(chosen) + "\n"


WORDS = """
    deploy rollback queue ledger invoice retry timeout cache redis kafka outbox schema migrate
    index vector memory head revision builder reader lock crash token window section heading
    部署 回滚 缓存 超时 docker-compose C++ naïve über Привет мир config.toml a/b x+y the and of to
"""
VOCABULARY = WORDS.split()


class Revisions:
    """Revision ids in order, unlike in every process."""

    def __init__(self, name: str = "r") -> None:
        self._name = name
        self._count = 0

    def __call__(self) -> str:
        self._count += 1
        return f"{self._name}{time.time_ns():020d}{self._count:03d}"


def build(
    storage: IndexStorage,
    memory: EffectiveMemory | Mapping[str, str],
    embedder: StandInEmbedder | None = None,
    **options: Any,
) -> BuildSummary:
    made = memory if isinstance(memory, EffectiveMemory) else memory_of(memory)
    return build_index(
        storage,
        lambda known: made,
        embedder or StandInEmbedder(),
        now=lambda: datetime.now(timezone.utc),
        clock=time.monotonic,
        new_revision_id=options.pop("new_revision_id", Revisions()),
        **options,
    )


class SlowEmbedder(StandInEmbedder):
    """Waits before each passage, and tells what it does on stdout."""

    def __init__(self, seconds: float, dimension: int = 32) -> None:
        super().__init__(dimension)
        self._seconds = seconds

    def embed_passages(self, passages: Sequence[PassageInput]) -> Iterator[EmbeddedPassage]:
        for embedded in super().embed_passages(passages):
            print("embedded", flush=True)
            time.sleep(self._seconds)
            yield embedded


def start_build(
    storage: IndexStorage,
    notes_by_path: Mapping[str, str],
    *,
    seconds: float = 0.0,
    dimension: int = 32,
    umask: int | None = None,
    **options: Any,
) -> subprocess.Popen[str]:
    """Build in a process of its own; its last line on stdout is a JSON document."""
    task = {
        "directory": str(storage.directory),
        "notes": notes_by_path,
        "seconds": seconds,
        "dimension": dimension,
        "umask": umask,
        "options": options,
    }
    return run_process("build", task)


def run_process(what: str, task: Mapping[str, Any]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, __file__, what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])},
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(task))
    process.stdin.close()
    process.stdin = None
    return process


def outcome(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The document a process ended with; its stderr must be empty."""
    out, err = process.communicate(timeout=120)
    assert not err, err
    document: dict[str, Any] = json.loads(out.splitlines()[-1])
    return document


def _build_process(task: Mapping[str, Any]) -> dict[str, Any]:
    from memcli.errors import MemcliError

    if task["umask"] is not None:
        os.umask(task["umask"])
    embedder = (
        SlowEmbedder(task["seconds"], task["dimension"])
        if task["seconds"]
        else StandInEmbedder(task["dimension"])
    )
    try:
        summary = build(
            IndexStorage(Path(task["directory"])),
            task["notes"],
            embedder,
            new_revision_id=Revisions(f"p{os.getpid():08d}-"),
            on_wait=lambda holder: print("waiting", flush=True),
            **task["options"],
        )
    except MemcliError as error:
        return {"error": error.code, "message": error.message}
    return {
        "revision": summary.revision_id,
        "head": summary.head,
        "created": summary.created,
        "units": summary.units,
        "embedded": embedder.embedded,
    }


def _read_process(task: Mapping[str, Any]) -> dict[str, Any]:
    """Read the head again and again for as long as asked, as an activation does."""
    import numpy as np

    from memcli.errors import MemcliError
    from memcli.index.reader import open_head

    storage = IndexStorage(Path(task["directory"]))
    seen: list[str] = []
    until = time.monotonic() + task["for_seconds"]
    while True:
        try:
            with open_head(storage) as reader:
                hits = reader.bm25('"deploy" OR "ledger"', 10)
                units = reader.units([hit.unit_rowid for hit in hits])
                assert len(reader.vectors()) == reader.unit_count
                assert np.isfinite(reader.vectors()).all()
                assert all("deploy" in it.text or "ledger" in it.text for it in units.values())
                seen.append(reader.revision.revision_id)
        except MemcliError as error:
            seen.append(error.code)
        if time.monotonic() >= until:
            return {"seen": list(dict.fromkeys(seen)), "times": len(seen)}


def moved(memory: EffectiveMemory, lines: int) -> EffectiveMemory:
    """The same memory with every body some lines further down its file."""
    return replace(
        memory,
        resources=tuple(
            replace(each, body_first_line=each.body_first_line + lines) for each in memory.resources
        ),
    )


if __name__ == "__main__":
    processes: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
        "build": _build_process,
        "read": _read_process,
    }
    print(json.dumps(processes[sys.argv[1]](json.load(sys.stdin))))
