"""The list of files that a build saw: whose it is when builds meet, and what it says later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from memcli.facade import Memcli, building
from memcli.facade.freshness import remember_files
from memcli.index import builder
from memcli.index.locking import running_build
from memcli.memory.resource import EffectiveMemory

NOTES = {
    "a.md": "# Coffee\n\nThe coffee machine is descaled on Fridays.\n",
    "b.md": "# Tea\n\nTea is in the second drawer.\n",
}
QUERY = "when is the coffee machine descaled"

Write = Callable[[Mapping[str, str]], Path]
Open = Callable[..., Memcli]


def noticed(memcli: Memcli) -> list[str]:
    return [each.message for each in memcli.activate_memory(QUERY).activation.notices]


def test_the_list_is_written_while_the_build_lock_is_held(
    write_notes: Write, open_project: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the earlier of two builds could write its older list last."""
    memcli = open_project(write_notes(NOTES))
    held = []

    def remember(project: Memcli, memory: EffectiveMemory) -> None:
        held.append(running_build(project.storage) is not None)
        remember_files(project, memory)

    monkeypatch.setattr(building, "remember_files", remember)
    memcli.build_index()
    memcli.build_index()
    assert held == [True, True]
    assert noticed(memcli) == []


def test_a_build_stopped_behind_its_swap_has_left_the_new_list(
    write_notes: Write, open_project: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keeping token vectors may take minutes, and comes after the swap."""
    root = write_notes(NOTES)
    memcli = open_project(root)
    memcli.build_index()
    (root / "a.md").write_text("# Coffee\n\nThe coffee machine is descaled on Mondays.\n")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(builder, "fill_token_vectors", stop)
    with pytest.raises(KeyboardInterrupt):
        memcli.build_index()
    assert noticed(memcli) == []


def test_a_list_that_a_killed_build_was_writing_is_removed_by_the_next(
    write_notes: Write, open_project: Open
) -> None:
    memcli = open_project(write_notes(NOTES))
    memcli.build_index()
    left = memcli.storage.directory / ".seen-files.json.0123456789ab.tmp"
    left.write_bytes(b"half a li")
    memcli.build_index()
    assert not left.exists()
    assert noticed(memcli) == []


def test_only_other_content_is_noticed(write_notes: Write, open_project: Open) -> None:
    root = write_notes(NOTES)
    memcli = open_project(root)
    memcli.build_index()
    for name in NOTES:
        (root / name).touch()
    assert noticed(memcli) == []
    (root / "b.md").write_text(NOTES["b.md"].replace("second", "fourth"))
    (message,) = noticed(memcli)
    assert "b.md" in message
    (root / "b.md").write_text(NOTES["b.md"])
    assert noticed(memcli) == []
