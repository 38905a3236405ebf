"""Project ids: their four origins, copies, moves, and a registry that fails."""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memcli.errors import Failure, InvalidInput
from memcli.memory.identity import (
    Identity,
    ProjectRegistry,
    read_project_id,
    resolve_identity,
    settle_identity,
)


class MemoryRegistry:
    """A registry that forgets everything with the test."""

    def __init__(self) -> None:
        self.roots: dict[str, str] = {}
        self.writes = 0

    def id_of_root(self, root: str) -> str | None:
        ids = [project_id for project_id, known in self.roots.items() if known == root]
        return ids[-1] if ids else None

    def root_of_id(self, project_id: str) -> str | None:
        return self.roots.get(project_id)

    def remember(self, project_id: str, root: str) -> None:
        self.writes += 1
        self.roots.pop(project_id, None)
        self.roots[project_id] = root


class BrokenRegistry:
    def id_of_root(self, root: str) -> str | None:
        raise Failure("store_damaged", "the store is damaged")

    def root_of_id(self, project_id: str) -> str | None:
        raise OSError("disk gone")

    def remember(self, project_id: str, root: str) -> None:
        raise Failure("store_damaged", "the store is damaged")


@pytest.fixture
def registry() -> MemoryRegistry:
    return MemoryRegistry()


@pytest.fixture
def new_id() -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: f"new-{next(numbers)}"


def settle(
    root: Path, registry: ProjectRegistry | None, new_id: Callable[[], str], **more: str
) -> Identity:
    return settle_identity(
        root,
        configured_id=more.get("configured_id"),
        registry=registry,
        new_id=new_id,
    )


def test_a_new_project_gets_a_new_id_which_lasts(
    root: Path, registry: MemoryRegistry, new_id: Callable[[], str]
) -> None:
    first = settle(root, registry, new_id)
    assert (first.project_id, first.origin) == ("new-1", "new")
    again = resolve_identity(root, configured_id=None, registry=registry, new_id=new_id)
    assert (again.project_id, again.origin, again.is_new) == ("new-1", "project-id", False)
    assert registry.roots == {"new-1": str(root)}


def test_resolving_writes_nothing(
    root: Path, registry: MemoryRegistry, new_id: Callable[[], str]
) -> None:
    found = resolve_identity(root, configured_id=None, registry=registry, new_id=new_id)
    assert found.is_new
    assert list(root.iterdir()) == []
    assert registry.writes == 0


def test_the_order_is_toml_then_project_id_then_registry(
    root: Path, registry: MemoryRegistry, new_id: Callable[[], str]
) -> None:
    registry.remember("from-registry", str(root))
    assert settle(root, registry, new_id).project_id == "from-registry"
    (root / ".memcli" / "project-id").write_text("from-file\n")
    assert settle(root, registry, new_id).project_id == "from-file"
    configured = settle(root, registry, new_id, configured_id="from-toml")
    assert (configured.project_id, configured.origin) == ("from-toml", "memcli.toml")


def test_a_deleted_storage_keeps_the_history(
    root: Path, registry: MemoryRegistry, new_id: Callable[[], str]
) -> None:
    before = settle(root, registry, new_id).project_id
    shutil.rmtree(root / ".memcli")
    after = settle(root, registry, new_id)
    assert (after.project_id, after.origin) == (before, "registry")
    assert read_project_id(root) == before


def test_a_moved_project_keeps_the_history(
    root: Path, tmp_path: Path, registry: MemoryRegistry, new_id: Callable[[], str]
) -> None:
    before = settle(root, registry, new_id).project_id
    moved = tmp_path / "moved"
    root.rename(moved)
    assert settle(moved, registry, new_id).project_id == before
    assert registry.root_of_id(before) == str(moved)


def test_a_copy_gets_a_new_id_and_the_original_keeps_its_own(
    root: Path, tmp_path: Path, registry: MemoryRegistry, new_id: Callable[[], str]
) -> None:
    original = settle(root, registry, new_id).project_id
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    settled = settle(copy, registry, new_id)
    assert settled.origin == "copy"
    assert settled.project_id != original
    assert read_project_id(copy) == settled.project_id
    assert settle(root, registry, new_id).project_id == original
    # Copied over once more, it is still the project it became.
    shutil.copytree(root, copy, dirs_exist_ok=True)
    assert settle(copy, registry, new_id).project_id == settled.project_id


def test_an_id_in_memcli_toml_is_shared_by_clones_on_purpose(
    root: Path, tmp_path: Path, registry: MemoryRegistry, new_id: Callable[[], str]
) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    for place in (root, clone):
        (place / "memcli.toml").write_text('id = "ours"\n')
        assert settle(place, registry, new_id, configured_id="ours").project_id == "ours"
    assert not (root / ".memcli").exists()


def test_a_project_id_that_another_root_has_in_its_memcli_toml_belongs_to_that_root(
    root: Path, tmp_path: Path, registry: MemoryRegistry, new_id: Callable[[], str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "memcli.toml").write_text('id = "theirs"\n')
    registry.remember("theirs", str(other))
    (root / ".memcli").mkdir()
    (root / ".memcli" / "project-id").write_text("theirs")
    assert settle(root, registry, new_id).origin == "copy"


@pytest.mark.parametrize("text", ["a b", "../x", "x" * 65, "..", "é", "a\nb"])
def test_a_damaged_project_id_file_is_an_error_with_a_way_out(
    root: Path, registry: MemoryRegistry, new_id: Callable[[], str], text: str
) -> None:
    (root / ".memcli").mkdir()
    (root / ".memcli" / "project-id").write_text(text)
    with pytest.raises(InvalidInput) as caught:
        settle(root, registry, new_id)
    assert caught.value.code == "project_id_invalid"
    assert "Delete" in caught.value.hint


def test_a_blank_project_id_file_counts_as_none(
    root: Path, registry: MemoryRegistry, new_id: Callable[[], str]
) -> None:
    (root / ".memcli").mkdir()
    (root / ".memcli" / "project-id").write_text("\n")
    assert settle(root, registry, new_id).project_id == "new-1"


def test_a_registry_that_fails_is_a_warning_and_breaks_nothing(
    root: Path, new_id: Callable[[], str]
) -> None:
    first = settle(root, BrokenRegistry(), new_id)
    assert first.project_id == "new-1"
    assert any("store is damaged" in warning for warning in first.warnings)
    again = settle(root, BrokenRegistry(), new_id)
    assert again.project_id == "new-1"
    assert any("disk gone" in warning for warning in again.warnings)


def test_where_the_project_cannot_be_written_the_registry_alone_keeps_the_id(
    root: Path, registry: MemoryRegistry, new_id: Callable[[], str]
) -> None:
    (root / ".memcli").write_text("a file in the way")
    first = settle(root, registry, new_id)
    assert any("only the registry" in warning for warning in first.warnings)
    assert settle(root, registry, new_id).project_id == first.project_id
    with pytest.raises(Failure) as caught:
        settle(root, None, new_id)
    assert caught.value.code == "project_not_writable"


def test_first_commands_at_once_agree_on_one_id(root: Path, registry: MemoryRegistry) -> None:
    numbers = itertools.count(1)
    with ThreadPoolExecutor(8) as pool:
        settled = list(
            pool.map(lambda _: settle(root, registry, lambda: f"id-{next(numbers)}"), range(8))
        )
    assert len({identity.project_id for identity in settled}) == 1
    assert read_project_id(root) == settled[0].project_id


def test_a_known_project_is_not_written_to_the_registry_again(
    root: Path, registry: MemoryRegistry, new_id: Callable[[], str]
) -> None:
    for _ in range(3):
        settle(root, registry, new_id)
    assert registry.writes == 1


def test_no_flipped_bit_makes_another_id(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    settle_identity(root, configured_id=None, registry=MemoryRegistry(), new_id=lambda: "ab12")
    path = root / ".memcli" / "project-id"
    written = path.read_bytes()
    assert read_project_id(root) == "ab12"
    flips = [(at // 8, 1 << at % 8) for at in range(8 * len(written))]
    changed = [written[:at] + bytes([written[at] ^ bit]) + written[at + 1 :] for at, bit in flips]
    for data in (*changed, *(written[:size] for size in range(len(written)))):
        path.write_bytes(data)
        with contextlib.suppress(InvalidInput):
            assert read_project_id(root) in ("ab12", None)
