"""Token vectors: four bits a number, kept up to a size, never needed for a right answer."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_support import build, notes
from stand_in import StandInEmbedder

from memcli.index.embedding import EmbeddedPassage, Float32, PassageInput
from memcli.index.reader import RevisionReader, open_head
from memcli.index.storage import IndexStorage
from memcli.index.token_store import TokenCodes, TokenVectorStore, stored_token_vectors
from memcli.index.token_vectors import decode_token_vectors, encode_token_vectors


def unit_rows(count: int, dimension: int, seed: int = 0) -> Float32:
    rows = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    unit: Float32 = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def test_four_bits_keep_the_length_and_nearly_the_direction() -> None:
    vectors = unit_rows(50, 384)
    codes, scales = encode_token_vectors(vectors)
    assert codes.dtype == np.uint8
    assert codes.shape == (50, 192)
    assert scales.dtype == np.float32
    decoded = decode_token_vectors(codes, scales)
    assert np.allclose(np.linalg.norm(decoded, axis=1), 1.0, atol=1e-5)
    assert (decoded * vectors).sum(axis=1).min() > 0.97


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 6), st.integers(1, 9), st.integers(0, 1000))
def test_codes_are_whole_numbers_from_minus_seven_to_seven(
    count: int, dimension: int, seed: int
) -> None:
    vectors = unit_rows(count, dimension, seed)
    codes, scales = encode_token_vectors(vectors)
    assert codes.shape == (count, (dimension + 1) // 2)
    decoded = decode_token_vectors(codes, scales, dimension)
    assert decoded.shape == (count, dimension)
    numbers = decoded / np.maximum(scales[:, None], 1e-9)
    assert np.allclose(numbers, np.rint(numbers), atol=1e-3)
    assert np.abs(numbers).max(initial=0) <= 7.001
    again = encode_token_vectors(decoded)
    assert np.array_equal(again[0], codes)


def test_a_zero_row_stays_zero() -> None:
    decoded = decode_token_vectors(*encode_token_vectors(np.zeros((2, 8), dtype=np.float32)))
    assert not decoded.any()


def passages(reader: RevisionReader) -> list[PassageInput]:
    units = reader.units(reader.rowids_of_ordinals(range(reader.unit_count)))
    return [PassageInput(it.path, (it.title, *it.heading_path), it.text) for it in units.values()]


def kept(storage: IndexStorage) -> int:
    with open_head(storage) as reader:
        return sum(it is not None for it in reader.stored_token_vectors(passages(reader)))


def test_what_was_embedded_is_kept_quantised(storage: IndexStorage) -> None:
    embedder = StandInEmbedder()
    summary = build(storage, notes(6), embedder)
    assert (summary.token_vectors_stored, summary.token_vectors_missing) == (6, 0)
    with open_head(storage) as reader:
        inputs = passages(reader)
        for stored, fresh in zip(
            reader.stored_token_vectors(inputs), embedder.embed_passages(inputs), strict=True
        ):
            assert stored is not None
            assert fresh.token_vectors is not None
            expected = decode_token_vectors(*encode_token_vectors(fresh.token_vectors))
            assert np.array_equal(stored, expected)


def delete(path: Path) -> None:
    path.unlink()


def overwrite(path: Path) -> None:
    path.write_bytes(b"no database " * 1000)


def spoil_half(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as stream:
        stream.seek(8192)
        stream.write(b"\xff" * (size // 2))


def of_another_version(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize("damage", [delete, overwrite, spoil_half, of_another_version])
def test_a_damaged_store_is_as_an_empty_one_and_the_next_build_fills_it_again(
    storage: IndexStorage, damage: Callable[[Path], None]
) -> None:
    build(storage, notes(40, words=200))
    damage(storage.token_vectors)
    assert kept(storage) < 40
    embedder = StandInEmbedder()
    summary = build(storage, notes(40, words=200), embedder)
    assert not summary.created
    assert embedder.embedded > 0
    assert summary.token_vectors_missing == 0
    assert kept(storage) == 40
    assert stat.S_IMODE(storage.token_vectors.stat().st_mode) == 0o600


def test_a_row_with_a_wrong_checksum_is_not_used_and_a_forced_build_replaces_it(
    storage: IndexStorage,
) -> None:
    build(storage, notes(5))
    with sqlite3.connect(storage.token_vectors) as connection:
        connection.execute(
            "UPDATE token_vectors SET scales = zeroblob(length(scales)) WHERE rowid = 2"
        )
    assert kept(storage) == 4
    build(storage, notes(5), force=True)
    assert kept(storage) == 5


def test_the_store_never_grows_past_its_limit(storage: IndexStorage) -> None:
    summary = build(storage, notes(120, words=300), StandInEmbedder(256), token_vectors_mb=2)
    assert 0 < summary.token_vectors_stored < 120
    assert summary.token_vectors_missing == 120 - summary.token_vectors_stored
    assert storage.token_vectors.stat().st_size <= 2 * 2**20 * 1.05
    embedder = StandInEmbedder(256)
    again = build(storage, notes(120, words=300), embedder, token_vectors_mb=2)
    assert again.token_vectors_stored >= summary.token_vectors_stored
    third = StandInEmbedder(256)
    build(storage, notes(120, words=300), third, token_vectors_mb=2)
    assert third.embedded == 0, "a full store costs no build anything"
    grown = build(storage, notes(120, words=300), StandInEmbedder(256), token_vectors_mb=20)
    assert grown.token_vectors_missing == 0


def test_zero_megabytes_keep_nothing(storage: IndexStorage) -> None:
    embedder = StandInEmbedder()
    summary = build(storage, notes(5), embedder, token_vectors_mb=0)
    assert (summary.token_vectors_stored, embedder.embedded) == (0, 5)


def test_a_full_store_drops_what_no_revision_needs_first(storage: IndexStorage) -> None:
    for seed in range(6):
        summary = build(
            storage, notes(30, words=300, seed=seed), StandInEmbedder(256), token_vectors_mb=4
        )
        assert summary.token_vectors_missing == 0, seed


class VectorOnlyEmbedder(StandInEmbedder):
    def embed_passages(self, passages: Sequence[PassageInput]) -> Iterator[EmbeddedPassage]:
        for embedded in super().embed_passages(passages):
            yield replace(embedded, token_vectors=None)


def test_a_model_without_token_vectors_is_not_asked_again(storage: IndexStorage) -> None:
    summary = build(storage, notes(5), VectorOnlyEmbedder())
    assert (summary.token_vectors_stored, summary.token_vectors_missing) == (0, 5)
    again = VectorOnlyEmbedder()
    build(storage, notes(5), again)
    assert again.embedded == 0


def test_store_and_reader_agree(tmp_path: Path) -> None:
    path = tmp_path / "token-vectors.sqlite"
    codes, scales = encode_token_vectors(unit_rows(7, 16))
    store = TokenVectorStore(path, 2**20)
    assert store.put([TokenCodes("a", "model", codes, scales)]) == 1
    assert store.held("model") == {"a"}
    assert store.held("other") == set()
    found = stored_token_vectors(path, "model", ["a", "b"])
    assert found.keys() == {"a"}
    assert np.array_equal(found["a"], decode_token_vectors(codes, scales))
    assert stored_token_vectors(path, "other", ["a"]) == {}
    assert store.drop_unreferenced([("a", "other")]) == 1
    assert stored_token_vectors(path, "model", ["a"]) == {}
    store.close()
