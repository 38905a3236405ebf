"""Bytes of any kind as text, or a reason; reading never blocks and never passes the limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.memory.decoding import Document, Unreadable, decode, read_document


def text_of(data: bytes) -> str:
    document = decode(data)
    assert isinstance(document, Document)
    return document.text


def test_a_utf8_mark_is_removed() -> None:
    assert decode(b"\xef\xbb\xbf# T\n") == Document("# T\n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_marked_wide_encodings_are_decoded(encoding: str) -> None:
    assert decode("# 部署 é\r\n".encode(encoding)) == Document("# 部署 é\n")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff\xfea\x00\x00\xd8b\x00", "invalid_utf16"),
        (b"caf\xe9", "invalid_utf8"),
        (b"cut \xe4\xb8", "invalid_utf8"),
        (b"surrogate \xed\xa0\x80", "invalid_utf8"),
        (b"overlong \xc0\xaf", "invalid_utf8"),
    ],
)
def test_bytes_that_are_no_text_are_replaced_with_a_warning(data: bytes, reason: str) -> None:
    document = decode(data)
    assert isinstance(document, Document)
    assert document.warning is not None
    assert document.warning[0] == reason
    assert "\ufffd" in document.text


def test_null_bytes_mean_a_binary_file() -> None:
    for data in (b"# T\n\0", "a\0b".encode("utf-16"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"):
        document = decode(data)
        assert isinstance(document, Unreadable)
        assert document.reason == "binary"


def test_every_line_end_becomes_a_line_feed_and_nothing_else_ends_a_line() -> None:
    assert text_of(b"a\r\nb\rc\n\rd\r\r\n") == "a\nb\nc\n\nd\n\n"
    kept = "a\x0bb\x0cc\x85d\u2028e"
    assert text_of(kept.encode()) == kept


@given(st.binary() | st.text().map(str.encode) | st.text().map(lambda it: it.encode("utf-16")))
def test_decoding_never_raises_and_gives_storable_text(data: bytes) -> None:
    document = decode(data)
    if isinstance(document, Document):
        document.text.encode("utf-8")
        assert "\r" not in document.text
        assert "\0" not in document.text
        assert data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" not in data[4:]


def test_the_size_limit_is_exact(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"x" * 100)
    document, seen = read_document(str(path), str(path), 100)
    assert document == Document("x" * 100)
    assert seen is not None
    assert seen.size == 100
    document, seen = read_document(str(path), str(path), 99)
    assert isinstance(document, Unreadable)
    assert document.reason == "too_large"
    assert seen is not None


def test_the_state_kept_is_the_one_before_reading(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("one")
    os.utime(path, ns=(5, 5))
    _, seen = read_document(str(path), "/shown/as.md", 100)
    assert seen is not None
    assert (str(seen.path), seen.mtime_ns, seen.size) == ("/shown/as.md", 5, 3)


def test_a_file_that_vanished_is_said_to_have_vanished(tmp_path: Path) -> None:
    document, seen = read_document(str(tmp_path / "gone.md"), "gone.md", 100)
    assert isinstance(document, Unreadable)
    assert (document.reason, seen) == ("vanished", None)


def test_a_fifo_does_not_block_and_a_directory_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    for path in (tmp_path / "pipe.md", tmp_path):
        document, _ = read_document(str(path), str(path), 100)
        assert isinstance(document, Unreadable)
        assert document.reason == "not_a_file"


def test_a_file_that_became_a_link_since_the_walk_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "a.md").symlink_to(tmp_path / "secret")
    document, seen = read_document(str(tmp_path / "a.md"), "a.md", 100)
    assert isinstance(document, Unreadable)
    assert (document.reason, seen) == ("unreadable", None)


@pytest.mark.usefixtures("rights_matter")
def test_a_file_without_the_right_to_read_it_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("x")
    path.chmod(0)
    document, _ = read_document(str(path), str(path), 100)
    assert document == Unreadable("unreadable", "permission denied")


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x" * 10)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for path in (tmp_path / "a.md", tmp_path):
        for limit in (5, 50):
            read_document(str(path), "a.md", limit)
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before
