"""Records one activation as a Retrieval Run: ``running``, then ``succeeded`` or ``failed``."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from types import TracebackType
from typing import Any

from memcli.errors import Conflict, Failure, MemcliError
from memcli.history.clocks import stamp
from memcli.history.corpus import CorpusSource, has_bodies, insert_manifest, is_stored, write_bodies
from memcli.history.damage import reporting_faults
from memcli.history.deletion import prune
from memcli.history.digests import may_be_used_again, seal_manifest, seal_run
from memcli.history.excerpts import SUMMARY_CHARACTERS, excerpt_of, storable
from memcli.history.interruption import INTERRUPTED_CODE, settle_interrupted
from memcli.history.processes import ProcessMark, this_process
from memcli.history.store import HistoryStore
from memcli.retrieval.activation import (
    CHAIN,
    Activation,
    ActivationFault,
    ActivationLimits,
    Candidate,
    Counts,
)
from memcli.sqlite_files import transaction

WRITE_FAILED_CODE = "history_write_failed"
LONGEST_WAIT_SECONDS = 10.0

BEGIN_RUN = """
INSERT INTO retrieval_runs (
    run_id, project_id, query, status, chain, created_at, limits, state_fingerprint, process
) VALUES (?, ?, ?, 'running', ?, ?, ?, ?, ?)
"""
SEE_PROJECT = "UPDATE projects SET last_seen = ? WHERE project_id = ?"
# A Run that somebody took for interrupted is set right by its own process.
OPEN_RUN = f"""
FROM retrieval_runs WHERE run_id = :run_id
AND (status = 'running' OR error_code = '{INTERRUPTED_CODE}')
"""
END_RUN = f"""
UPDATE retrieval_runs SET
    status = :status, completed_at = :completed_at, revision_id = :revision_id,
    effective_hash = :effective_hash, recipe = :recipe, models = :models,
    limits = coalesce(:limits, limits), timings_us = :timings_us,
    resource_count = :resources, unit_count = :units, candidate_count = :candidates,
    reranked_count = :reranked, fragment_count = :fragments, token_count = :tokens,
    lexical = :lexical, removed = :removed, notices = :notices,
    error_stage = :error_stage, error_code = :error_code, error_summary = :error_summary,
    process = NULL
WHERE run_id IN (SELECT run_id {OPEN_RUN})
"""
INSERT_CANDIDATE = """
INSERT INTO retrieval_run_candidates (
    run_id, ordinal, unit_key, content_hash, resource_id, resource_hash, scope, kind, path,
    heading_path, start_line, end_line, start_char, end_char, token_count,
    exact_tier, exact_rank, bm25_rank, bm25_score, vector_rank, vector_score,
    rrf_rank, rrf_score, rerank_rank, rerank_score, rerank_truncated, relevance,
    final_rank, final_score, exclusion_reason, action, excerpt
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
    ?, ?, ?)
"""


class RunRecorder:
    """Writes one Run at a time over one connection, opened by the first call.

    Every method raises ``MemcliError`` or ``OSError`` when it cannot write;
    :func:`memcli.history.best_effort.record_or_warn` makes warnings of these.
    No call waits for another process longer than 10 seconds.
    """

    def __init__(
        self,
        store: HistoryStore,
        *,
        process: ProcessMark | None = None,
        new_id: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> None:
        wait = min(store.lock_wait_seconds, LONGEST_WAIT_SECONDS)
        self._store = replace(store, lock_wait_seconds=wait)
        self._process = process or this_process()
        self._new_id = new_id
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> RunRecorder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; a Run that was not ended counts as interrupted when we end."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with suppress(sqlite3.Error):  # what is committed is committed
                connection.close()

    def begin(
        self,
        project_id: str,
        query: str,
        state_fingerprint: str | None,
        limits: ActivationLimits,
    ) -> str:
        """Store a ``running`` Run of this process and return its id."""
        run_id = self._new_id()
        with self._writing() as connection, transaction(connection):
            now = self._store.now()
            settle_interrupted(connection, now)
            connection.execute(
                BEGIN_RUN,
                (
                    run_id,
                    project_id,
                    storable(query),
                    CHAIN,
                    stamp(now),
                    _json(asdict(limits)),
                    state_fingerprint,
                    self._process.to_json(),
                ),
            )
            connection.execute(SEE_PROJECT, (stamp(now), project_id))
        return run_id

    def succeed(self, run_id: str, activation: Activation, corpus: CorpusSource) -> None:
        """Store the whole activation; the corpus too, unless its effective hash is stored.

        When that fails, the Run ends as ``failed`` with ``history_write_failed``
        if at least that can be written, and the error is raised.

        Raises:
            Failure: ``run_not_found``, when the Run was deleted in the meantime.
        """
        try:
            self._store_success(run_id, activation, corpus)
        except Conflict:
            # Whoever holds the lock would keep this waiting as long again.
            raise
        except (MemcliError, OSError, sqlite3.Error, UnicodeError) as error:
            fault = ActivationFault(
                "record",
                WRITE_FAILED_CODE,
                str(error),
                revision_id=activation.revision_id,
                effective_hash=activation.effective_hash,
                recipe=activation.recipe,
                models=activation.models,
                limits=activation.limits,
                counts=activation.counts,
                timings_us=activation.timings_us,
            )
            # The first error is the one to report; this one would only repeat it.
            with suppress(MemcliError, OSError, sqlite3.Error):
                self.fail(run_id, fault)
            raise

    def fail(self, run_id: str, fault: ActivationFault) -> None:
        """Store how the activation failed and what is known of it; no corpus."""
        with self._writing() as connection, transaction(connection):
            _end_run(
                connection,
                {
                    "run_id": run_id,
                    "status": "failed",
                    "completed_at": stamp(self._store.now()),
                    "revision_id": fault.revision_id,
                    "effective_hash": fault.effective_hash,
                    "recipe": _json(fault.recipe),
                    "models": _json(fault.models),
                    "limits": _json(asdict(fault.limits) if fault.limits else None),
                    "timings_us": _json(fault.timings_us),
                    **_counts(fault.counts),
                    "lexical": None,
                    "removed": None,
                    "notices": None,
                    "error_stage": fault.stage,
                    "error_code": fault.code,
                    "error_summary": excerpt_of(storable(fault.summary), SUMMARY_CHARACTERS),
                },
            )
            seal_run(connection, run_id)
            _prune_project_of(connection, run_id)

    def _store_success(self, run_id: str, activation: Activation, corpus: CorpusSource) -> None:
        effective_hash = activation.effective_hash
        completed_at = stamp(self._store.now())
        with self._writing() as connection:
            with transaction(connection):
                _require_open(connection, run_id)
                known = (
                    is_stored(connection, effective_hash)
                    and may_be_used_again(connection, effective_hash)
                    and has_bodies(connection, self._store.blobs, effective_hash)
                )
                if known:
                    _insert_success(connection, run_id, activation, completed_at)
            if known:
                return
            resources = tuple(corpus.manifest())
            blobs = self._store.blobs
            with blobs.lock(shared=True):
                lengths = write_bodies(connection, blobs, resources, corpus)
                with transaction(connection):
                    insert_manifest(connection, effective_hash, resources, lengths, completed_at)
                    seal_manifest(connection, effective_hash)
                    _insert_success(connection, run_id, activation, completed_at)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with reporting_faults(self._store.path):
            if self._connection is None:
                self._connection = self._store.open_to_write(durable=False)
            yield self._connection


def _require_open(connection: sqlite3.Connection, run_id: str) -> None:
    if connection.execute(f"SELECT 1 {OPEN_RUN}", {"run_id": run_id}).fetchone() is None:
        raise _deleted(run_id)


def _deleted(run_id: str) -> Failure:
    return Failure("run_not_found", f"run {run_id} was deleted while it was working")


def _insert_success(
    connection: sqlite3.Connection, run_id: str, activation: Activation, completed_at: str
) -> None:
    limits = {**asdict(activation.limits), "relevance_floor": activation.relevance_floor}
    lexical = {"terms": activation.lexical_terms, "skipped": activation.lexical_skipped}
    _end_run(
        connection,
        {
            "run_id": run_id,
            "status": "succeeded",
            "completed_at": completed_at,
            "revision_id": activation.revision_id,
            "effective_hash": activation.effective_hash,
            "recipe": _json(activation.recipe),
            "models": _json(activation.models),
            "limits": _json(limits),
            "timings_us": _json(activation.timings_us),
            **_counts(activation.counts),
            "lexical": _json(lexical),
            "removed": _json(activation.removed),
            "notices": _json([asdict(notice) for notice in activation.notices]),
            "error_stage": None,
            "error_code": None,
            "error_summary": None,
        },
    )
    connection.executemany(
        INSERT_CANDIDATE,
        (
            _candidate_row(run_id, ordinal, candidate)
            for ordinal, candidate in enumerate(activation.candidates)
        ),
    )
    seal_run(connection, run_id)
    _prune_project_of(connection, run_id)


def _end_run(connection: sqlite3.Connection, values: Mapping[str, Any]) -> None:
    if connection.execute(END_RUN, values).rowcount != 1:
        raise _deleted(values["run_id"])


def _prune_project_of(connection: sqlite3.Connection, run_id: str) -> None:
    (project_id,) = connection.execute(
        "SELECT project_id FROM retrieval_runs WHERE run_id = ?", (run_id,)
    ).fetchone()
    prune(connection, project_id, run_id)


def _candidate_row(run_id: str, ordinal: int, candidate: Candidate) -> tuple[Any, ...]:
    locator = candidate.locator
    return (
        run_id,
        ordinal,
        candidate.unit_key,
        candidate.content_hash,
        candidate.resource_id,
        candidate.resource_hash,
        str(candidate.scope),
        candidate.kind,
        candidate.path,
        _json(candidate.heading_path),
        locator.start_line,
        locator.end_line,
        locator.start_char,
        locator.end_char,
        candidate.token_count,
        candidate.exact_tier,
        candidate.exact_rank,
        candidate.bm25_rank,
        candidate.bm25_score,
        candidate.vector_rank,
        candidate.vector_score,
        candidate.rrf_rank,
        candidate.rrf_score,
        candidate.rerank_rank,
        candidate.rerank_score,
        candidate.rerank_truncated,
        candidate.relevance,
        candidate.final_rank,
        candidate.final_score,
        candidate.exclusion_reason,
        candidate.action,
        excerpt_of(candidate.text),
    )


def _counts(counts: Counts | None) -> dict[str, int | None]:
    if counts is not None:
        return asdict(counts)
    names = ("resources", "units", "candidates", "reranked", "fragments", "tokens")
    return dict.fromkeys(names)


def _json(value: Any) -> str | None:
    """Compact JSON text, ``None`` for ``None``; read-only mappings count as objects."""
    if value is None:
        return None
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=dict)
