"""``Memcli``: one project, its index, models and history, behind the names of section 11."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memcli.configuration import Configuration, resolve_configuration
from memcli.errors import Failure
from memcli.facade.case_access import CaseAccess
from memcli.facade.model_access import ModelAccess
from memcli.facade.project_access import ProjectAccess
from memcli.facade.run_access import RunAccess
from memcli.facade.surroundings import Surroundings
from memcli.history.projects import CentralRegistry
from memcli.history.store import HistoryStore
from memcli.index.storage import IndexStorage
from memcli.locations import central_home
from memcli.memory.identity import Identity, resolve_identity, settle_identity
from memcli.memory.project import Project, discover_project, storage_directory
from memcli.memory.resource import EffectiveMemory
from memcli.memory.sources import Source, effective_sources

if TYPE_CHECKING:
    from types import TracebackType

    from memcli.evaluation.gate import Rule
    from memcli.facade.answers import Answer
    from memcli.facade.case_views import CaseSource
    from memcli.facade.rerunning import RerunView
    from memcli.facade.status import Status
    from memcli.facade.views import BuildReport, HeadView, MemoryView, NoteView, RevisionListing
    from memcli.index.locking import BuildHolder
    from memcli.index.revisions import RevisionInfo
    from memcli.index.swap import HeadChange
    from memcli.models.model_shelf import ModelShelf
    from memcli.retrieval.explanation import Story

Progress = Callable[[str, int, int], None]


class Memcli(RunAccess, CaseAccess, ProjectAccess, ModelAccess):
    """Opened on a project; loads models on first use and frees them in ``close``.

    Heavy parts are imported where they are used, so that a listing command
    loads neither numpy nor llama.cpp.
    """

    def __init__(
        self, project: Project, configuration: Configuration, surroundings: Surroundings
    ) -> None:
        self.project = project
        self.configuration = configuration
        self.surroundings = surroundings
        self._shelf: ModelShelf | None = None
        self._identity: Identity | None = None

    @classmethod
    def open(
        cls,
        start: Path,
        *,
        project: Path | None = None,
        allow_broad: bool = False,
        flags: Mapping[str, object] | None = None,
        surroundings: Surroundings | None = None,
    ) -> Memcli:
        """Find the project that ``start`` belongs to and resolve its settings.

        Raises ``InvalidInput``: ``project_not_found``, ``project_refused``,
        ``configuration_invalid``, ``source_outside_project``.
        """
        around = surroundings or Surroundings()
        override = str(project) if project else None
        found = discover_project(start, around.environ, override, allow_broad)
        configuration = resolve_configuration(found.root, around.environ, flags or {})
        return cls(found, configuration, around)

    def __enter__(self) -> Memcli:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the loaded models."""
        if self._shelf:
            self._shelf.close()
            self._shelf = None

    # What the parts need

    @cached_property
    def storage(self) -> IndexStorage:
        """The index's place; raises where ``.memcli`` leads out of the project."""
        trusted = self.configuration.trusted
        return IndexStorage(storage_directory(self.project.root, trusted=trusted))

    @cached_property
    def history(self) -> HistoryStore:
        """The central store."""
        return HistoryStore(central_home(self.surroundings.environ), self.surroundings.now)

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        return effective_sources(self.configuration)

    @property
    def shelf(self) -> ModelShelf:
        """The models, loaded when they are first used."""
        if self._shelf is None:
            from memcli.models.model_shelf import ModelShelf

            configuration = self.configuration
            self._shelf = ModelShelf(
                embedder=configuration.embedder,
                reranker=configuration.reranker,
                threads=configuration.threads,
                gpu=configuration.gpu,
                known=self.known_profiles,
                problems=self.broken_profiles,
                guard=self.surroundings.native_guard,
            )
        return self._shelf

    def identity(self, *, settle: bool) -> Identity:
        """The project's id; ``settle`` makes a new one last.

        Where the project's directory cannot be written the registry alone
        keeps it, and a warning says so.
        """
        if self._identity and not (settle and self._identity.is_new):
            return self._identity
        arguments: dict[str, Any] = {
            "configured_id": self.configuration.project_id,
            "registry": CentralRegistry(self.history),
            "new_id": self.surroundings.new_id,
        }
        root = self.project.root
        if not settle:
            self._identity = resolve_identity(root, **arguments)
            return self._identity
        try:
            found = settle_identity(root, trusted=self.configuration.trusted, **arguments)
        except Failure as error:
            found = resolve_identity(root, **arguments)
            found = Identity(
                found.project_id, found.origin, found.is_new, (*found.warnings, error.message)
            )
        self._identity = found
        return found

    def synthesize(self, known_headings: Mapping[str, str | None] | None = None) -> EffectiveMemory:
        """Effective Memory as the files are now."""
        from memcli.memory.synthesis import synthesize

        return synthesize(
            self.project.root,
            self.sources,
            environ=self.surroundings.environ,
            max_file_bytes=self.configuration.max_file_bytes,
            known_headings=known_headings or {},
        )

    # Index

    def build_index(
        self,
        *,
        swap: bool = True,
        force: bool = False,
        keep: bool = False,
        wait: bool = True,
        progress: Progress = lambda stage, done, total: None,
        on_wait: Callable[[BuildHolder], None] = lambda holder: None,
    ) -> BuildReport:
        """Build a revision of the present memory and move the head to it."""
        from memcli.facade.building import build

        return build(self, swap, force, keep, wait, progress, on_wait)

    def swap_head(self, revision: str | None = None, *, previous: bool = False) -> HeadChange:
        """Move the head to a ready revision."""
        from memcli.index.swap import swap_head

        return swap_head(self.storage, revision, previous, self.surroundings.now)

    def keep_revision(self, revision: str, *, keep: bool = True) -> RevisionInfo:
        """Mark a revision so that no build prunes it, or unmark it."""
        from memcli.index.swap import keep_revision

        return keep_revision(self.storage, revision, keep)

    def list_revisions(self) -> RevisionListing:
        """Every revision, newest first."""
        from memcli.facade.views import RevisionListing
        from memcli.index.locking import running_build
        from memcli.index.swap import head_info, list_revisions

        newest_first = tuple(reversed(list_revisions(self.storage)))
        building = running_build(self.storage) is not None
        return RevisionListing(newest_first, head_info(self.storage), building)

    def show_head(self) -> HeadView:
        """The revision that queries use. Raises as ``activate_memory`` where there is none."""
        from memcli.facade.views import HeadView
        from memcli.index.reader import open_head
        from memcli.index.swap import head_info

        with open_head(self.storage) as reader:
            return HeadView(reader.revision, head_info(self.storage))

    # Memory

    def effective_memory(self) -> MemoryView:
        """The present memory, with what was left out of it."""
        from memcli.facade.views import MemoryView

        return MemoryView(self.synthesize())

    def show_note(self, asked: str, *, units: bool = False) -> NoteView:
        """One note; its units are cut with the embedder's own tokenizer."""
        from memcli.facade.showing import show

        return show(self, asked, units)

    def status(self) -> Status:
        """The state of the project at a glance."""
        from memcli.facade.inspecting import status_of

        return status_of(self)

    # Activation

    def activate_memory(self, query: str, *, state: bytes | object | None = None) -> Answer:
        """Answer ``query``; ``state`` is the state of an earlier answer, as JSON or parsed.

        Raises ``InvalidInput`` (``invalid_query``, ``invalid_activation_state``)
        before any Run; later errors end the Run as failed and are raised.
        """
        from memcli.facade.activating import ActivationPlan, activate
        from memcli.facade.freshness import freshness_notices
        from memcli.retrieval.chain import valid_query
        from memcli.retrieval.delta import HeldUnit, parse_state, read_state

        asked = valid_query(query)
        identity = self.identity(settle=True)
        held: tuple[HeldUnit, ...] = ()
        if isinstance(state, bytes):
            held = parse_state(state, identity.project_id)
        elif state is not None:
            held = read_state(state, identity.project_id)
        return activate(
            ActivationPlan(
                project_id=identity.project_id,
                query=asked,
                held=held,
                state_given=state is not None,
                storage=self.storage,
                shelf=self.shelf,
                limits=self.configuration.limits,
                history=self.history if self.configuration.record_history else None,
                clock=self.surroundings.clock,
                notices=lambda reader: freshness_notices(self, reader.revision.effective_hash),
                warnings=identity.warnings,
            )
        )

    @staticmethod
    def write_state(answer: Answer, path: Path) -> None:
        """Write the answer's state to ``path``, in one step and for its owner alone."""
        import orjson

        from memcli.locations import write_private

        try:
            write_private(path, orjson.dumps(dict(answer.activation.state)) + b"\n")
        except OSError as error:
            raise Failure(
                "file_unwritable", f"{path} cannot be written: {error.strerror or error}"
            ) from error

    def explain_note(self, query: str, note: str) -> Story:
        """The whole story of one note for one query; nothing is recorded."""
        from memcli.facade.inspecting import explain

        return explain(self, query, note)

    # Evaluation under the present models

    def rerun_evaluation_set(
        self,
        source: CaseSource,
        *,
        rounds: int = 3,
        progress: Progress = lambda stage, done, total: None,
    ) -> RerunView:
        """Ask frozen Cases again of their own corpora; neither index nor history is touched."""
        from memcli.facade.rerunning import rerun

        return rerun(self, source, rounds, progress)

    def gate_evaluation_set(
        self,
        source: CaseSource,
        rules: Sequence[Rule],
        *,
        recorded: bool = False,
        rounds: int = 1,
        progress: Progress = lambda stage, done, total: None,
    ) -> dict[str, Any]:
        """Hold a rerun against rules, or, with ``recorded``, the report of the recorded Runs."""
        from memcli.facade.rerunning import gate

        return gate(self, source, rules, recorded, rounds, progress)
