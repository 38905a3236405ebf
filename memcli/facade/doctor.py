"""``doctor``: every part that memcli stands on is looked at, and nothing is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memcli.errors import MemcliError
from memcli.facade.doctor_engines import engine_findings, model_findings
from memcli.facade.doctor_files import file_findings
from memcli.facade.doctor_stores import history_findings, index_findings
from memcli.facade.findings import BROKEN, OK, WARN, Finding
from memcli.facade.surroundings import Surroundings
from memcli.history.store import HistoryStore
from memcli.locations import central_home, config_directory
from memcli.memory.identity import resolve_identity

if TYPE_CHECKING:
    from memcli.facade.workspace import Memcli
    from memcli.index.revisions import RevisionInfo

SCHEMA = "memcli.doctor.v1"

Check = Callable[[], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings, in the order in which one thing stands on another."""

    findings: tuple[Finding, ...]

    def count(self, state: str) -> int:
        return Counter(each.state for each in self.findings)[state]

    @property
    def healthy(self) -> bool:
        """Whether nothing is broken; warnings are allowed."""
        return not self.count(BROKEN)

    def document(self) -> dict[str, Any]:
        """What ``doctor --json`` prints."""
        return {
            "schema": SCHEMA,
            "healthy": self.healthy,
            "counts": {state: self.count(state) for state in (OK, WARN, BROKEN)},
            "findings": [
                {
                    "area": each.area,
                    "check": each.check,
                    "state": each.state,
                    "message": each.message,
                    "repair": each.repair,
                }
                for each in self.findings
            ],
        }


def diagnose(open_project: Callable[[], Memcli], surroundings: Surroundings) -> Diagnosis:
    """Examine the program, the project that ``open_project`` opens, and the central store.

    What cannot be opened is a finding, and the rest is examined all the same.
    """
    findings: list[Finding] = []
    memcli: Memcli | None = None
    findings += _examined("program", engine_findings)
    try:
        memcli = open_project()
    except MemcliError as error:
        # A home directory is no project, and nothing is wrong with that.
        state = WARN if error.code == "project_refused" else BROKEN
        findings.append(Finding("project", "configuration", state, error.message, error.hint))
    history = HistoryStore(central_home(surroundings.environ), surroundings.now)
    directory: Path | None = None
    if memcli is not None:
        project = memcli
        findings += _examined("project", lambda: _project_findings(project))
        try:
            directory = project.storage.directory
        except MemcliError as error:
            findings.append(Finding("index", "place", BROKEN, error.message, error.hint))
        heads: list[RevisionInfo] = []
        if directory is not None:
            findings += _examined("index", lambda: index_findings(project.storage, heads.append))
        findings += _examined("models", lambda: model_findings(project, heads))
    findings += _examined("history", lambda: history_findings(history))
    profiles = config_directory(surroundings.environ) / "models"
    findings += _examined(
        "files", lambda: file_findings(history.home, profiles, directory, surroundings.now())
    )
    if memcli is not None:
        memcli.close()
    return Diagnosis(tuple(findings))


def _examined(area: str, check: Check) -> list[Finding]:
    """The findings of one area, as far as they came, and what ended it."""
    found: list[Finding] = []
    try:
        for finding in check():
            found.append(finding)
    except MemcliError as error:
        found.append(Finding(area, "check", BROKEN, error.message, error.hint))
    # A doctor that dies of what it finds helps nobody: the fault is a finding itself.
    except Exception as fault:
        message = f"it could not be checked: {type(fault).__name__}: {fault}"
        found.append(Finding(area, "check", BROKEN, message, "MEMCLI_DEBUG=1 memcli status"))
    return found


def _project_findings(memcli: Memcli) -> Iterator[Finding]:
    project, configuration = memcli.project, memcli.configuration
    yield Finding("project", "root", OK, f"{project.root} (found by {project.found_by})")
    trusted = "; trusted by your config.toml" if configuration.trusted else ""
    yield Finding("project", "configuration", OK, f"valid{trusted}")
    # Without the registry: reading that would bring an older store up.
    identity = resolve_identity(
        project.root,
        configured_id=configuration.project_id,
        registry=None,
        new_id=memcli.surroundings.new_id,
    )
    known = f"{identity.project_id} ({identity.origin})"
    yield Finding("project", "id", OK, "none here yet" if identity.is_new else known)
