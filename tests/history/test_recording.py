"""A Run holds everything of its activation, and its corpus is stored once."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable

import pytest
from history.factory import Corpus, make_activation, make_candidate, numbered_corpus, sha256
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import Failure
from memcli.history.documents import candidate_document, run_document
from memcli.history.excerpts import EXCERPT_CHARACTERS, excerpt_of
from memcli.history.recording import RunRecorder
from memcli.history.runs import get_run, list_runs
from memcli.history.store import HistoryStore
from memcli.history.traces import candidate_text
from memcli.index.unit import Locator
from memcli.retrieval.activation import ActivationFault, ActivationLimits, Counts

Record = Callable[..., str]


def test_returned_fragments_equal_the_stored_trace(store: HistoryStore, record: Record) -> None:
    corpus = numbered_corpus(30)
    activation = make_activation(corpus)
    detail = get_run(store, record(corpus), project_id="harbor")
    assert len(detail.candidates) == len(activation.candidates)
    for stored, computed in zip(detail.candidates, activation.candidates, strict=True):
        for name in candidate_document(stored):
            expected = computed.text if name == "excerpt" else getattr(computed, name)
            assert getattr(stored, name) == expected, name
        assert stored.rerank_truncated == computed.rerank_truncated
    returned = [one.unit_key for one in detail.candidates if one.final_rank is not None]
    assert returned == [fragment.unit_key for fragment in activation.fragments]


def test_a_succeeded_run_holds_what_was_searched_and_what_came_of_it(
    store: HistoryStore, record: Record
) -> None:
    corpus = numbered_corpus(3)
    run = get_run(store, record(corpus), project_id="harbor").run
    activation = make_activation(corpus)
    assert run.status == "succeeded"
    assert run.query == activation.query
    assert run.revision_id == activation.revision_id
    assert run.effective_hash == corpus.effective_hash
    assert run.recipe == activation.recipe
    assert run.models == activation.models
    assert run.counts == activation.counts
    assert run.limits is not None
    assert run.limits["tokens"] == 2400
    assert run.limits["relevance_floor"] == 0.3
    assert run.timings_us == activation.timings_us
    assert run.lexical_terms == ("moor", "night")
    assert run.lexical_skipped == ("at", "we")
    assert run.removed == ("gone#root~0.0",)
    assert run.notices[0]["code"] == "query_shortened"
    assert run.completed_at is not None
    assert run.completed_at > run.created_at


def test_the_fingerprint_of_the_given_state_is_stored(store: HistoryStore) -> None:
    with RunRecorder(store) as recorder:
        run_id = recorder.begin("harbor", "how?", "f" * 64, ActivationLimits(fragments=3))
    run = get_run(store, run_id, project_id="harbor").run
    assert run.state_fingerprint == "f" * 64
    assert run.status == "running"
    assert run.limits is not None
    assert run.limits["fragments"] == 3


def test_a_failed_run_holds_what_is_known_and_no_corpus(
    store: HistoryStore, record: Record
) -> None:
    corpus = numbered_corpus(3)
    record(corpus)
    fault = ActivationFault(
        "rerank",
        "activation_deadline",
        "s" * 2000,
        revision_id="rev",
        effective_hash=corpus.effective_hash,
        counts=Counts(3, 3, 2, 0, 0, 0),
        timings_us={"open": 5},
    )
    with RunRecorder(store) as recorder:
        run_id = recorder.begin("harbor", "how?", None, ActivationLimits())
        recorder.fail(run_id, fault)
    detail = get_run(store, run_id, project_id="harbor")
    assert detail.run.status == "failed"
    assert detail.run.error is not None
    assert detail.run.error.stage == "rerank"
    assert detail.run.error.code == "activation_deadline"
    assert len(detail.run.error.summary) == 500
    assert detail.run.timings_us == {"open": 5}
    assert detail.run.effective_hash == corpus.effective_hash
    assert detail.resources == ()
    assert not detail.corpus_is_complete


def test_a_run_that_never_had_an_index_is_recorded_as_failed(store: HistoryStore) -> None:
    with RunRecorder(store) as recorder:
        run_id = recorder.begin("harbor", "how?", None, ActivationLimits())
        recorder.fail(run_id, ActivationFault("open", "index_not_ready", "Nothing is built yet."))
    [run] = list_runs(store, project_id="harbor", status="failed")
    assert run.error is not None
    assert run.error.code == "index_not_ready"
    assert run.counts is None


def test_a_known_corpus_is_not_read_again(store: HistoryStore, record: Record) -> None:
    first, second = numbered_corpus(20), numbered_corpus(20)
    record(first)
    run_id = record(second)
    assert first.reads == 21
    assert second.reads == 0
    assert get_run(store, run_id, project_id="harbor").resources == second.resources


def test_only_bodies_that_are_new_are_read_of_a_changed_corpus(
    store: HistoryStore, record: Record
) -> None:
    before = numbered_corpus(20)
    record(before)
    after = Corpus({**before.bodies, "note-3": "rewritten"})
    run_id = record(after)
    assert after.reads == 2
    assert get_run(store, run_id, project_id="harbor").corpus_is_complete


def test_the_full_text_of_a_candidate_comes_from_the_frozen_corpus(
    store: HistoryStore, record: Record
) -> None:
    body = "# 标题\n\n" + "港口 harbour 🚢 " * 200
    corpus = Corpus({"long": body}, description="What the harbour is for.")
    resource = corpus.resources[0]
    text = body[6:2000]
    candidates = (
        make_candidate(resource, text, 1, locator=Locator(3, 3, 6, 2000)),
        make_candidate(
            resource,
            "What the harbour is for.",
            2,
            unit_key="long#description~0.0",
            locator=Locator(1, 1, None, None),
        ),
    )
    detail = get_run(store, record(corpus, candidates=candidates), project_id="harbor")
    assert detail.candidates[0].excerpt == text[:EXCERPT_CHARACTERS]
    texts = [candidate_text(store.blobs, one, detail.resources) for one in detail.candidates]
    assert texts == [text, "What the harbour is for."]


def test_a_text_that_is_not_the_one_searched_is_not_shown(
    store: HistoryStore, record: Record
) -> None:
    corpus = numbered_corpus(1)
    moved = make_candidate(corpus.resources[0], "something else", 1)
    detail = get_run(store, record(corpus, candidates=(moved,)), project_id="harbor")
    with pytest.raises(Failure, match="another text") as caught:
        candidate_text(store.blobs, detail.candidates[0], detail.resources)
    assert caught.value.code == "store_damaged"


def test_a_body_that_contradicts_its_hash_ends_the_run_as_history_write_failed(
    store: HistoryStore,
) -> None:
    corpus = numbered_corpus(2)
    corpus.bodies["note-1"] = "changed behind our back"
    with RunRecorder(store) as recorder:
        run_id = recorder.begin("harbor", "how?", None, ActivationLimits())
        with pytest.raises(Failure, match="note-1"):
            recorder.succeed(run_id, make_activation(corpus), corpus)
    [run] = list_runs(store, project_id="harbor")
    assert run.status == "failed"
    assert run.error is not None
    assert run.error.code == "history_write_failed"
    assert run.error.stage == "record"


def test_a_run_deleted_while_it_worked_is_not_brought_back(store: HistoryStore) -> None:
    corpus = numbered_corpus(2)
    with RunRecorder(store) as recorder:
        run_id = recorder.begin("harbor", "how?", None, ActivationLimits())
        with sqlite3.connect(store.path) as connection:
            connection.execute("DELETE FROM retrieval_runs")
        with pytest.raises(Failure) as caught:
            recorder.succeed(run_id, make_activation(corpus), corpus)
    assert caught.value.code == "run_not_found"
    assert corpus.reads == 0
    assert list_runs(store, project_id=None) == []


def test_an_empty_memory_is_a_complete_corpus(store: HistoryStore, record: Record) -> None:
    detail = get_run(store, record(Corpus({})), project_id="harbor")
    assert detail.resources == ()
    assert detail.corpus_is_complete


def test_a_query_with_bytes_that_are_no_utf8_is_recorded(store: HistoryStore) -> None:
    with RunRecorder(store) as recorder:
        run_id = recorder.begin("harbor", "caf\udce9 [/b] \x00 概览", None, ActivationLimits())
    assert get_run(store, run_id, project_id="harbor").run.query == "caf� [/b] \x00 概览"


def test_runs_show_has_exactly_the_names_of_the_design(store: HistoryStore, record: Record) -> None:
    document = run_document(get_run(store, record(numbered_corpus(3)), project_id="harbor"))
    assert list(document) == ["schema", "run", "case", "candidates", "resources"]
    assert document["case"] is None
    assert list(document["run"]) == [
        "run_id",
        "project_id",
        "query",
        "status",
        "created_at",
        "completed_at",
        "revision_id",
        "effective_hash",
        "chain",
        "recipe",
        "models",
        "counts",
        "limits",
        "timings_us",
        "error",
        "pinned",
    ]
    assert set(document["candidates"][0]) == {
        "unit_key",
        "content_hash",
        "resource_id",
        "resource_hash",
        "scope",
        "kind",
        "path",
        "heading_path",
        "locator",
        "token_count",
        "exact_tier",
        "exact_rank",
        "bm25_rank",
        "bm25_score",
        "vector_rank",
        "vector_score",
        "rrf_rank",
        "rrf_score",
        "rerank_rank",
        "rerank_score",
        "relevance",
        "final_rank",
        "final_score",
        "exclusion_reason",
        "action",
        "excerpt",
    }
    assert list(document["candidates"][0]["locator"]) == (
        ["start_line", "end_line", "start_char", "end_char"]
    )
    assert list(document["resources"][0]) == [
        "ordinal",
        "resource_id",
        "scope",
        "kind",
        "path",
        "title",
        "description",
        "resource_hash",
        "body_sha256",
    ]
    assert document["run"]["counts"] == {
        "resources": 3,
        "units": 3,
        "candidates": 3,
        "reranked": 3,
        "fragments": 2,
        "tokens": document["run"]["counts"]["tokens"],
    }


def test_body_hashes_name_the_bodies(store: HistoryStore, record: Record) -> None:
    corpus = numbered_corpus(2)
    detail = get_run(store, record(corpus), project_id="harbor")
    for resource in detail.resources:
        body = store.blobs.read(resource.body_sha256).decode()
        assert sha256(body) == resource.body_sha256
        assert body == corpus.bodies[resource.resource_id]


@given(st.text(max_size=900))
def test_an_excerpt_is_a_bounded_beginning(text: str) -> None:
    excerpt = excerpt_of(text)
    assert text.startswith(excerpt)
    assert len(excerpt) <= EXCERPT_CHARACTERS
    assert len(excerpt) >= min(len(text), EXCERPT_CHARACTERS - 16)


def test_an_excerpt_does_not_take_a_letter_from_its_accent() -> None:
    assert excerpt_of("a" * 399 + "e\u0301" + "b" * 9) == "a" * 399
    assert excerpt_of("a" * 399 + "👩\u200d🔬" + "b" * 9) == "a" * 399


def test_bodies_that_were_lost_are_written_again_with_the_next_run(
    store: HistoryStore, record: Record
) -> None:
    """Somebody removed the folder of bodies: the next Run is complete again."""
    corpus = numbered_corpus(200)
    record(corpus)
    shutil.rmtree(store.blobs.blobs)
    again = get_run(store, record(corpus), project_id="harbor")
    for resource in again.resources:
        assert store.blobs.read(resource.body_sha256)
