"""Listing Runs, naming one, and comparing two."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from history.conftest import Clock
from history.factory import Corpus, make_activation, make_candidate, numbered_corpus

from memcli.errors import Failure
from memcli.history.diff import diff_runs
from memcli.history.documents import diff_document, run_document, run_list_document
from memcli.history.projects import CentralRegistry
from memcli.history.recording import RunRecorder
from memcli.history.runs import get_run, list_runs
from memcli.history.store import HistoryStore
from memcli.retrieval.activation import ActivationFault, ActivationLimits

Record = Callable[..., str]


def fail_run(store: HistoryStore, project_id: str = "harbor") -> str:
    with RunRecorder(store) as recorder:
        run_id = recorder.begin(project_id, "how?", None, ActivationLimits())
        recorder.fail(run_id, ActivationFault("open", "index_not_ready", "nothing built"))
    return run_id


def begin_with_id(store: HistoryStore, run_id: str, project_id: str = "harbor") -> None:
    with RunRecorder(store, new_id=lambda: run_id) as recorder:
        recorder.begin(project_id, "how?", None, ActivationLimits())


def test_runs_are_listed_newest_first_and_filtered(
    store: HistoryStore, record: Record, clock: Clock
) -> None:
    one = record(numbered_corpus(2))
    two = fail_run(store)
    clock.advance(hours=1)
    since = clock()
    three = record(numbered_corpus(2))
    other = record(numbered_corpus(2), project_id="qinghe")

    def listed(**filters: Any) -> list[str]:
        return [run.run_id for run in list_runs(store, **{"project_id": "harbor", **filters})]

    assert listed() == [three, two, one]
    assert listed(project_id=None) == [other, three, two, one]
    assert listed(limit=2) == [three, two]
    assert listed(limit=0) == []
    assert listed(status="failed") == [two]
    assert listed(status="succeeded", limit=1) == [three]
    assert listed(since=since) == [three]
    zone = timezone(timedelta(hours=8))
    assert listed(since=since.astimezone(zone)) == [three]
    assert listed(since=datetime(2100, 1, 1, tzinfo=timezone.utc)) == []


def test_a_listed_run_tells_its_project_and_how_it_ended(
    store: HistoryStore, record: Record
) -> None:
    CentralRegistry(store).remember("harbor", "/srv/harbor")
    record(numbered_corpus(2))
    fail_run(store)
    failed, succeeded = run_list_document(list_runs(store, project_id="harbor"))["runs"]
    assert failed["error"] == {
        "stage": "open",
        "code": "index_not_ready",
        "summary": "nothing built",
    }
    assert failed["counts"] is None
    assert succeeded["counts"]["fragments"] == 2
    assert succeeded["error"] is None
    assert "recipe" not in succeeded
    assert list_runs(store, project_id="harbor")[0].project_root == "/srv/harbor"


def test_a_run_is_named_by_id_unique_prefix_or_last(store: HistoryStore) -> None:
    for run_id in ("aa11", "aa12", "b1", "b1c"):
        begin_with_id(store, run_id)

    def found(reference: str, project_id: str = "harbor") -> str:
        return get_run(store, reference, project_id=project_id).run.run_id

    assert found("aa11") == "aa11"
    assert found("aa12") == "aa12"
    assert found("b1") == "b1"
    assert found("b1c") == "b1c"
    assert found(" B1C ") == "b1c"
    assert found("last") == "b1c"
    with pytest.raises(Failure, match="several runs begin so: aa11, aa12") as caught:
        found("aa")
    assert caught.value.code == "run_not_found"
    for nonsense in ("", "%", "a_", "zz", "aa111"):
        with pytest.raises(Failure) as caught:
            found(nonsense)
        assert caught.value.code == "run_not_found"


def test_an_unknown_id_suggests_near_ones(store: HistoryStore) -> None:
    begin_with_id(store, "3f9a61c2b8d04e77")
    begin_with_id(store, "c0ffee00c0ffee00")
    for typed in ("3f9a61c2b8d04e7f", "3f9b61"):
        with pytest.raises(Failure, match="did you mean 3f9a61c2b8d04e77"):
            get_run(store, typed, project_id="harbor")


def test_a_run_of_another_project_is_found_and_tells_its_project(store: HistoryStore) -> None:
    begin_with_id(store, "ab12")
    begin_with_id(store, "ab34", "qinghe")
    assert get_run(store, "ab34", project_id="harbor").run.project_id == "qinghe"
    assert get_run(store, "ab", project_id="harbor").run.run_id == "ab12"
    assert get_run(store, "ab", project_id="qinghe").run.run_id == "ab34"
    with pytest.raises(Failure, match="this project has no runs yet"):
        get_run(store, "last", project_id="third")


def test_before_the_first_run_there_is_nothing_and_no_store_is_made(store: HistoryStore) -> None:
    assert list_runs(store, project_id=None) == []
    with pytest.raises(Failure, match="no runs yet"):
        get_run(store, "last", project_id="harbor")
    assert not store.home.exists()


def test_a_run_with_a_case_shows_it(
    store: HistoryStore, record: Record, make_case: Callable[[str], str]
) -> None:
    run_id = record(numbered_corpus(2))
    case_id = make_case(run_id)
    document = run_document(get_run(store, run_id, project_id="harbor"))
    assert document["case"] == {"case_id": case_id, "status": "draft", "version": 1}
    assert document["run"]["pinned"] is True


def test_two_runs_of_one_index_differ_in_nothing(store: HistoryStore, record: Record) -> None:
    a, b = (get_run(store, record(numbered_corpus(5)), project_id="harbor") for _ in range(2))
    diff = diff_runs(a, b)
    assert diff.same_query
    assert (diff.index, diff.models, diff.limits, diff.candidates) == ((), (), (), ())
    assert diff.memory.known
    assert diff.memory.added == diff.memory.removed == diff.memory.changed == ()


def test_a_diff_tells_memory_index_models_and_ranks_apart(
    store: HistoryStore, record: Record
) -> None:
    before = Corpus({"a": "one", "b": "two", "c": "three"})
    after = Corpus({"a": "one", "b": "two, edited", "d": "four"})
    activation = make_activation(before)
    swapped = tuple(
        make_candidate(after.resources[place], after.bodies[name], rank)
        for rank, (place, name) in enumerate([(1, "b"), (0, "a"), (2, "d")], start=1)
    )
    first = get_run(store, record(before), project_id="harbor")
    second = get_run(
        store,
        record(
            after,
            query="another question",
            candidates=swapped,
            recipe={"chunker": "2", "limits": {"root": 384}},
            models={**activation.models, "reranker": {"profile": "cross", "sha256": "b" * 64}},
            relevance_floor=0.5,
        ),
        project_id="harbor",
    )
    document = diff_document(diff_runs(first, second))
    assert document["same_query"] is False
    assert set(document["index"]) == {"revision_id", "effective_hash", "recipe.chunker"}
    assert document["index"]["recipe.chunker"] == {"a": "1", "b": "2"}
    assert document["models"]["reranker.profile"] == {"a": "late", "b": "cross"}
    assert document["limits"] == {"relevance_floor": {"a": 0.3, "b": 0.5}}
    assert document["memory"] == {"known": True, "added": ["d"], "removed": ["c"], "changed": ["b"]}
    by_key = {one["unit_key"]: one for one in document["candidates"]}
    assert by_key["b#root~0.0"]["ranks"]["rrf"] == {"a": 2, "b": 1}
    assert by_key["b#root~0.0"]["ranks"]["final"] == {"a": 2, "b": 1}
    assert by_key["b#root~0.0"]["content_changed"] is True
    assert by_key["a#root~0.0"]["presence"] == "both"
    assert by_key["a#root~0.0"]["content_changed"] is False
    assert by_key["d#root~0.0"]["presence"] == "added"
    assert by_key["c#root~0.0"]["presence"] == "vanished"
    assert by_key["c#root~0.0"]["exclusion_reason"] == {"a": "below_relevance", "b": None}


def test_a_diff_with_a_failed_run_says_that_its_memory_is_unknown(
    store: HistoryStore, record: Record
) -> None:
    good = get_run(store, record(numbered_corpus(2)), project_id="harbor")
    failed = get_run(store, fail_run(store), project_id="harbor")
    diff = diff_runs(good, failed)
    assert not diff.memory.known
    assert diff.memory.removed == ()
    assert {one.presence for one in diff.candidates} == {"vanished"}


def test_a_moved_project_still_lists_its_runs(
    store: HistoryStore, record: Record, tmp_path: Path
) -> None:
    registry = CentralRegistry(store)
    registry.remember("harbor", str(tmp_path / "old"))
    run_id = record(numbered_corpus(2))
    registry.remember("harbor", str(tmp_path / "new"))
    assert registry.root_of_id("harbor") == str(tmp_path / "new")
    assert registry.id_of_root(str(tmp_path / "new")) == "harbor"
    assert registry.id_of_root(str(tmp_path / "old")) is None
    assert [run.run_id for run in list_runs(store, project_id="harbor")] == [run_id]
    [project] = registry.projects()
    assert (project.project_id, project.name, project.runs) == ("harbor", "new", 1)


def test_a_root_that_got_another_project_gives_the_last_one_seen(store: HistoryStore) -> None:
    registry = CentralRegistry(store)
    registry.remember("first", "/srv/here")
    registry.remember("second", "/srv/here")
    assert registry.id_of_root("/srv/here") == "second"
    assert registry.root_of_id("first") is None
    registry.remember("first", "/srv/there")
    assert registry.root_of_id("first") == "/srv/there"
    assert registry.id_of_root("/srv/here") == "second"


def test_a_root_whose_name_is_no_utf8_is_remembered(store: HistoryStore) -> None:
    registry = CentralRegistry(store)
    root = b"/srv/caf\xe9".decode("utf-8", "surrogateescape")
    registry.remember("cafe", root)
    assert registry.id_of_root(root) == "cafe"
    assert registry.root_of_id("cafe") == root
    begin_with_id(store, "ab12", "cafe")
    [run] = list_runs(store, project_id="cafe")
    assert run.project_root == "/srv/caf�"


def test_remembering_what_is_known_writes_nothing(store: HistoryStore) -> None:
    registry = CentralRegistry(store)
    assert registry.id_of_root("/srv/harbor") is None
    assert not store.home.exists()
    registry.remember("harbor", "/srv/harbor")
    before = store.path.read_bytes()
    with store.writing() as other:
        other.execute("BEGIN IMMEDIATE")
        registry.remember("harbor", "/srv/harbor")
        other.execute("ROLLBACK")
    assert store.path.read_bytes() == before
