"""Two projects on one central store, with the same few notes in ever other versions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from soaking.ground import Ended, Ground
from soaking.mixed_program import Program

PROJECTS = ("harbor", "lighthouse")
NOTES = 8
VERSIONS = 4
SUBJECTS = (
    "rolling back a bad deploy with shipctl",
    "who carries the pager on Tuesdays",
    "renewing TLS certificates at the gateway",
    "retries and dead letters of the queue",
    "部署前先通知值班同学",
    "restoring the ledger from last night's copy",
    "reviewing a change before it reaches main",
    "painting the crane in the month of May",
)
QUERIES = (
    *(f"what do we know about {subject}?" for subject in SUBJECTS[:4]),
    *SUBJECTS[4:],
    "notes/2.md",
    "ok",
)


@dataclass(frozen=True, slots=True)
class Shared(Ground):
    """One of the projects in ``base``; its commands run in this process where ``program`` is."""

    project: str = PROJECTS[0]
    program: Program | None = None

    @property
    def root(self) -> Path:
        return self.base / self.project

    @property
    def environ(self) -> dict[str, str]:
        return {
            "MEMCLI_HOME": str(self.home),
            "MEMCLI_CONFIG": str(self.base / "config"),
            "HOME": str(self.base),
            "PATH": "/usr/bin:/bin",
            # Every process runs the code that this one runs.
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            # Each process has its own models; they share the machine's few cores.
            "MEMCLI_THREADS": "1",
        }

    def memcli(
        self,
        *arguments: str,
        given: bytes = b"",
        environ: Mapping[str, str] | None = None,
        seconds: float = 180,
    ) -> Ended:
        if self.program is not None:
            variables = {**self.environ, **(environ or {})}
            return self.program.run(self.root, variables, *arguments, given=given)
        return Ground.memcli(self, *arguments, given=given, environ=environ, seconds=seconds)


def note_of(number: int, version: int) -> str:
    """Both projects have the same texts, so that they share bodies and at times whole corpora."""
    subject = SUBJECTS[number]
    steps = "\n".join(
        f"{step}. Step {step} of version {version}: {subject}, checked by two people.\n"
        for step in range(1, 4 + version)
    )
    description = f"---\ndescription: All about {subject}\n---\n" if version % 2 else ""
    return f"{description}# Note {number}\n\n{subject}.\n\n## Version {version}\n\n{steps}"


def edit_note(root: Path, random: Random, own: str) -> None:
    """Save another version as an editor does: beside, then renamed into its place."""
    number, version = random.randrange(NOTES), random.randrange(VERSIONS)
    path = root / f"notes/{number}.md"
    beside = path.with_name(f".{path.name}.{own}")
    beside.write_text(note_of(number, version), encoding="utf-8")
    os.replace(beside, path)


def make_projects(base: Path, program: Program) -> None:
    """Both projects, each with two revisions, so that there is a previous head."""
    for name in PROJECTS:
        place = Shared(base, name, program)
        for number in range(NOTES):
            path = place.root / f"notes/{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(note_of(number, 0), encoding="utf-8")
        (place.root / "memcli.toml").write_text(f'id = "{name}"\n')
        place.must("index", "build")
        (place.root / "notes/0.md").write_text(note_of(0, 1), encoding="utf-8")
        place.must("index", "build")
