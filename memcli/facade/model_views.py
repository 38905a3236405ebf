"""What the questions about models answer, each with its JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memcli.errors import MemcliError

if TYPE_CHECKING:
    from memcli.models.model_registry import RegistryEntry
    from memcli.models.profile import ModelProfile, Relevance
    from memcli.models.profile_store import StoredProfile

INDEX_BUILD = "memcli index build"


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """The setting that names a model, and where its value was given."""

    setting: str
    origin: str

    @property
    def job(self) -> str:
        """``embedder`` or ``reranker``."""
        return self.setting.removeprefix("models.")


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model that is here or could be.

    ``kind`` is ``bundled`` (in the package), ``built_in`` (no file of its own),
    ``added``, ``pulled``, ``pullable``, ``file`` (a setting names its path) or
    ``broken`` (its profile cannot be read). ``size`` in bytes and ``sha256``
    are ``None`` where nobody knows; ``problem`` says why it cannot be used.
    """

    name: str
    role: str | None
    kind: str
    installed: bool
    about: str = ""
    licence: str = ""
    source: str = ""
    file: Path | None = None
    size: int | None = None
    sha256: str | None = None
    profile: ModelProfile | None = None
    problem: str | None = None
    in_use: tuple[ModelInUse, ...] = ()

    @property
    def state(self) -> str:
        """In words for a table."""
        if self.problem:
            return "broken" if self.kind == "broken" else "missing"
        if self.kind in ("bundled", "built_in"):
            return "built in"
        return "installed" if self.installed else "not installed"

    def document(self) -> dict[str, Any]:
        """A model within any of the documents."""
        profile = self.profile
        relevance: Relevance | None = None
        if profile:
            relevance = profile.late_interaction if profile.role == "embed" else profile.relevance
        return {
            "name": self.name,
            "role": self.role,
            "kind": self.kind,
            "installed": self.installed,
            "problem": self.problem,
            "file": str(self.file) if self.file else None,
            "size": self.size,
            "sha256": self.sha256 or None,
            "licence": self.licence or None,
            "source": self.source or None,
            "about": self.about or None,
            "pooling": profile.pooling if profile else None,
            "query_prefix": profile.query_prefix if profile else None,
            "passage_prefix": profile.passage_prefix if profile else None,
            "pair_form": profile.pair_form if profile and profile.role == "rerank" else None,
            "max_tokens": profile.max_tokens if profile else None,
            "relevance": asdict(relevance) if relevance else None,
            "in_use": [
                {"job": each.job, "setting": each.setting, "origin": each.origin}
                for each in self.in_use
            ],
        }


def row_of_stored(
    stored: StoredProfile, entry: RegistryEntry | None, in_use: tuple[ModelInUse, ...] = ()
) -> ModelRow:
    """The row of a profile of the user's; ``entry`` is the registry's of the same name."""
    profile = stored.profile
    problem = None
    if not stored.is_in_place:
        there = profile.file.is_file()
        problem = (
            f"{profile.file} has another size than when it was added"
            if there
            else f"{profile.file} is not there"
        )
    return ModelRow(
        name=profile.name,
        role=profile.role,
        kind="pulled" if stored.source else "added",
        installed=problem is None,
        about=entry.about if entry and stored.source else "",
        licence=stored.licence,
        source=stored.source,
        file=profile.file,
        size=stored.size,
        sha256=profile.sha256,
        profile=profile,
        problem=problem,
        in_use=in_use,
    )


@dataclass(frozen=True, slots=True)
class ModelListing:
    """Every model: built in, the user's own, pullable."""

    models: tuple[ModelRow, ...]
    directory: Path

    def document(self) -> dict[str, Any]:
        """What ``models list --json`` prints."""
        return {
            "schema": "memcli.models.list.v1",
            "profiles_directory": str(self.directory),
            "models": [each.document() for each in self.models],
        }


@dataclass(frozen=True, slots=True)
class ModelAdded:
    """A model that can be used from now on; ``remarks`` are what its user should know.

    ``answered`` of ``questions`` built-in questions had their answer first.
    ``downloaded`` is ``None`` for ``models add``; ``replaced`` says that the
    name had another model before.
    """

    model: ModelRow
    profile_path: Path
    remarks: tuple[str, ...]
    answered: int | None
    questions: int | None
    replaced: bool = False
    downloaded: bool | None = None

    @property
    def next_command(self) -> str:
        return f"memcli models use {self.model.name}"

    def document(self) -> dict[str, Any]:
        """What ``models add --json`` and ``models pull --json`` print."""
        pulled = self.downloaded is not None
        document: dict[str, Any] = {
            "schema": f"memcli.models.{'pull' if pulled else 'add'}.v1",
            "model": self.model.document(),
            "profile": str(self.profile_path),
            "replaced": self.replaced,
            "check": {"answered": self.answered, "questions": self.questions}
            if self.questions
            else None,
            "remarks": list(self.remarks),
            "next_command": self.next_command,
        }
        return document | ({"downloaded": self.downloaded} if pulled else {})


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What ``models use`` wrote, and which value is in force now.

    ``previous`` is the file's own value before, ``None`` where it had none.
    """

    name: str
    role: str
    setting: str
    file: Path
    previous: str | None
    value_in_force: str
    origin_in_force: str

    @property
    def changed(self) -> bool:
        return self.previous != self.name

    @property
    def warning(self) -> str | None:
        """Why the choice has no effect here, if it has none."""
        if self.value_in_force == self.name:
            return None
        return (
            f"{self.setting} is still {self.value_in_force} here: {self.origin_in_force} "
            f"comes before {self.file.name}"
        )

    @property
    def next_command(self) -> str | None:
        """An embedder needs a new revision; a reranker is used at once."""
        return INDEX_BUILD if self.role == "embed" and self.warning is None else None

    def document(self) -> dict[str, Any]:
        """What ``models use --json`` prints."""
        return {
            "schema": "memcli.models.use.v1",
            "name": self.name,
            "role": self.role,
            "setting": self.setting,
            "file": str(self.file),
            "previous": self.previous,
            "changed": self.changed,
            "in_force": {"value": self.value_in_force, "origin": self.origin_in_force},
            "warning": self.warning,
            "next_command": self.next_command,
        }


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """One model's proof: ``error`` is ``None`` where it is whole and does its job."""

    model: ModelRow
    error: MemcliError | None
    seconds: float


@dataclass(frozen=True, slots=True)
class ModelVerification:
    """What ``models verify`` found, and where the models ran."""

    verdicts: tuple[ModelVerdict, ...]
    device: str

    @property
    def broken(self) -> tuple[ModelVerdict, ...]:
        return tuple(each for each in self.verdicts if each.error)

    def document(self) -> dict[str, Any]:
        """What ``models verify --json`` prints."""
        return {
            "schema": "memcli.models.verify.v1",
            "device": self.device,
            "ok": not self.broken,
            "models": [
                {
                    "name": each.model.name,
                    "role": each.model.role,
                    "file": str(each.model.file) if each.model.file else None,
                    "sha256": each.model.sha256 or None,
                    "ok": each.error is None,
                    "error": _error_document(each.error),
                    "seconds": round(each.seconds, 3),
                }
                for each in self.verdicts
            ],
        }


def _error_document(error: MemcliError | None) -> Mapping[str, str] | None:
    if error is None:
        return None
    return {"code": error.code, "message": error.message, "hint": error.hint}
