"""Bodies are written atomically, verified on reading, and shared."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from history.factory import Corpus, numbered_corpus, sha256

from memcli.errors import Failure
from memcli.history.blobs import BlobStore
from memcli.history.store import HistoryStore

Record = Callable[..., str]


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "evaluation-corpora", 5.0)


def test_a_body_lies_under_its_hash_and_comes_back(blobs: BlobStore) -> None:
    body = "夜间靠泊\r\n\x00".encode()
    digest = sha256("夜间靠泊\r\n\x00")
    blobs.write([(digest, body)])
    assert blobs.path_of(digest) == blobs.directory / "blobs" / digest[:2] / digest
    assert blobs.read(digest) == body
    assert blobs.has(digest, len(body))
    assert not blobs.has(digest, len(body) + 1)


def test_an_empty_body_is_a_body(blobs: BlobStore) -> None:
    blobs.write([(sha256(""), b"")])
    assert blobs.read(sha256("")) == b""


@pytest.mark.parametrize("damage", ["cut", "changed", "missing"])
def test_a_body_that_is_not_what_its_name_says_is_refused(blobs: BlobStore, damage: str) -> None:
    digest = sha256("a body")
    blobs.write([(digest, b"a body")])
    path = blobs.path_of(digest)
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(b"a bo" if damage == "cut" else b"a bodY")
    with pytest.raises(Failure) as caught:
        blobs.read(digest)
    assert caught.value.code == "store_damaged"
    assert digest in caught.value.message


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "AB" * 32, "a" * 63])
def test_a_name_that_is_no_hash_reaches_no_file(blobs: BlobStore, name: str) -> None:
    with pytest.raises(Failure, match="store_damaged"):
        blobs.path_of(name)


def test_a_reader_sees_the_whole_body_or_none_while_it_is_written(blobs: BlobStore) -> None:
    text = "0123456789" * 50_000
    digest = sha256(text)
    done = threading.Event()
    faults = []

    def keep_reading() -> None:
        while not done.is_set():
            try:
                assert len(blobs.read(digest)) == len(text)
            except Failure as error:
                if "No such file" not in error.message:
                    faults.append(error.message)

    reader = threading.Thread(target=keep_reading)
    reader.start()
    for _ in range(20):
        blobs.write([(digest, text.encode())])
    done.set()
    reader.join()
    assert faults == []
    assert [path.name for path in blobs.path_of(digest).parent.iterdir()] == [digest]


def test_equal_bodies_are_stored_once(store: HistoryStore, record: Record) -> None:
    record(Corpus({"a": "same", "b": "same", "c": "other"}))
    record(Corpus({"d": "same"}), project_id="qinghe")
    assert len(list(store.blobs.blobs.glob("*/*"))) == 2


def test_a_missing_body_that_is_needed_again_is_written_again(
    store: HistoryStore, record: Record
) -> None:
    corpus = numbered_corpus(3)
    record(corpus)
    lost = store.blobs.path_of(corpus.resources[1].body_sha256)
    lost.unlink()
    record(Corpus({**corpus.bodies, "more": "one more"}))
    assert store.blobs.read(lost.name).decode() == corpus.bodies["note-1"]
