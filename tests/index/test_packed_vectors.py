"""The packed files: mapped when intact, made again when not."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_support import build, notes

from memcli.index.packed_arrays import checksum, read_arrays, write_arrays
from memcli.index.reader import open_head
from memcli.index.resource_names import read_names
from memcli.index.storage import IndexStorage
from memcli.index.vectors import read_vectors


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 20_000), st.integers(0, 2**32), st.integers(1, 255))
def test_a_changed_byte_changes_the_checksum(size: int, at: int, change: int) -> None:
    content = bytearray(random.Random(size).randbytes(size + 1))
    before = checksum(np.frombuffer(content, dtype=np.uint8))
    content[at % len(content)] ^= change
    assert checksum(np.frombuffer(content, dtype=np.uint8)) != before


def test_two_pages_that_change_places_change_the_checksum() -> None:
    pages = np.arange(8 * 1024, dtype=np.int32).reshape(8, 1024)
    exchanged = pages[[0, 5, 2, 3, 4, 1, 6, 7]]
    assert exchanged.sum() == pages.sum()
    assert checksum(exchanged) != checksum(pages)


def test_arrays_come_back_as_they_were_written(tmp_path: Path) -> None:
    arrays = {
        "a": np.arange(7, dtype=np.int32),
        "b": np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32),
        "none": np.empty((0, 4), dtype=np.float32),
    }
    path = tmp_path / "file.bin"
    write_arrays(path, "r1", arrays)
    packed = read_arrays(path, "r1")
    assert packed is not None
    for name, array in arrays.items():
        assert np.array_equal(packed.arrays[name], array)
        assert packed.arrays[name].dtype == array.dtype
        assert packed.is_intact(name)
    assert read_arrays(path, "r2") is None
    assert read_arrays(tmp_path / "absent", "r1") is None
    assert [it.name for it in tmp_path.iterdir()] == ["file.bin"]


def test_vectors_are_mapped_not_copied(storage: IndexStorage) -> None:
    summary = build(storage, notes(20))
    matrix = read_vectors(storage, summary.revision_id, 20, 32)
    assert matrix is not None
    assert isinstance(matrix.base, np.memmap)
    assert not matrix.flags.writeable
    assert read_vectors(storage, summary.revision_id, 21, 32) is None
    assert read_vectors(storage, summary.revision_id, 20, 16) is None


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    match how:
        case "absent":
            path.unlink()
            return
        case "empty":
            content = bytearray()
        case "truncated":
            content = content[: len(content) - 64]
        case "header":
            content[20] ^= 0xFF
        case "zeroed":
            content[-500:] = bytes(500)
        case "one bit":
            # The vectors are the last and largest of the arrays.
            content[random.Random(3).randrange(len(content) // 2, len(content))] ^= 0x10
    path.write_bytes(content)


@pytest.mark.parametrize("how", ["absent", "empty", "truncated", "header", "zeroed", "one bit"])
def test_a_damaged_vectors_file_changes_no_answer_and_is_made_again(
    storage: IndexStorage, how: str
) -> None:
    summary = build(storage, notes(20))
    path = storage.vectors(summary.revision_id)
    original = path.read_bytes()
    with open_head(storage) as reader:
        expected = np.array(reader.vectors())
    damage(path, how)
    assert read_vectors(storage, summary.revision_id, 20, 32) is None
    with open_head(storage) as reader:
        assert np.array_equal(reader.vectors(), expected)
    assert not build(storage, notes(20)).created
    assert path.read_bytes() == original


def test_the_stored_blobs_are_little_endian_float32(storage: IndexStorage) -> None:
    build(storage, notes(4))
    with sqlite3.connect(storage.database) as connection:
        blobs = connection.execute("SELECT vector FROM search_units ORDER BY ordinal").fetchall()
    with open_head(storage) as reader:
        stored = np.stack([np.frombuffer(blob, dtype="<f4") for (blob,) in blobs])
        assert np.array_equal(reader.vectors(), stored)
        assert np.allclose(np.linalg.norm(stored, axis=1), 1.0, atol=1e-5)


def test_damaged_names_change_no_answer_and_are_made_again(storage: IndexStorage) -> None:
    summary = build(storage, notes(20))
    path = storage.vectors(summary.revision_id)
    original = path.read_bytes()
    with open_head(storage) as reader:
        asked = next(iter(reader.manifest())).path
        expected = reader.identity_hits(asked, 20)
    at = original.index(asked.encode())
    path.write_bytes(original[:at] + bytes([original[at] ^ 1]) + original[at + 1 :])
    assert read_names(storage, summary.revision_id) is None
    with open_head(storage) as reader:
        assert reader.identity_hits(asked, 20) == expected != []
    build(storage, notes(20))
    assert path.read_bytes() == original
