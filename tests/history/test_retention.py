"""At most 500 ended, unpinned Runs a project; pinned ones and those with a Case stay."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest
from history.conftest import Clock
from history.factory import Corpus, make_activation, numbered_corpus

from memcli.history.digests import seal_run
from memcli.history.pinning import pin_run
from memcli.history.recording import RunRecorder
from memcli.history.runs import get_run, list_runs
from memcli.history.store import HistoryStore
from memcli.retrieval.activation import ActivationFault, ActivationLimits

Record = Callable[..., str]


def fill(store: HistoryStore, count: int, project_id: str = "harbor") -> None:
    """Insert old, ended Runs of one corpus directly: 500 recordings would only take longer."""
    with closing(sqlite3.connect(store.path)) as connection:
        connection.executemany(
            "INSERT INTO retrieval_runs (run_id, project_id, query, status, chain, created_at)"
            " VALUES (?, ?, 'old', 'failed', 'agent_activation.v2', ?)",
            [
                (f"{project_id}-{n:04}", project_id, f"2020-01-01T00:00:00.{n:06}Z")
                for n in range(count)
            ],
        )
        connection.commit()


def ids(store: HistoryStore, project_id: str = "harbor") -> list[str]:
    return [run.run_id for run in list_runs(store, project_id=project_id)]


def test_the_oldest_runs_go_when_a_run_ends(store: HistoryStore, record: Record) -> None:
    first = record(numbered_corpus(2))
    fill(store, 510)
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute(
            "UPDATE retrieval_runs SET created_at = '2019' WHERE run_id = ?", (first,)
        )
        connection.commit()
    newest = record(numbered_corpus(2))
    left = ids(store)
    assert len(left) == 500
    assert left[0] == newest
    assert left[1] == "harbor-0509"
    assert left[-1] == "harbor-0011"
    with closing(sqlite3.connect(store.path)) as connection:
        (orphans,) = connection.execute(
            "SELECT count(*) FROM retrieval_run_candidates WHERE run_id = ?", (first,)
        ).fetchone()
        assert orphans == 0


def test_a_failed_run_counts_as_ended(store: HistoryStore, record: Record) -> None:
    record(numbered_corpus(2))
    fill(store, 500)
    with RunRecorder(store) as recorder:
        run_id = recorder.begin("harbor", "how?", None, ActivationLimits())
        assert len(ids(store)) == 502
        recorder.fail(run_id, ActivationFault("open", "index_not_ready", "nothing built"))
    assert len(ids(store)) == 500


def test_pinned_runs_survive_retention_and_do_not_count(
    store: HistoryStore, record: Record
) -> None:
    record(numbered_corpus(2))
    fill(store, 520)
    pinned = ["harbor-0000", "harbor-0005"]
    for run_id in pinned:
        pin_run(store, run_id, project_id="harbor")
    record(numbered_corpus(2))
    left = ids(store)
    assert len(left) == 502
    assert left[-2:] == ["harbor-0005", "harbor-0000"]


def test_a_run_with_a_case_survives_retention(
    store: HistoryStore, record: Record, make_case: Callable[[str], str]
) -> None:
    source = record(numbered_corpus(2))
    make_case(source)
    fill(store, 500)
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute(
            "UPDATE retrieval_runs SET created_at = '2019' WHERE run_id = ?", (source,)
        )
        seal_run(connection, source)
        connection.commit()
    record(numbered_corpus(2))
    left = ids(store)
    assert len(left) == 501
    assert left[-1] == source
    assert get_run(store, source, project_id="harbor").corpus_is_complete


def test_other_projects_are_not_pruned(store: HistoryStore, record: Record) -> None:
    record(numbered_corpus(2))
    fill(store, 600, "qinghe")
    record(numbered_corpus(2))
    assert len(ids(store, "qinghe")) == 600


def test_a_manifest_goes_with_its_last_run_and_its_bodies_stay_for_clear(
    store: HistoryStore, record: Record
) -> None:
    record(Corpus({"a": "only in an old corpus"}))
    fill(store, 500)
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute(
            "UPDATE retrieval_runs SET created_at = '2019' WHERE status = 'succeeded'"
        )
        connection.commit()
    record(numbered_corpus(2))
    with closing(sqlite3.connect(store.path)) as connection:
        (manifests,) = connection.execute(
            "SELECT count(DISTINCT effective_hash) FROM retrieval_run_resources"
        ).fetchone()
        (blobs,) = connection.execute("SELECT count(*) FROM retrieval_corpus_blobs").fetchone()
    assert manifests == 1
    assert blobs == 3


@pytest.mark.parametrize("hours", [-5])
def test_a_clock_that_went_back_does_not_cost_the_run_just_recorded(
    store: HistoryStore, record: Record, clock: Clock, hours: float
) -> None:
    record(numbered_corpus(2))
    with closing(sqlite3.connect(store.path)) as connection:
        connection.executemany(
            "INSERT INTO retrieval_runs (run_id, project_id, query, status, chain, created_at)"
            " VALUES (?, 'harbor', 'new', 'failed', 'agent_activation.v2', '2999')",
            [(f"future-{n}",) for n in range(500)],
        )
        connection.commit()
    clock.advance(hours=hours)
    corpus = numbered_corpus(2)
    with RunRecorder(store) as recorder:
        run_id = recorder.begin("harbor", "how?", None, ActivationLimits())
        recorder.succeed(run_id, make_activation(corpus), corpus)
    assert run_id in ids(store)
    assert len(ids(store)) == 500
