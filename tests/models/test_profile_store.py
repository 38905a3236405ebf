"""The user's own profiles: written whole and private, read with every fault named."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import InvalidInput
from memcli.models.profile import ModelProfile, Relevance
from memcli.models.profile_store import ProfileStore, StoredProfile

EMBEDDER = ModelProfile(
    name="mine",
    role="embed",
    file=Path("/models/mine.gguf"),
    sha256="0123456789abcdef" * 4,
    pooling="cls",
    query_prefix="query: ",
    passage_prefix='say "x"\\n\n',
    max_tokens=512,
    late_interaction=Relevance(0.8, 0.01, 0.3, 0.05, 8, 0.05),
)
RERANKER = ModelProfile(
    name="judge",
    role="rerank",
    file=Path("/models/judge.gguf"),
    sha256="0" * 64,
    pooling="rank",
    pair_form="single_separator",
    relevance=Relevance(0.0, 1.0, 0.02),
)


def stored(profile: ModelProfile) -> StoredProfile:
    return StoredProfile(profile, 4711, "2026-01-02T03:04:05+00:00", "MIT", "https://a/b.gguf")


@pytest.mark.parametrize("profile", [EMBEDDER, RERANKER])
def test_what_is_written_is_read_again(tmp_path: Path, profile: ModelProfile) -> None:
    store = ProfileStore(tmp_path)
    store.write(stored(profile))
    held = store.load()
    assert held.profiles == {profile.name: stored(profile)}
    assert held.known == {profile.name: profile}
    assert not held.problems


@given(prefix=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_prefix_survives(tmp_path_factory: pytest.TempPathFactory, prefix: str) -> None:
    store = ProfileStore(tmp_path_factory.mktemp("config"))
    store.write(stored(replace(EMBEDDER, query_prefix=prefix)))
    assert store.load().profiles["mine"].profile.query_prefix == prefix


def test_profiles_are_private_whatever_the_umask(tmp_path: Path) -> None:
    old_mask = os.umask(0)
    try:
        path = ProfileStore(tmp_path / "config").write(stored(EMBEDDER))
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_no_folder_means_no_profiles(tmp_path: Path) -> None:
    assert ProfileStore(tmp_path / "nowhere").load().profiles == {}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("role =", "rolle =", "Did you mean role"),
        ('role = "embed"', 'role = "chat"', "role must be one of"),
        ('"/models/mine.gguf"', '"mine.gguf"', "absolute"),
        ('sha256 = "01', 'sha256 = "zz', "sha256"),
        ('pooling = "cls"', 'pooling = "rank"', "pooling"),
        ("max_tokens = 512", "max_tokens = -1", "max_tokens"),
        ("width = 0.01", "width = 0", "width above 0"),
        ("floor = 0.3", "floor = nan", "floor"),
        ("middle = 0.8", "", "middle"),
        ("length_free = 8", 'length_free = "8"', "length_free"),
        ("[late_interaction]", "[late_interaction", ""),
        ('role = "embed"', "", "role is missing"),
    ],
)
def test_a_broken_profile_is_named_and_stops_no_other(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    store = ProfileStore(tmp_path)
    store.write(stored(RERANKER))
    path = store.write(stored(EMBEDDER))
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    held = store.load()
    assert list(held.profiles) == ["judge"]
    error = held.problems["mine"]
    assert error.code == "configuration_invalid"
    assert str(path) in error.message
    assert told in error.message + error.hint


@pytest.mark.parametrize(
    "name", ["bundled", "late_interaction", "a/b", "../x", "x.gguf", "", "-x", "a b", ".hidden"]
)
def test_names_that_mean_something_else_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ProfileStore(tmp_path).write(stored(replace(EMBEDDER, name=name)))
    assert caught.value.code == "model_name_invalid"
    assert not list(tmp_path.rglob("*.toml"))


def test_a_file_that_is_gone_or_has_another_size_is_not_in_place(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    held = replace(stored(replace(EMBEDDER, file=file)), size=3)
    assert not held.is_in_place
    file.write_bytes(b"abc")
    assert held.is_in_place
    file.write_bytes(b"abcd")
    assert not held.is_in_place
