"""Moving the head: to the newest ready revision, a named one, or back."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from index_support import build, notes
from stand_in import StandInEmbedder

from memcli.errors import Failure, InvalidInput, NotReady
from memcli.index.reader import open_head
from memcli.index.storage import IndexStorage
from memcli.index.swap import HeadChange, head_info, keep_revision, list_revisions, swap_head

NOW = datetime(2025, 12, 1, 10, tzinfo=timezone.utc)


def swap(storage: IndexStorage, revision: str | None = None, previous: bool = False) -> HeadChange:
    return swap_head(storage, revision, previous, lambda: NOW)


def serving(storage: IndexStorage) -> tuple[str, int]:
    with open_head(storage) as reader:
        return reader.revision.revision_id, len(reader.bm25('"note"', 100))


@pytest.fixture
def ids(storage: IndexStorage) -> list[str]:
    """Three ready revisions with 2, 3 and 4 notes; the second is the head."""
    names = iter(["2025a1", "2025a2", "2025b1"])
    return [
        build(
            storage, notes(count), swap=count < 4, new_revision_id=lambda: next(names)
        ).revision_id
        for count in (2, 3, 4)
    ]


def test_head_swap_to_a_ready_revision(storage: IndexStorage, ids: list[str]) -> None:
    assert serving(storage) == (ids[1], 3)
    assert swap(storage) == HeadChange(ids[2], ids[1], moved=True)
    assert serving(storage) == (ids[2], 4)
    assert head_info(storage).changed_at == NOW.isoformat()


def test_head_swap_to_previous_and_back(storage: IndexStorage, ids: list[str]) -> None:
    assert swap(storage, previous=True) == HeadChange(ids[0], ids[1], moved=True)
    assert serving(storage) == (ids[0], 2)
    assert swap(storage, previous=True) == HeadChange(ids[1], ids[0], moved=True)
    assert serving(storage) == (ids[1], 3)


def test_a_unique_prefix_names_a_revision(storage: IndexStorage, ids: list[str]) -> None:
    assert swap(storage, "2025b").head == ids[2]
    assert swap(storage, ids[0]).head == ids[0]


def test_swapping_to_the_head_changes_nothing(storage: IndexStorage, ids: list[str]) -> None:
    before = head_info(storage)
    assert swap(storage, ids[1]) == HeadChange(ids[1], ids[0], moved=False)
    assert head_info(storage) == before


def test_an_unknown_or_ambiguous_revision_names_near_ones(
    storage: IndexStorage, ids: list[str]
) -> None:
    with pytest.raises(Failure) as caught:
        swap(storage, "2025b7")
    assert caught.value.code == "revision_not_found"
    assert ids[2] in caught.value.hint
    with pytest.raises(Failure) as caught:
        swap(storage, "2025a")
    assert caught.value.code == "revision_not_found"
    assert ids[0] in caught.value.hint
    assert ids[1] in caught.value.hint
    with pytest.raises(Failure):
        swap(storage, "")


def test_a_revision_and_previous_together_are_refused(
    storage: IndexStorage, ids: list[str]
) -> None:
    with pytest.raises(InvalidInput):
        swap(storage, ids[0], previous=True)


def test_without_an_index_there_is_nothing_to_swap(storage: IndexStorage) -> None:
    with pytest.raises(NotReady) as caught:
        swap(storage)
    assert caught.value.code == "index_not_ready"


def test_without_a_previous_revision_the_head_stays(storage: IndexStorage) -> None:
    first = build(storage, notes(2))
    with pytest.raises(NotReady):
        swap(storage, previous=True)
    assert serving(storage)[0] == first.revision_id


def test_a_failed_revision_cannot_be_the_head(storage: IndexStorage, ids: list[str]) -> None:
    class Broken(StandInEmbedder):
        def count_tokens(self, text: str) -> int:
            raise Failure("model_failed", "no tokens today")

    with pytest.raises(Failure):
        build(storage, notes(9), Broken(), new_revision_id=lambda: "2025c1")
    with pytest.raises(NotReady) as caught:
        swap(storage, "2025c1")
    assert "no tokens today" in caught.value.message
    assert swap(storage).head == ids[2], "the newest ready one, not the newest"


def test_a_ready_revision_that_is_not_the_head_answers_nothing(storage: IndexStorage) -> None:
    build(storage, notes(2), swap=False)
    with pytest.raises(NotReady) as caught, open_head(storage):
        pass
    assert caught.value.code == "index_not_ready"
    assert "head swap" in caught.value.hint
    swap(storage)
    assert serving(storage)[1] == 2


def test_keeping_a_revision_is_said_and_unsaid(storage: IndexStorage, ids: list[str]) -> None:
    assert keep_revision(storage, "2025b", True).kept
    assert [it.kept for it in list_revisions(storage)] == [False, False, True]
    assert not keep_revision(storage, ids[2], False).kept


def test_a_swap_between_unlike_revisions_exchanges_everything(storage: IndexStorage) -> None:
    first = build(storage, notes(30, seed=1))
    second = build(storage, notes(30, seed=2))
    for target in (first, second, first):
        swap(storage, target.revision_id)
        with open_head(storage) as reader:
            found = reader.units([hit.unit_rowid for hit in reader.fts_bm25('"note"', 100)])
            wanted = set(reader.rowids_of_ordinals(range(30)))
            assert set(found) == wanted


def test_the_memory_of_a_swapped_head_is_the_one_it_was_built_from(
    storage: IndexStorage, ids: list[str]
) -> None:
    swap(storage, ids[0])
    with open_head(storage) as reader:
        assert [it.path for it in reader.manifest()] == sorted(notes(2))
