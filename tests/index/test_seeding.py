"""An index that begins with the vectors of another one computes none of them again."""

from __future__ import annotations

from pathlib import Path

from index_support import Revisions, build, notes
from stand_in import StandInEmbedder

from memcli.index.reader import open_head
from memcli.index.seeding import seed_index
from memcli.index.storage import IndexStorage
from memcli.index.swap import list_revisions


def test_a_seeded_index_embeds_only_what_the_other_had_not(
    storage: IndexStorage, tmp_path: Path
) -> None:
    build(storage, notes(20))
    other = IndexStorage(tmp_path / "other")
    seed_index(other, storage)
    assert list_revisions(other) == [], "nothing but vectors is taken over"
    embedder = StandInEmbedder()
    summary = build(other, notes(20, changed=[3]), embedder, new_revision_id=Revisions("o"))
    assert (summary.embedded, embedder.embedded) == (1, 1)
    assert summary.token_vectors_missing == 0
    with open_head(other) as reader:
        assert reader.unit_count == 20


def test_what_cannot_be_read_of_the_other_index_is_embedded(
    storage: IndexStorage, tmp_path: Path
) -> None:
    build(storage, notes(5))
    storage.database.write_bytes(b"no database" * 100)
    storage.token_vectors.write_bytes(b"nor this" * 100)
    other = IndexStorage(tmp_path / "other")
    seed_index(other, storage)
    embedder = StandInEmbedder()
    assert build(other, notes(5), embedder).units == 5
    assert embedder.embedded == 5
