"""Makes Evaluation Cases: freezes the corpus and the trace of a Run, once."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass

from memcli.errors import Failure, NotReady
from memcli.evaluation.cases import DRAFT, SELECT_CASE, Case
from memcli.evaluation.frozen import canonical_manifest
from memcli.history.blobs import BlobStore
from memcli.history.case_digests import seal_case
from memcli.history.clocks import stamp
from memcli.history.digests import DamagedRecord
from memcli.history.runs import RunDetail, get_run
from memcli.history.store import HistoryStore
from memcli.sqlite_files import transaction

NewId = Callable[[], str]

CASE_OF_RUN = f"{SELECT_CASE} WHERE run_id = ?"
STATUS_OF_RUN = "SELECT status FROM retrieval_runs WHERE run_id = ?"
NAMED_WITHOUT_ROW = """
SELECT path FROM retrieval_run_resources AS resource WHERE effective_hash = ?
AND NOT EXISTS (SELECT 1 FROM retrieval_corpus_blobs WHERE sha256 = resource.body_sha256)
ORDER BY ordinal LIMIT 1
"""
INSERT_CORPUS = """
INSERT OR IGNORE INTO evaluation_corpora (corpus_hash, effective_hash, created_at)
VALUES (?, ?, ?)
"""
INSERT_RESOURCE = """
INSERT INTO evaluation_corpus_resources (
    corpus_hash, ordinal, resource_id, scope, kind, path, title, description,
    resource_hash, body_sha256
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
INSERT_CASE = f"""
INSERT INTO evaluation_cases (
    case_id, run_id, project_id, query, corpus_hash, status, version, created_at, updated_at
) VALUES (?, ?, ?, ?, ?, '{DRAFT}', 1, ?, ?)
"""


@dataclass(frozen=True, slots=True)
class Creation:
    """What became of the Run named by ``reference``: its Case, new or not, or the refusal."""

    reference: str
    case: Case | None
    is_new: bool
    refusal: NotReady | None


def new_case_id() -> str:
    return secrets.token_hex(8)


def create_case(
    store: HistoryStore, run_reference: str, *, project_id: str, new_id: NewId = new_case_id
) -> Case:
    """The one Case of a Run: a new ``draft`` of version 1, or the one that was made before.

    The Run is kept from now on by retention, ``clear`` and ``runs delete``.

    Raises:
        NotReady: ``run_not_evaluable`` with the reason, when the Run failed or
            still runs, or its corpus is not whole any more.
        Failure: ``run_not_found``, ``history_write_failed``. Conflict: ``busy``.
    """
    return _create(store, run_reference, project_id, set(), new_id)[0]


def create_cases(
    store: HistoryStore,
    run_references: Iterable[str],
    *,
    project_id: str,
    new_id: NewId = new_case_id,
) -> list[Creation]:
    """One :class:`Creation` for each Run, refused ones too: none is silently left out.

    Bodies that several Runs share are verified once.

    Raises:
        Failure: ``run_not_found``; Cases made before it stay.
    """
    verified: set[str] = set()
    made = []
    for reference in run_references:
        try:
            case, is_new = _create(store, reference, project_id, verified, new_id)
        except NotReady as refusal:
            made.append(Creation(reference, None, False, refusal))
        else:
            made.append(Creation(reference, case, is_new, None))
    return made


def _create(
    store: HistoryStore, reference: str, project_id: str, verified: set[str], new_id: NewId
) -> tuple[Case, bool]:
    try:
        detail = get_run(store, reference, project_id=project_id)
    except DamagedRecord as error:
        raise _refused(reference, error.message) from error
    if detail.run.case is not None:
        existing = _existing(store, detail.run.run_id)
        if existing is not None:
            return existing, False
    _refuse_without_answer(detail)
    manifest = canonical_manifest(detail.resources)
    corpus_hash = hashlib.sha256(manifest).hexdigest()
    try:
        # Held from the first look at the bodies to the commit of the rows that
        # name them: no collector runs in between.
        with store.blobs.lock(shared=True):
            _refuse_unsound_bodies(store.blobs, detail, verified)
            with store.writing() as connection, transaction(connection):
                return _insert(connection, store, detail, corpus_hash, new_id)
    except OSError as error:
        raise Failure(
            "history_write_failed",
            f"the history in {store.home} cannot be written: {error.strerror or error}",
        ) from error


def _insert(
    connection: sqlite3.Connection,
    store: HistoryStore,
    detail: RunDetail,
    corpus_hash: str,
    new_id: NewId,
) -> tuple[Case, bool]:
    run = detail.run
    row = connection.execute(CASE_OF_RUN, (run.run_id,)).fetchone()
    if row is not None:
        return Case(*row), False
    status = connection.execute(STATUS_OF_RUN, (run.run_id,)).fetchone()
    if status is None:
        raise Failure("run_not_found", f"run {run.run_id} was deleted in the meantime")
    missing = connection.execute(NAMED_WITHOUT_ROW, (run.effective_hash,)).fetchone()
    if missing is not None:
        raise _refused(run.run_id, f"the body of {missing[0]} is not registered in the store")
    now = stamp(store.now())
    if connection.execute(INSERT_CORPUS, (corpus_hash, run.effective_hash, now)).rowcount:
        connection.executemany(
            INSERT_RESOURCE, ((corpus_hash, *astuple(resource)) for resource in detail.resources)
        )
    values = (new_id(), run.run_id, run.project_id, run.query, corpus_hash, now, now)
    connection.execute(INSERT_CASE, values)
    seal_case(connection, values[0])
    return Case(*connection.execute(CASE_OF_RUN, (run.run_id,)).fetchone()), True


def _existing(store: HistoryStore, run_id: str) -> Case | None:
    with store.reading() as connection:
        row = connection.execute(CASE_OF_RUN, (run_id,)).fetchone() if connection else None
        return Case(*row) if row else None


def _refuse_without_answer(detail: RunDetail) -> None:
    run = detail.run
    if run.status == "running":
        raise _refused(run.run_id, "it is still running")
    if run.status != "succeeded":
        why = f": {run.error.code}: {run.error.summary}" if run.error else ""
        raise _refused(run.run_id, f"it failed{why}")
    if not detail.corpus_is_complete:
        searched = run.counts.resources if run.counts else 0
        have = len(detail.resources)
        raise _refused(run.run_id, f"its corpus is not whole: {have} of {searched} resources")


def _refuse_unsound_bodies(blobs: BlobStore, detail: RunDetail, verified: set[str]) -> None:
    for resource in detail.resources:
        if resource.body_sha256 in verified:
            continue
        try:
            blobs.read(resource.body_sha256).decode("utf-8")
        except (Failure, UnicodeDecodeError) as error:
            what = error.message if isinstance(error, Failure) else str(error)
            reason = f"the body of {resource.path} is missing or damaged: {what}"
            raise _refused(detail.run.run_id, reason) from error
        verified.add(resource.body_sha256)


def _refused(run_id: str, reason: str) -> NotReady:
    return NotReady(
        "run_not_evaluable",
        f"run {run_id} cannot become an evaluation case: {reason}",
        "Ask the query again with `memcli activate` and use the new run.",
    )
