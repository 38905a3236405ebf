"""Build the index: a new revision beside the head, then the head moves in one transaction."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memcli.errors import MemcliError
from memcli.index import fts, fts_digests
from memcli.index.build_context import BuildContext
from memcli.index.build_report import BuildProgress, BuildSummary
from memcli.index.connection import BUSY_SECONDS
from memcli.index.derived_files import ensure_derived_files, write_derived_files
from memcli.index.embedding import Embedder
from memcli.index.faults import is_damage, storage_fault, storage_faults
from memcli.index.locking import BuildHolder, build_lock
from memcli.index.passage_embedding import embed_missing
from memcli.index.recipe import Recipe, recipe_of
from memcli.index.retention import discard_leftovers, prune
from memcli.index.revision_writing import (
    begin_revision,
    known_headings,
    mark_failed,
    mark_ready,
    refresh_lines,
    write_units,
)
from memcli.index.revisions import (
    READY,
    RevisionInfo,
    all_revisions,
    find_revision,
    move_head,
    read_head,
    set_kept,
)
from memcli.index.schema import create_index, open_index
from memcli.index.storage import IndexStorage
from memcli.index.swap import rows_beside
from memcli.index.token_filling import fill_token_vectors, make_room
from memcli.index.token_store import TokenVectorStore
from memcli.index.unit_plan import PlannedResource, plan_units
from memcli.index.vector_cache import document_frequencies, usable_hashes
from memcli.index.vector_salvage import salvage_vectors
from memcli.index.verification import require_whole
from memcli.locations import private_directory
from memcli.memory.resource import EffectiveMemory
from memcli.sqlite_files import transaction

Synthesize = Callable[[Mapping[str, str | None]], EffectiveMemory]


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """``swap``: move the head when ready; ``force``: build though an equal one is ready."""

    swap: bool = True
    force: bool = False
    keep: bool = False


def build_index(
    storage: IndexStorage,
    synthesize: Synthesize,
    embedder: Embedder,
    *,
    now: Callable[[], datetime],
    clock: Callable[[], float],
    new_revision_id: Callable[[], str],
    swap: bool = True,
    force: bool = False,
    keep: bool = False,
    wait: bool = True,
    token_vectors_mb: int = 512,
    progress: Callable[[BuildProgress], None] = lambda progress: None,
    on_wait: Callable[[BuildHolder], None] = lambda holder: None,
    check_cancelled: Callable[[], None] = lambda: None,
    on_ready: Callable[[EffectiveMemory], None] = lambda memory: None,
) -> BuildSummary:
    """Make a ready revision of the memory that ``synthesize`` gives, and move the head to it.

    ``synthesize`` is called under the build lock with the first headings that
    are known already. An equal ready revision is used as it is, unless
    ``force``, which cuts everything again and makes the full-text table anew.
    ``on_ready`` is told the memory under the lock too, as soon as its revision is
    ready and the head has moved: of two builds the later one tells last.
    Whatever ends a build leaves the head as it was and keeps computed vectors.

    Raises ``Conflict`` ``busy`` (another build runs and ``wait`` is false),
    ``Failure`` ``store_too_new``, ``storage_full``, ``storage_unwritable``.
    """
    options = BuildOptions(swap, force, keep)
    with storage_faults(storage.database):
        private_directory(storage.directory)
        lock = build_lock(
            storage, now=now, wait=wait, on_wait=on_wait, check_cancelled=check_cancelled
        )
        with lock:

            def attempt(recreated: bool) -> BuildSummary:
                with contextlib.ExitStack() as stack:
                    connection = stack.enter_context(
                        contextlib.closing(open_index(storage.database))
                    )
                    tokens = TokenVectorStore(storage.token_vectors, token_vectors_mb * 2**20)
                    stack.callback(tokens.close)
                    context = BuildContext(
                        storage,
                        connection,
                        tokens,
                        embedder,
                        now,
                        clock,
                        progress,
                        check_cancelled,
                        on_ready,
                    )
                    return _build(context, synthesize, new_revision_id, options, recreated)

            try:
                return attempt(recreated=False)
            except (sqlite3.Error, MemcliError) as error:
                if not _says_damaged(error):
                    raise
            # The index is a cache: what is damaged or of an older schema is replaced.
            create_index(storage.database, lambda fresh: salvage_vectors(storage.database, fresh))
            return attempt(recreated=True)


def _says_damaged(error: sqlite3.Error | MemcliError) -> bool:
    if isinstance(error, MemcliError):
        return error.code == "index_damaged"
    return is_damage(error)


def _build(
    context: BuildContext,
    synthesize: Synthesize,
    new_revision_id: Callable[[], str],
    options: BuildOptions,
    recreated: bool,
) -> BuildSummary:
    connection = context.connection
    discard_leftovers(connection, context.storage)
    with context.stage("verify") as told:
        told(0, 0)
        # What is copied from a damaged row would be damaged for good.
        require_whole(connection)
    recipe = recipe_of(context.embedder)
    with context.stage("memory") as told:
        told(0, 0)
        headings = known_headings(connection, recipe.recipe_hash)
        memory = synthesize(headings)
    equal = None if options.force else _equal_revision(connection, memory, recipe)
    old_head = read_head(connection).head
    if equal is not None:
        revision_id, embedded, reused = equal.revision_id, 0, equal.unit_count
        _use(context, equal, memory, options)
    else:
        revision_id = new_revision_id()
        created_at = context.now().isoformat()
        begin_revision(
            connection, revision_id, memory, recipe, context.embedder, created_at, options.keep
        )
        with _failure_recorded(connection, revision_id):
            embedded, reused = _create(context, revision_id, memory, recipe, headings, options)
    context.on_ready(memory)
    prune(connection, context.storage)
    with context.stage("tokens") as told:
        coverage = fill_token_vectors(context, revision_id, told)
    _checkpoint(connection)
    revision = find_revision(connection, revision_id)
    assert revision is not None
    head = read_head(connection).head
    return BuildSummary(
        revision_id=revision_id,
        effective_hash=memory.effective_hash,
        created=equal is None,
        swapped=head != old_head,
        head=head,
        recreated=recreated,
        resources=revision.resource_count,
        units=revision.unit_count,
        embedded=embedded,
        reused=reused,
        token_vectors_stored=coverage.stored,
        token_vectors_missing=coverage.missing,
        left_out=memory.left_out,
        warnings=memory.warnings,
        timings=dict(context.timings),
    )


def _equal_revision(
    connection: sqlite3.Connection, memory: EffectiveMemory, recipe: Recipe
) -> RevisionInfo | None:
    """The ready revision of this memory and recipe: the head if it is one, else the newest."""
    equal = [
        each
        for each in all_revisions(connection)
        if each.status == READY
        and each.effective_hash == memory.effective_hash
        and each.recipe_hash == recipe.recipe_hash
    ]
    return max(equal, key=lambda each: each.is_head, default=None) if equal else None


def _use(
    context: BuildContext, revision: RevisionInfo, memory: EffectiveMemory, options: BuildOptions
) -> None:
    """Nothing is built: see that what is there is whole, and move the head if it is elsewhere."""
    connection, revision_id = context.connection, revision.revision_id
    with context.stage("verify") as told:
        told(0, 0)
        is_damaged = not fts_digests.hold(connection)
        refresh_lines(connection, revision_id, memory)
        ensure_derived_files(connection, context.storage, revision_id)
    if options.keep:
        with transaction(connection):
            set_kept(connection, revision_id, True)
    with context.stage("swap") as told, contextlib.ExitStack() as stack:
        if _has_to_move(connection, revision, options, is_damaged):
            stack.enter_context(
                rows_beside(connection, context.storage, revision_id, told, is_damaged)
            )
        stack.enter_context(transaction(connection))
        # Once more: somebody else may have swapped the head meanwhile.
        if _has_to_move(connection, revision, options, is_damaged):
            anew = is_damaged or read_head(connection).head == revision_id
            move_head(connection, revision_id, context.now().isoformat(), told, anew)


def _has_to_move(
    connection: sqlite3.Connection, revision: RevisionInfo, options: BuildOptions, is_damaged: bool
) -> bool:
    """Whether the revision is to become the head, or is it without its full-text rows."""
    if read_head(connection).head != revision.revision_id:
        return options.swap
    return is_damaged or not fts.holds(connection, revision.revision_id, revision.unit_count)


def _create(
    context: BuildContext,
    revision_id: str,
    memory: EffectiveMemory,
    recipe: Recipe,
    headings: Mapping[str, str | None],
    options: BuildOptions,
) -> tuple[int, int]:
    """Build the revision; returns how many passages were embedded and units' vectors reused."""
    connection, embedder = context.connection, context.embedder
    with context.stage("cut") as told:
        planned = plan_units(
            connection,
            memory.resources,
            recipe.recipe_hash,
            embedder.count_tokens,
            told,
            copy=not options.force,
        )
    with context.stage("embed") as told:
        embedded, units_embedded = _embed(context, planned, told, options)
    with context.stage("write") as told:
        write_units(connection, revision_id, planned, embedder.embedding_revision, headings, told)
        write_derived_files(
            connection,
            context.storage,
            revision_id,
            embedder.dimension,
            from_head=not options.force,
        )
        frequencies = document_frequencies(connection, revision_id, embedder.embedding_revision)
    with context.stage("swap") as told, contextlib.ExitStack() as stack:
        anew = options.swap and (options.force or not fts_digests.hold(connection))
        if options.swap:
            stack.enter_context(rows_beside(connection, context.storage, revision_id, told, anew))
        stack.enter_context(transaction(connection))
        moment = context.now().isoformat()
        mark_ready(connection, revision_id, moment, frequencies)
        if options.swap:
            move_head(connection, revision_id, moment, told, anew=anew)
    return embedded, sum(each.unit_count for each in planned) - units_embedded


def _embed(
    context: BuildContext,
    planned: Sequence[PlannedResource],
    told: Callable[[int, int], None],
    options: BuildOptions,
) -> tuple[int, int]:
    """Embed what has no usable vector; returns the passages and the units that was."""
    revision = context.embedder.embedding_revision
    units = [unit for resource in planned for unit in resource.units]
    passages = {unit.input_hash: unit.passage for unit in units}
    usable = usable_hashes(context.connection, list(passages), revision)
    missing = {each: passage for each, passage in passages.items() if each not in usable}
    if options.force:
        context.tokens.drop_damaged()
    tokens = {
        unit.input_hash: unit.unit.token_count for unit in units if unit.input_hash in missing
    }
    has_room = make_room(context, tokens, protected=passages.keys())
    keep_tokens = has_room and not context.tokens.gives_none(revision)
    embed_missing(context, missing, told, keep_tokens=keep_tokens)
    return len(missing), sum(unit.input_hash in missing for unit in units)


@contextlib.contextmanager
def _failure_recorded(connection: sqlite3.Connection, revision_id: str) -> Iterator[None]:
    """Leave the reason with a revision that could not be finished, whatever ended it."""
    try:
        yield
    except BaseException as error:
        damaged = isinstance(error, (sqlite3.Error, MemcliError)) and _says_damaged(error)
        if not damaged:
            # If not even this can be written, the next build removes the unfinished revision.
            with contextlib.suppress(sqlite3.Error):
                mark_failed(connection, revision_id, *_reason(error))
        raise


def _reason(error: BaseException) -> tuple[str, str]:
    if isinstance(error, (sqlite3.Error, OSError)):
        error = storage_fault(error, Path(".memcli")) or error
    if isinstance(error, MemcliError):
        return error.code, error.message
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", "it was interrupted"
    return type(error).__name__, str(error) or type(error).__name__


def _checkpoint(connection: sqlite3.Connection) -> None:
    """Move the log into the database now, unless readers are in the way: they never wait."""
    connection.execute("PRAGMA busy_timeout = 0")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
