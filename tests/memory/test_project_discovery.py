"""The project root: markers in their order, overrides, and directories that are too broad."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from memcli.errors import InvalidInput
from memcli.memory.project import (
    create_local_memory,
    create_storage,
    discover_project,
    storage_directory,
)


def made(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def test_the_nearest_memcli_toml_is_the_root(root: Path, environ: Mapping[str, str]) -> None:
    start = made(root / "a" / "b" / "c")
    (root / "memcli.toml").write_text("")
    (root / "a" / "memcli.toml").write_text("")
    found = discover_project(start, environ)
    assert (found.root, found.found_by) == (root / "a", "memcli.toml")


def test_memcli_toml_goes_before_a_nearer_storage_and_that_before_a_nearer_git_root(
    root: Path, environ: Mapping[str, str]
) -> None:
    start = made(root / "a" / "b")
    made(root / "a" / "b" / ".git")
    assert discover_project(start, environ).found_by == "git"
    made(root / "a" / ".memcli")
    assert discover_project(start, environ).root == root / "a"
    (root / "memcli.toml").write_text("")
    assert discover_project(start, environ).root == root


def test_a_git_worktree_file_marks_a_root(root: Path, environ: Mapping[str, str]) -> None:
    (root / ".git").write_text("gitdir: /elsewhere\n")
    assert discover_project(made(root / "a"), environ).root == root


def test_without_any_mark_the_start_is_the_root(root: Path, environ: Mapping[str, str]) -> None:
    found = discover_project(root, environ)
    assert (found.root, found.found_by) == (root, "directory")


def test_the_option_and_the_environment_name_the_root_itself(
    root: Path, environ: Mapping[str, str]
) -> None:
    (root / "memcli.toml").write_text("")
    inner, other = made(root / "inner"), made(root / "other")
    assert discover_project(root, environ, "inner").root == inner
    assert discover_project(root, environ, str(inner)).root == inner
    named = {**environ, "MEMCLI_PROJECT": str(other)}
    assert discover_project(root, named).root == other
    assert discover_project(root, named, str(inner)).root == inner


@pytest.mark.parametrize("name", ["nowhere", "file.md"])
def test_an_override_that_is_no_directory_is_project_not_found(
    root: Path, environ: Mapping[str, str], name: str
) -> None:
    (root / "file.md").write_text("x")
    with pytest.raises(InvalidInput) as caught:
        discover_project(root, environ, name)
    assert caught.value.code == "project_not_found"
    assert name in caught.value.message


def test_a_home_or_root_directory_is_refused_unless_allowed(
    tmp_path: Path, environ: Mapping[str, str]
) -> None:
    home = tmp_path / "home"
    for broad in (home, tmp_path, Path("/")):
        with pytest.raises(InvalidInput) as caught:
            discover_project(broad, environ)
        assert caught.value.code == "project_refused"
        assert "--yes" in caught.value.hint
        assert discover_project(broad, environ, allow_broad=True).root == broad


def test_a_memcli_toml_in_the_home_directory_is_refused_too(
    tmp_path: Path, environ: Mapping[str, str]
) -> None:
    home = tmp_path / "home"
    (home / "memcli.toml").write_text("")
    with pytest.raises(InvalidInput, match="project_refused"):
        discover_project(made(home / "work"), environ)


def test_storage_or_git_in_the_home_directory_claims_nothing_below_it(
    tmp_path: Path, environ: Mapping[str, str]
) -> None:
    home = tmp_path / "home"
    made(home / ".memcli")
    made(home / ".git")
    work = made(home / "work")
    assert discover_project(work, environ).root == work


def test_the_central_store_is_not_taken_for_a_project(
    tmp_path: Path, environ: Mapping[str, str]
) -> None:
    parent = made(tmp_path / "elsewhere")
    store = made(parent / ".memcli")
    start = made(parent / "a")
    assert discover_project(start, {**environ, "MEMCLI_HOME": str(store)}).root == start


def test_a_root_reached_through_a_link_is_the_real_one(
    tmp_path: Path, root: Path, environ: Mapping[str, str]
) -> None:
    (tmp_path / "link").symlink_to(root)
    assert discover_project(tmp_path / "link", environ).root == root


def test_a_fifo_named_memcli_toml_marks_nothing_and_blocks_nothing(
    root: Path, environ: Mapping[str, str]
) -> None:
    os.mkfifo(root / "memcli.toml")
    assert discover_project(root, environ).found_by == "directory"


def test_discovery_writes_nothing(root: Path, environ: Mapping[str, str]) -> None:
    discover_project(root, environ)
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("create", [create_storage, create_local_memory])
def test_directories_that_memcli_creates_ignore_themselves_and_are_private(
    root: Path, create: object
) -> None:
    assert callable(create)
    old = os.umask(0o022)
    try:
        directory = create(root)
    finally:
        os.umask(old)
    assert (directory / ".gitignore").read_text() == "*\n"
    assert directory.stat().st_mode & 0o777 == 0o700
    assert (directory / ".gitignore").stat().st_mode & 0o777 == 0o600


def test_a_storage_that_links_out_of_the_project_needs_trust(root: Path, tmp_path: Path) -> None:
    outside = made(tmp_path / "outside")
    (root / ".memcli").symlink_to(outside)
    with pytest.raises(InvalidInput) as caught:
        create_storage(root)
    assert caught.value.code == "source_outside_project"
    assert list(outside.iterdir()) == []
    assert storage_directory(root, trusted=True) == root / ".memcli"
