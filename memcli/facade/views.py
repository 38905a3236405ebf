"""What the read-only questions about memory and index answer, each with its JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from memcli.memory.resource import EffectiveMemory, LeftOut, MemoryWarning, SourceResource

if TYPE_CHECKING:
    from memcli.index.build_report import BuildSummary
    from memcli.index.revisions import HeadInfo, RevisionInfo
    from memcli.index.unit import RetrievalUnit


@dataclass(frozen=True, slots=True)
class BuildReport:
    """A build's summary, how long it took in all, and remarks that are no errors."""

    summary: BuildSummary
    seconds: float
    warnings: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """What ``index build --json`` prints."""
        summary = self.summary
        return {
            "schema": "memcli.index.build.v1",
            "revision_id": summary.revision_id,
            "effective_hash": summary.effective_hash,
            "created": summary.created,
            "recreated": summary.recreated,
            "swapped": summary.swapped,
            "head": summary.head,
            "resources": summary.resources,
            "units": summary.units,
            "embedded": summary.embedded,
            "reused": summary.reused,
            "token_vectors_stored": summary.token_vectors_stored,
            "token_vectors_missing": summary.token_vectors_missing,
            "left_out": [left_out_document(each) for each in summary.left_out],
            "memory_warnings": [warning_document(each) for each in summary.warnings],
            "seconds": round(self.seconds, 3),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True)
class RevisionListing:
    """Every revision, newest first, and which is the head."""

    revisions: tuple[RevisionInfo, ...]
    head: HeadInfo
    is_building: bool

    def role(self, revision_id: str) -> str:
        """``head``, ``previous`` or nothing."""
        if revision_id == self.head.head:
            return "head"
        return "previous" if revision_id == self.head.previous else ""

    def status(self, revision: RevisionInfo) -> str:
        """The revision's status; one that says building while nobody builds was interrupted."""
        dead = revision.status == "building" and not self.is_building
        return "interrupted" if dead else revision.status

    @staticmethod
    def embedder(revision: RevisionInfo) -> str:
        """The profile that the revision was built with."""
        return str(revision.recipe.get("embedder", {}).get("profile", ""))

    def document(self) -> dict[str, Any]:
        """What ``index list --json`` prints."""
        return {
            "schema": "memcli.index.list.v1",
            "head": self.head.head,
            "previous": self.head.previous,
            "revisions": [
                revision_document(each) | {"status": self.status(each)} for each in self.revisions
            ],
        }


@dataclass(frozen=True, slots=True)
class HeadView:
    """The head's revision."""

    revision: RevisionInfo
    head: HeadInfo

    def rows(self) -> list[tuple[str, str]]:
        """Name and value, for a person."""
        revision = self.revision
        return [
            ("head", revision.revision_id),
            ("previous", self.head.previous or "-"),
            ("since", self.head.changed_at or "-"),
            ("effective hash", revision.effective_hash),
            ("recipe hash", revision.recipe_hash),
            ("embedder", RevisionListing.embedder(revision)),
            ("resources", str(revision.resource_count)),
            ("units", str(revision.unit_count)),
            ("ready", revision.ready_at or "-"),
        ]

    def document(self) -> dict[str, Any]:
        """What ``head show --json`` prints."""
        return {
            "schema": "memcli.head.show.v1",
            "head": self.head.head,
            "previous": self.head.previous,
            "changed_at": self.head.changed_at,
            "revision": revision_document(self.revision),
        }


@dataclass(frozen=True, slots=True)
class MemoryView:
    """Effective Memory with all that was left out of it."""

    memory: EffectiveMemory

    def document(self) -> dict[str, Any]:
        """What ``memory list --json`` prints."""
        return {
            "schema": "memcli.memory.list.v1",
            "effective_hash": self.memory.effective_hash,
            "resources": [resource_document(each) for each in self.memory.resources],
            "left_out": [left_out_document(each) for each in self.memory.left_out],
            "warnings": [warning_document(each) for each in self.memory.warnings],
        }


@dataclass(frozen=True, slots=True)
class NoteView:
    """One resource, what it hides, and its units where they were asked for."""

    resource: SourceResource
    shadowed: tuple[LeftOut, ...]
    warnings: tuple[MemoryWarning, ...]
    units: tuple[RetrievalUnit, ...] | None

    def document(self) -> dict[str, Any]:
        """What ``memory show --json`` prints."""
        document: dict[str, Any] = {
            "schema": "memcli.memory.show.v1",
            "resource": resource_document(self.resource) | {"body": self.resource.body},
            "shadowed": [left_out_document(each) for each in self.shadowed],
            "warnings": [warning_document(each) for each in self.warnings],
        }
        if self.units is not None:
            document["units"] = [
                {
                    "unit_key": unit.unit_key,
                    "position": unit.position,
                    "heading_path": list(unit.heading_path),
                    "locator": asdict(unit.locator),
                    "token_count": unit.token_count,
                    "content_hash": unit.content_hash,
                    "text": unit.text,
                }
                for unit in self.units
            ]
        return document


def resource_document(resource: SourceResource) -> dict[str, Any]:
    """A resource without its body."""
    return {
        "resource_id": resource.resource_id,
        "scope": str(resource.scope),
        "kind": resource.kind,
        "path": resource.path,
        "title": resource.title,
        "description": resource.description,
        "resource_hash": resource.resource_hash,
        "body_sha256": resource.body_sha256,
        "body_first_line": resource.body_first_line,
    }


def left_out_document(left_out: LeftOut) -> dict[str, Any]:
    """A file that is not in Effective Memory."""
    return {
        "path": left_out.path,
        "scope": str(left_out.scope),
        "disposition": str(left_out.disposition),
        "reason": left_out.reason,
        "detail": left_out.detail,
        "by": left_out.by,
    }


def warning_document(warning: MemoryWarning) -> dict[str, Any]:
    """A fault in a file that was indexed all the same."""
    return {
        "path": warning.path,
        "scope": str(warning.scope),
        "reason": warning.reason,
        "detail": warning.detail,
    }


def revision_document(revision: RevisionInfo) -> dict[str, Any]:
    """A revision with its whole recipe."""
    recipe: Mapping[str, Any] = revision.recipe
    return {
        "revision_id": revision.revision_id,
        "status": revision.status,
        "effective_hash": revision.effective_hash,
        "recipe_hash": revision.recipe_hash,
        "recipe": dict(recipe),
        "resources": revision.resource_count,
        "units": revision.unit_count,
        "tokens": revision.token_count,
        "created_at": revision.created_at,
        "ready_at": revision.ready_at,
        "kept": revision.kept,
        "error": {"code": revision.error_code, "summary": revision.error}
        if revision.error
        else None,
    }
