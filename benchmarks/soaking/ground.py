"""The ground that trials start from: a small project with an index, history, cases, an export.

Made once with the real model, through the program itself; every trial gets a
copy of its own that it may break.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

QUERIES = (
    "how do we roll back a bad deploy?",
    "who carries the pager and when is it handed over",
    "部署前要通知谁",
)
NOTES: Mapping[str, str] = {
    "docs/rollback.md": (
        "# Rolling back\n\nRoll back a bad deploy with `shipctl rollback --to previous`. "
        "It takes six minutes and needs no permission.\n"
    ),
    "docs/oncall.md": (
        "---\ntitle: On call\ndescription: Who carries the pager and when it is handed over\n"
        "kind: runbook\n---\n# On call\n\nThe pager is handed over on Tuesday at ten.\n"
    ),
    "docs/certificates.md": (
        "# Certificates\n\nTLS certificates are renewed every ninety days by the gateway itself.\n"
    ),
    "docs/queue.md": (
        "# The queue\n\n## Retries\n\nA job is tried five times, a minute apart at first.\n\n"
        "## Dead letters\n\nWhat fails five times waits in the dead letter queue for a person.\n"
    ),
    "docs/部署.md": "# 部署手册\n\n部署前先通知值班同学，数据库迁移必须在低峰期执行。\n",
    "AGENTS.md": "# Rules\n\nNever push to main without review. Tests must pass first.\n",
}


@dataclass(frozen=True, slots=True)
class Ended:
    """A finished command: a status below zero is the signal that killed it."""

    status: int
    out: bytes
    err: bytes

    @property
    def document(self) -> Any:
        return orjson.loads(self.out)

    @property
    def code(self) -> str:
        """The error's code, "" where standard error ends with no error document."""
        for line in reversed(self.err.splitlines()):
            if line.startswith(b'{"error"'):
                return str(orjson.loads(line)["error"]["code"])
        return ""

    @property
    def is_graceful(self) -> bool:
        """Ended by itself, without a traceback."""
        return self.status in (0, 1, 2, 3, 4, 5, 130) and b"Traceback" not in self.err


@dataclass(frozen=True, slots=True)
class Ground:
    """A project at ``root`` with all of memcli's own files below ``base``."""

    base: Path

    @property
    def root(self) -> Path:
        return self.base / "project"

    @property
    def index(self) -> Path:
        return self.root / ".memcli"

    @property
    def home(self) -> Path:
        return self.base / "central"

    @property
    def exports(self) -> Path:
        return self.base / "exports"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "MEMCLI_HOME": str(self.home),
            "MEMCLI_CONFIG": str(self.base / "config"),
            "HOME": str(self.base),
            "PATH": "/usr/bin:/bin",
        }

    def memcli(
        self,
        *arguments: str,
        given: bytes = b"",
        environ: Mapping[str, str] | None = None,
        seconds: float = 120,
    ) -> Ended:
        """Run the program in the project as a shell would."""
        done = subprocess.run(
            [sys.executable, "-m", "memcli", *arguments],
            input=given,
            capture_output=True,
            env={**self.environ, **(environ or {})},
            cwd=self.root,
            timeout=seconds,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def must(self, *arguments: str, given: bytes = b"") -> Ended:
        """The same for what has to go well.

        Raises:
            RuntimeError: it did not.
        """
        done = self.memcli(*arguments, given=given)
        if done.status:
            raise RuntimeError(f"memcli {' '.join(arguments)}: {done.err.decode()}")
        return done

    def copied_to(self, base: Path) -> Ground:
        """The same ground elsewhere; the id in ``memcli.toml`` keeps its history."""
        shutil.copytree(self.base, base, symlinks=True)
        return Ground(base)


def make_ground(base: Path, notes: Mapping[str, str] = NOTES) -> Ground:
    """Index the notes, ask, pin, label and export: a bit of everything that memcli stores."""
    ground = Ground(base)
    fill(ground, notes)
    return ground


def fill(ground: Ground, notes: Mapping[str, str] = NOTES) -> None:
    """Do so by whatever way ``ground`` runs the program."""
    for path, text in notes.items():
        file = ground.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (ground.root / "memcli.toml").write_text('id = "ground"\n')
    ground.must("index", "build")
    runs = [ground.must("activate", query, "--json").document["run_id"] for query in QUERIES]
    ground.must("runs", "pin", runs[2])
    ready = ground.must("case", "create", runs[0], "--json").document["created"][0]["case"]
    evidence = {
        "expected_version": ready["version"],
        "none_matched": False,
        "evidence": [{"resource_id": "docs/rollback.md"}],
    }
    ground.must("case", "resolve", ready["case_id"], "-", given=orjson.dumps(evidence))
    ground.must("case", "create", runs[1])
    ground.must("export", "--out", str(ground.exports))


def answer_of(document: Any) -> Any:
    """An answer without what differs from one asking to the next."""
    return {key: document[key] for key in document.keys() - {"run_id", "timings_us", "notices"}}


def answers(ground: Ground, queries: Sequence[str] = QUERIES) -> list[Any]:
    """What the ground's head answers, asked without leaving a trace."""
    asked = [ground.must("activate", query, "--no-record", "--json") for query in queries]
    return [answer_of(each.document) for each in asked]
