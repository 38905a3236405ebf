"""The frozen Cases of the central store as an evaluation set, each checked before it counts."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from memcli.errors import Conflict, Failure
from memcli.evaluation.cases import (
    EFFECTIVE_HASH,
    LIST_CASES,
    READY,
    Case,
    case_not_found,
    find_case,
    is_frozen_corpus,
    read_evidence,
    read_frozen_manifest,
)
from memcli.evaluation.frozen import (
    CASE_DAMAGED,
    RUN_DAMAGED,
    WHY_NOT,
    ExcludedCase,
    FrozenCase,
    FrozenCorpus,
)
from memcli.evaluation.rankings import C, Ranked, RankedUnit
from memcli.evaluation.source_runs import has_source_run, read_source_run
from memcli.history.blobs import BlobStore
from memcli.history.case_digests import is_whole_case
from memcli.history.digests import is_whole_run
from memcli.history.store import HistoryStore
from memcli.history.traces import RecordedCandidate, read_candidates
from memcli.sqlite_files import snapshot

# Corpora whose hashes stay in memory; Cases of one project mostly share a few.
CORPORA_AT_HAND = 64

HASHES = """
SELECT resource_id, resource_hash FROM evaluation_corpus_resources WHERE corpus_hash = ?
"""
RANKS = f"""
SELECT {", ".join(RankedUnit._fields)}
FROM retrieval_run_candidates WHERE run_id = ? ORDER BY ordinal
"""
UNFOUNDED = """
SELECT 1 FROM evaluation_evidence AS item WHERE case_id = :case_id
AND NOT EXISTS (
    SELECT 1 FROM retrieval_run_candidates AS one
    WHERE one.run_id = :run_id AND one.unit_key = item.unit_key
)
AND (item.unit_key IS NOT NULL OR NOT EXISTS (
    SELECT 1 FROM evaluation_corpus_resources AS frozen
    WHERE frozen.corpus_hash = :corpus_hash AND frozen.resource_id = item.resource_id
)) LIMIT 1
"""
BODIES = "SELECT body_sha256 FROM evaluation_corpus_resources WHERE corpus_hash = ?"


@contextmanager
def stored_set(
    store: HistoryStore, *, project_id: str | None, references: Sequence[str] | None = None
) -> Iterator[StoredSet]:
    """The Cases of one project (``None``: of all), or just those named, at one moment.

    Every Case of the selection is either in the set or among its ``excluded``.

    Raises:
        Failure: ``case_not_found``, ``store_damaged``, ``store_too_new``.
    """
    with store.reading() as connection:
        if connection is None:
            if references:
                raise case_not_found(references[0], "there are no cases yet")
            yield StoredSet(None, store.blobs, ())
            return
        with snapshot(connection):
            yield StoredSet(connection, store.blobs, _selected(connection, project_id, references))


def _selected(
    connection: sqlite3.Connection, project_id: str | None, references: Sequence[str] | None
) -> list[Case]:
    if references is None:
        condition = {"project_id": project_id, "status": None}
        cases = [Case(*row) for row in connection.execute(LIST_CASES, condition)]
    else:
        cases = [find_case(connection, reference, project_id) for reference in references]
    return [case for _, case in sorted({case.case_id: case for case in cases}.items())]


class StoredSet:
    """An :class:`~memcli.evaluation.frozen.EvaluationSet` over one read transaction."""

    def __init__(
        self, connection: sqlite3.Connection | None, blobs: BlobStore, selected: Sequence[Case]
    ) -> None:
        self._connection = connection
        self._blobs = blobs
        self._hashes: OrderedDict[str, Mapping[str, str]] = OrderedDict()
        self._sound: dict[str, bool] = {}
        self._corpora: dict[str, str | None] = {}
        self._cases: list[Case] = []
        self._excluded: list[ExcludedCase] = []
        for case in selected:
            reason = self._damage_of(case) or WHY_NOT.get(case.status) or self._fault_of(case)
            if reason is None:
                self._cases.append(case)
            else:
                self._excluded.append(ExcludedCase(case.case_id, case.status, reason))

    @property
    def case_count(self) -> int:
        return len(self._cases)

    @property
    def excluded(self) -> Sequence[ExcludedCase]:
        return self._excluded

    def frozen_cases(self) -> Iterator[FrozenCase[RecordedCandidate]]:
        for case in self._cases:
            yield self._frozen(case, read_candidates(self._reading, case.run_id))

    def ranked_cases(self) -> Iterator[FrozenCase[Ranked]]:
        for case in self._cases:
            rows = self._reading.execute(RANKS, (case.run_id,))
            yield self._frozen(case, tuple(RankedUnit(*row) for row in rows))

    def corpora(self) -> Iterator[FrozenCorpus]:
        for corpus_hash in sorted({case.corpus_hash for case in self._cases}):
            (effective_hash,) = self._reading.execute(EFFECTIVE_HASH, (corpus_hash,)).fetchone()
            resources = read_frozen_manifest(self._reading, corpus_hash)
            yield FrozenCorpus(corpus_hash, effective_hash, resources)

    def resource_hashes(self, corpus_hash: str) -> Mapping[str, str]:
        if corpus_hash not in self._hashes:
            self._hashes[corpus_hash] = dict(self._reading.execute(HASHES, (corpus_hash,)))
            if len(self._hashes) > CORPORA_AT_HAND:
                self._hashes.popitem(last=False)
        self._hashes.move_to_end(corpus_hash)
        return self._hashes[corpus_hash]

    def body_hashes(self) -> Sequence[str]:
        named: set[str] = set()
        for corpus_hash in {case.corpus_hash for case in self._cases}:
            named.update(row[0] for row in self._reading.execute(BODIES, (corpus_hash,)))
        return sorted(named)

    def body(self, body_sha256: str) -> str:
        """One body.

        Raises:
            Conflict: ``busy``, when it was collected after the set was opened.
        """
        try:
            return self._blobs.read(body_sha256).decode("utf-8")
        except Failure as error:
            raise Conflict(
                "busy",
                "the frozen bodies changed while they were read",
                "A case was deleted meanwhile; try again.",
            ) from error

    def _frozen(self, case: Case, candidates: tuple[C, ...]) -> FrozenCase[C]:
        run = read_source_run(self._reading, case.run_id)
        assert run is not None  # looked for when the set was opened, in this snapshot
        return FrozenCase(
            case_id=case.case_id,
            project_id=case.project_id,
            query=case.query,
            version=case.version,
            corpus_hash=case.corpus_hash,
            evidence=read_evidence(self._reading, case.case_id),
            run=run,
            candidates=candidates,
        )

    @property
    def _reading(self) -> sqlite3.Connection:
        assert self._connection is not None, "an empty set has no cases to read"
        return self._connection

    def _damage_of(self, case: Case) -> str | None:
        if not is_whole_case(self._reading, case.case_id):
            return CASE_DAMAGED
        if case.status == READY and not is_whole_run(self._reading, case.run_id):
            return RUN_DAMAGED
        return None

    def _fault_of(self, case: Case) -> str | None:
        """Why a ready Case cannot be scored; as exports hold it, it names no path of this host."""
        if not case.evidence_count:
            return "it is ready without evidence: the store was changed by hand"
        if not has_source_run(self._reading, case.run_id):
            return "its source run is gone"
        names = {"case_id": case.case_id, "run_id": case.run_id, "corpus_hash": case.corpus_hash}
        if self._reading.execute(UNFOUNDED, names).fetchone():
            return "its evidence names what neither its trace nor its corpus has"
        if case.corpus_hash not in self._corpora:
            self._corpora[case.corpus_hash] = self._fault_of_corpus(case.corpus_hash)
        return self._corpora[case.corpus_hash]

    def _fault_of_corpus(self, corpus_hash: str) -> str | None:
        resources = read_frozen_manifest(self._reading, corpus_hash)
        if not is_frozen_corpus(self._reading, corpus_hash, resources):
            return "its frozen manifest is damaged"
        for resource in resources:
            if not self._is_sound(resource.body_sha256):
                return f"the frozen body of {resource.path} is missing or damaged"
        return None

    def _is_sound(self, body_sha256: str) -> bool:
        if body_sha256 not in self._sound:
            try:
                self._blobs.read(body_sha256).decode("utf-8")
            except (Failure, UnicodeDecodeError):
                self._sound[body_sha256] = False
            else:
                self._sound[body_sha256] = True
        return self._sound[body_sha256]
