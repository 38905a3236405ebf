"""What a build does: reuse, revisions, failures, retention."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import NamedTuple

import numpy as np
import pytest
from index_support import Revisions, build, memory_of, moved, notes, resource
from stand_in import StandInEmbedder

from memcli.errors import Failure, NotReady
from memcli.index.build_report import BuildProgress
from memcli.index.builder import build_index
from memcli.index.embedding import EmbeddedPassage, PassageInput
from memcli.index.reader import open_head
from memcli.index.storage import IndexStorage
from memcli.index.swap import keep_revision, list_revisions, swap_head
from memcli.index.unit import Locator
from memcli.memory.resource import Disposition, EffectiveMemory, LeftOut, MemoryWarning, Scope

NOW = datetime(2025, 12, 1, tzinfo=timezone.utc)


class Cut(NamedTuple):
    """What cutting decides about a unit."""

    text: str
    content_hash: str
    locator: Locator
    heading_path: tuple[str, ...]


def units_by_key(storage: IndexStorage) -> dict[str, Cut]:
    with open_head(storage) as reader:
        rowids = reader.rowids_of_ordinals(range(reader.unit_count))
        return {
            unit.unit_key: Cut(unit.text, unit.content_hash, unit.locator, unit.heading_path)
            for unit in reader.units(rowids).values()
        }


def test_a_first_build_makes_a_ready_revision_the_head(storage: IndexStorage) -> None:
    summary = build(storage, notes(5))
    assert (summary.created, summary.swapped, summary.head) == (True, True, summary.revision_id)
    assert (summary.resources, summary.units, summary.embedded) == (5, 5, 5)
    with open_head(storage) as reader:
        assert reader.revision.revision_id == summary.revision_id
        assert reader.revision.effective_hash == summary.effective_hash
        assert reader.revision.recipe["embedder"]["profile"] == "stand-in"
        assert [entry.path for entry in reader.manifest()] == sorted(notes(5))


def test_an_empty_memory_has_an_empty_index(storage: IndexStorage) -> None:
    summary = build(storage, {})
    assert summary.units == 0
    with open_head(storage) as reader:
        assert reader.vectors().shape == (0, 32)
        assert reader.bm25('"anything"', 10) == []
        assert reader.scan_words(["ok"], 10) == []
        assert reader.identity_hits("anything", 20) == []
        assert reader.document_frequencies(np.array([1], dtype=np.int32)).tolist() == [0]
    assert build(storage, notes(2)).units == 2
    assert build(storage, {}).units == 0


def test_an_equal_ready_revision_is_used_as_it_is(storage: IndexStorage) -> None:
    first = build(storage, notes(5))
    embedder = StandInEmbedder()
    second = build(storage, notes(5), embedder)
    assert not second.created
    assert not second.swapped
    assert second.revision_id == first.revision_id
    assert embedder.embedded == 0
    assert len(list_revisions(storage)) == 1


def test_unit_key_identity_across_rebuilds(storage: IndexStorage) -> None:
    body = "\n\n".join(f"# Part {n}\n\n" + f"word{n} " * 200 for n in range(4))
    build(storage, {"a.md": body, "b.md": "short\n"})
    before = units_by_key(storage)
    build(storage, {"a.md": body, "b.md": "short\n"}, force=True)
    assert units_by_key(storage) == before
    build(storage, {"a.md": body.replace("word2 ", "edited ", 3), "b.md": "short\n"})
    after = units_by_key(storage)
    assert after.keys() == before.keys()
    assert {key.partition("~")[0] for key in before if before[key] != after[key]} >= {
        "a.md#/part-2"
    }
    assert all(before[key].text == after[key].text for key in before if "part-2" not in key), (
        "an edit outside its section changes no unit's text"
    )


def test_only_new_text_is_cut_and_embedded(storage: IndexStorage) -> None:
    build(storage, notes(50))
    embedder = StandInEmbedder()
    summary = build(storage, notes(50, changed=[7]), embedder)
    assert (summary.embedded, summary.reused, embedder.embedded) == (1, 49, 1)


def test_copied_units_are_what_cutting_would_give(storage: IndexStorage) -> None:
    memory = memory_of(
        [
            resource("a.md", "# A\n\n" + "text " * 900, description="About a", first_line=5),
            resource("b.md", "# B\n\n" + "other " * 900, description="About b", first_line=7),
        ]
    )
    build(storage, memory)
    build(storage, memory_of([*memory.resources, resource("c.md", "new\n")]))
    copied = units_by_key(storage)
    build(storage, memory_of([*memory.resources, resource("c.md", "new\n")]), force=True)
    assert units_by_key(storage) == copied


def test_the_same_input_is_embedded_once(storage: IndexStorage) -> None:
    sections = "\n\n".join(["# Same\n\n" + "word " * 300] * 3)
    embedder = StandInEmbedder()
    summary = build(storage, {"a.md": sections}, embedder)
    assert summary.units > embedder.embedded
    with open_head(storage) as reader:
        assert len(reader.vectors()) == summary.units


def test_lines_follow_front_matter_that_grew_though_nothing_else_changed(
    storage: IndexStorage,
) -> None:
    memory = memory_of(
        [resource("a.md", "# A\n\n" + "text " * 900, description="About", first_line=5)]
    )
    first = build(storage, memory)
    before = units_by_key(storage)
    second = build(storage, moved(memory, 3))
    assert second.revision_id == first.revision_id
    after = units_by_key(storage)
    for key, unit in before.items():
        shift = 0 if "#description" in key else 3
        assert after[key].locator == replace(
            unit.locator,
            start_line=unit.locator.start_line + shift,
            end_line=unit.locator.end_line + shift,
        )
    # The same when the resource is copied into a new revision.
    grown = moved(memory, 10)
    build(storage, memory_of([*grown.resources, resource("b.md", "b\n")]))
    copied = units_by_key(storage)
    build(storage, memory_of([*grown.resources, resource("b.md", "b\n")]), force=True)
    assert units_by_key(storage) == copied


def test_going_back_to_an_earlier_memory_only_moves_the_head(storage: IndexStorage) -> None:
    first = build(storage, notes(5))
    build(storage, notes(5, changed=[1]))
    back = build(storage, notes(5))
    assert (back.revision_id, back.created, back.swapped) == (first.revision_id, False, True)


def test_no_swap_leaves_the_new_revision_ready_beside_the_head(storage: IndexStorage) -> None:
    first = build(storage, notes(5))
    second = build(storage, notes(5, changed=[1]), swap=False)
    assert second.created
    assert second.head == first.revision_id
    with open_head(storage) as reader:
        assert reader.revision.revision_id == first.revision_id
    assert [it.status for it in list_revisions(storage)] == ["ready", "ready"]


def test_force_builds_though_an_equal_revision_is_ready(storage: IndexStorage) -> None:
    first = build(storage, notes(5))
    with sqlite3.connect(storage.database) as connection:
        connection.execute("UPDATE search_units SET text = 'spoilt' WHERE ordinal = 2")
    embedder = StandInEmbedder()
    second = build(storage, notes(5), embedder, force=True)
    assert second.created
    assert second.revision_id != first.revision_id
    assert embedder.embedded == 0, "intact vectors are reused"
    with open_head(storage) as reader:
        assert "spoilt" not in {it.text for it in reader.units([1, 2, 3, 4, 5]).values()}


def test_a_cached_vector_with_a_wrong_checksum_is_computed_again(storage: IndexStorage) -> None:
    build(storage, notes(5))
    with sqlite3.connect(storage.database) as connection:
        connection.execute("UPDATE search_vector_cache SET vector = zeroblob(128) WHERE rowid = 3")
    embedder = StandInEmbedder()
    build(storage, notes(5), embedder, force=True)
    assert embedder.embedded == 1


def test_units_whose_vector_left_the_cache_are_embedded_again(storage: IndexStorage) -> None:
    build(storage, notes(5))
    with sqlite3.connect(storage.database) as connection:
        connection.execute("DELETE FROM search_vector_cache WHERE rowid = 3")
    embedder = StandInEmbedder()
    build(storage, notes(6), embedder)
    assert embedder.embedded == 2
    assert build(storage, notes(6)).units == 6


def test_switching_models_and_back_embeds_nothing_twice(storage: IndexStorage) -> None:
    build(storage, notes(8), StandInEmbedder())
    other = StandInEmbedder(48, "other")
    build(storage, notes(8), other)
    assert other.embedded == 8
    with open_head(storage) as reader:
        assert reader.vectors().shape == (8, 48)
    again = StandInEmbedder()
    summary = build(storage, notes(8), again)
    assert again.embedded == 0
    assert summary.swapped


def test_a_head_answers_with_its_own_recipe_while_another_models_revision_is_ready(
    storage: IndexStorage,
) -> None:
    build(storage, notes(8), StandInEmbedder())
    build(storage, notes(8), StandInEmbedder(48, "other"), swap=False)
    with open_head(storage) as reader:
        assert reader.revision.dimension == 32
        assert reader.revision.recipe["embedder"]["profile"] == "stand-in"


def test_synthesis_is_told_the_first_headings_it_need_not_look_for(storage: IndexStorage) -> None:
    memory = memory_of({"a.md": "# Heading A\n\ntext\n", "b.md": "no heading\n"})
    seen: list[Mapping[str, str | None]] = []

    def synthesize(known: Mapping[str, str | None]) -> EffectiveMemory:
        seen.append(dict(known))
        return memory

    for _ in range(2):
        build_index(
            storage,
            synthesize,
            StandInEmbedder(),
            now=lambda: NOW,
            clock=lambda: 0.0,
            new_revision_id=Revisions(),
        )
    a, b = (each.body_sha256 for each in memory.resources)
    assert seen == [{}, {a: "Heading A", b: None}]


def test_what_was_left_out_is_in_the_summary(storage: IndexStorage) -> None:
    memory = replace(
        memory_of(notes(1)),
        left_out=(LeftOut("x.md", Scope.PROJECT, Disposition.SKIPPED, "binary"),),
        warnings=(MemoryWarning("y.md", Scope.PROJECT, "encoding", "invalid UTF-8"),),
    )
    summary = build(storage, memory)
    assert summary.left_out == memory.left_out
    assert summary.warnings == memory.warnings


def test_progress_tells_stage_done_and_total(storage: IndexStorage) -> None:
    told: list[BuildProgress] = []
    build(storage, notes(5), progress=told.append)
    stages = list(dict.fromkeys(each.stage for each in told))
    assert stages[:6] == ["verify", "memory", "cut", "embed", "write", "swap"]
    assert BuildProgress("embed", 5, 5) in told
    assert all(0 <= each.done <= each.total for each in told)


class FailingEmbedder(StandInEmbedder):
    """Gives some passages, then fails."""

    def __init__(self, after: int, error: BaseException) -> None:
        super().__init__()
        self._after = after
        self._error = error

    def embed_passages(self, passages: Sequence[PassageInput]) -> Iterator[EmbeddedPassage]:
        for done, embedded in enumerate(super().embed_passages(passages)):
            if done == self._after:
                raise self._error
            yield embedded


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Failure("model_failed", "the model gave up"), "the model gave up"),
        (KeyboardInterrupt(), "it was interrupted"),
        (RuntimeError("no such luck"), "no such luck"),
    ],
)
def test_a_failed_build_keeps_the_head_its_reason_and_its_vectors(
    storage: IndexStorage, error: BaseException, reason: str
) -> None:
    first = build(storage, notes(4))
    with pytest.raises(type(error)):
        build(storage, notes(40), FailingEmbedder(10, error))
    revisions = list_revisions(storage)
    assert [it.status for it in revisions] == ["ready", "failed"]
    assert revisions[-1].error == reason
    with open_head(storage) as reader:
        assert reader.revision.revision_id == first.revision_id
        assert len(reader.bm25('"note"', 100)) == 4
    embedder = StandInEmbedder()
    build(storage, notes(40), embedder)
    assert embedder.embedded == 36 - 10
    assert [it.status for it in list_revisions(storage)] == ["ready", "ready"]


def test_a_first_build_that_failed_says_why(storage: IndexStorage) -> None:
    with pytest.raises(Failure):
        build(storage, notes(4), FailingEmbedder(0, Failure("model_failed", "out of luck")))
    with pytest.raises(NotReady) as caught, open_head(storage):
        pass
    assert caught.value.code == "index_build_failed"
    assert "out of luck" in caught.value.message


class Cancelled(Exception):
    pass


def test_cancelling_keeps_what_was_computed(storage: IndexStorage) -> None:
    embedder = StandInEmbedder()

    def check() -> None:
        if embedder.embedded == 12:
            raise Cancelled

    with pytest.raises(Cancelled):
        build(storage, notes(30), embedder, check_cancelled=check)
    again = StandInEmbedder()
    build(storage, notes(30), again)
    assert again.embedded == 18


class WrongEmbedder(StandInEmbedder):
    def embed_passages(self, passages: Sequence[PassageInput]) -> Iterator[EmbeddedPassage]:
        for embedded in super().embed_passages(passages):
            yield replace(embedded, vector=np.full(32, np.nan, dtype=np.float32))


def test_a_vector_that_is_no_number_is_refused(storage: IndexStorage) -> None:
    with pytest.raises(NotReady) as caught:
        build(storage, notes(3), WrongEmbedder())
    assert caught.value.code == "model_unsuitable"


def test_a_full_disk_is_named_and_leaves_the_head(storage: IndexStorage) -> None:
    first = build(storage, notes(4))
    error = sqlite3.OperationalError("database or disk is full")
    with pytest.raises(Failure) as caught:
        build(storage, notes(30), FailingEmbedder(3, error))
    assert caught.value.code == "storage_full"
    with open_head(storage) as reader:
        assert reader.revision.revision_id == first.revision_id


def test_another_files_error_is_not_blamed_on_the_store(storage: IndexStorage) -> None:
    error = FileNotFoundError(2, "No such file", "/elsewhere/model.gguf")
    with pytest.raises(FileNotFoundError):
        build(storage, notes(3), FailingEmbedder(1, error))


def test_head_previous_newest_and_kept_revisions_stay_and_others_are_pruned(
    storage: IndexStorage,
) -> None:
    kept = build(storage, notes(3, seed=1), keep=True)
    ids = [build(storage, notes(3, seed=seed)).revision_id for seed in range(2, 7)]
    present = [it.revision_id for it in list_revisions(storage)]
    assert present == [kept.revision_id, *ids[-2:]]
    derived = sorted(
        path.name for path in storage.directory.iterdir() if path.suffix in (".f32", ".bin")
    )
    assert derived == sorted(
        name for it in present for name in (storage.vectors(it).name, storage.lexicon(it).name)
    )
    keep_revision(storage, kept.revision_id, False)
    ready = build(storage, notes(3, seed=9), swap=False)
    assert [it.revision_id for it in list_revisions(storage)] == [*ids[-2:], ready.revision_id]
    with sqlite3.connect(storage.database) as connection:
        for table in ("search_units", "search_resources"):
            rows = connection.execute(f"SELECT DISTINCT revision_id FROM {table}")
            assert {it for (it,) in rows} == {*ids[-2:], ready.revision_id}


def test_an_equal_revision_can_be_marked_kept(storage: IndexStorage) -> None:
    first = build(storage, notes(3))
    assert not list_revisions(storage)[0].kept
    assert build(storage, notes(3), keep=True).revision_id == first.revision_id
    assert list_revisions(storage)[0].kept


def test_the_cache_forgets_unused_vectors_only_far_above_what_is_in_use(
    storage: IndexStorage,
) -> None:
    build(storage, notes(3, seed=1))
    with sqlite3.connect(storage.database) as connection:
        connection.executemany(
            "INSERT INTO search_vector_cache VALUES (?, 'old', x'', x'', 0)",
            [(f"unused-{n}",) for n in range(2500)],
        )
    build(storage, notes(3, seed=2))
    with sqlite3.connect(storage.database) as connection:
        cached = {it for (it,) in connection.execute("SELECT input_hash FROM search_vector_cache")}
    assert len(cached) == 2000
    assert "unused-0" not in cached
    assert "unused-2499" in cached
    assert build(storage, notes(3, seed=1)).embedded == 0


def test_leftovers_of_a_dead_build_are_removed_by_the_next(storage: IndexStorage) -> None:
    build(storage, notes(3))
    with sqlite3.connect(storage.database) as connection:
        connection.execute(
            "INSERT INTO search_revisions (revision_id, status, effective_hash, recipe)"
            " VALUES ('dead', 'building', '', '{}')"
        )
        connection.execute(
            "INSERT INTO search_units SELECT 'dead', 900 + unit_rowid, ordinal, unit_key,"
            " resource_id, position, heading_path, content_hash, token_count, start_line,"
            " end_line, start_char, end_char, input_hash, text, vector, row_digest"
            " FROM search_units"
        )
    for name in ("vectors-dead.f32", "lexicon-dead.bin", ".vectors-dead.f32.1a2b.tmp",
                 ".search-index.sqlite.77.tmp", ".search-index.sqlite.77.tmp-wal"):  # fmt: skip
        (storage.directory / name).write_bytes(b"left")
    stranger = storage.directory / ".project-id.aa.tmp"
    stranger.write_bytes(b"not ours")
    build(storage, notes(3))
    assert [it.status for it in list_revisions(storage)] == ["ready"]
    assert not [path for path in storage.directory.iterdir() if "dead" in path.name]
    assert [path.name for path in storage.directory.glob(".*.tmp*")] == [stranger.name]


def test_a_revision_id_that_exists_already_harms_nothing(storage: IndexStorage) -> None:
    first = build(storage, notes(3), new_revision_id=lambda: "same")
    with pytest.raises(sqlite3.IntegrityError):
        build(storage, notes(4), new_revision_id=lambda: "same")
    with open_head(storage) as reader:
        assert reader.revision.revision_id == first.revision_id
        assert reader.unit_count == 3


def test_each_revision_says_what_it_is(storage: IndexStorage) -> None:
    first = build(storage, notes(3))
    second = build(storage, notes(4))
    old, new = list_revisions(storage)
    assert (old.revision_id, old.is_head, old.is_previous) == (first.revision_id, False, True)
    assert (new.revision_id, new.is_head, new.is_previous) == (second.revision_id, True, False)
    assert (new.resource_count, new.unit_count) == (4, 4)
    assert new.token_count > 0
    assert new.ready_at is not None
    assert new.error is None


def test_swap_moves_between_models_without_rebuilding(storage: IndexStorage) -> None:
    first = build(storage, notes(4), StandInEmbedder())
    build(storage, notes(4), StandInEmbedder(16, "small"))
    swap_head(storage, first.revision_id, False, lambda: NOW)
    with open_head(storage) as reader:
        assert reader.vectors().shape == (4, 32)
