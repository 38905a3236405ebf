"""The sample projects: the dirty one is indexed as its README says, and good questions work."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memcli.facade import Memcli, Surroundings

SAMPLES = Path(__file__).parent.parent / "sample_projects"


def opened(name: str, base: Path) -> Memcli:
    root = base / name
    shutil.copytree(SAMPLES / name, root, symlinks=True)
    environ = {
        "MEMCLI_HOME": str(base / "central"),
        "MEMCLI_CONFIG": str(base / "config"),
        "HOME": str(base),
    }
    return Memcli.open(root, project=root, surroundings=Surroundings(environ=environ))


@pytest.fixture(scope="module", params=["harbor", "qinghe"])
def sample(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Memcli]]:
    """A sample project, built with the real model."""
    with opened(request.param, tmp_path_factory.mktemp(request.param)) as memcli:
        memcli.build_index()
        yield request.param, memcli


def test_good_questions_bring_the_note_that_answers_them(sample: tuple[str, Memcli]) -> None:
    """A regression guard over questions we wrote ourselves; no claim about quality."""
    name, memcli = sample
    questions = json.loads((SAMPLES / f"{name}.questions.json").read_text(encoding="utf-8"))
    answered = [each for each in questions if each["path"]]
    found = []
    for each in answered:
        fragments = memcli.activate_memory(each["query"]).activation.fragments
        found.append(each["path"] in [fragment.path for fragment in fragments])
    missed = [each["query"] for each, hit in zip(answered, found, strict=True) if not hit]
    assert sum(found) >= 0.7 * len(answered), missed


def test_memories_are_believable_in_size_and_variety(sample: tuple[str, Memcli]) -> None:
    name, memcli = sample
    memory = memcli.effective_memory().memory
    assert len(memory.resources) >= (40 if name == "harbor" else 15)
    head = memcli.show_head().revision
    assert head.unit_count > len(memory.resources)
    from memcli.index.reader import open_head

    with open_head(memcli.storage) as reader:
        units = [
            unit
            for entry in reader.manifest()
            for unit in reader.units_of_resource(entry.resource_id)
        ]
    keys = [unit.unit_key for unit in units]
    last = [(unit.resource_id, unit.heading_path[-1]) for unit in units if unit.heading_path]
    assert len(set(last)) < len(last), "a heading that stands twice in a note"
    assert any(key.endswith(".2") for key in keys), "a section long enough to be windowed"
    assert any("#description~" in key for key in keys)
    assert len(set(keys)) == len(keys)


def test_the_dirty_project_is_indexed_as_well_as_possible(tmp_path: Path) -> None:
    """F22: nothing stops a build, and what is skipped is counted and named."""
    with opened("dirty", tmp_path) as memcli:
        summary = memcli.build_index().summary
    left_out = {each.path: each.reason for each in summary.left_out}
    assert left_out == {
        "binary.md": "binary",
        "blank.md": "empty",
        "disabled.md": "front_matter",
        "duplicate-id-b.md": "duplicate_id",
        "empty.md": "empty",
        "link-broken.md": "symlink_broken",
        "link-inside.md": "symlink_duplicate",
        "link-loop.md": "symlink_broken",
        "link-outside.md": "symlink_outside",
        "loop-dir/": "symlink_directory",
    }
    assert {each.path: each.reason for each in summary.warnings} == {
        "bad-utf8.md": "invalid_utf8",
        "broken-front-matter.md": "broken_front_matter",
        "cursor-globs.mdc": "broken_front_matter",
        "unterminated-front-matter.md": "unterminated_front_matter",
    }
    assert summary.resources == 15


def test_fragments_of_dirty_files_open_at_their_lines(tmp_path: Path) -> None:
    with opened("dirty", tmp_path) as memcli:
        memcli.build_index()
        from memcli.index.reader import open_head

        with open_head(memcli.storage) as reader:
            for entry in reader.manifest():
                if entry.path == "utf16.md":
                    continue
                raw = (memcli.project.root / entry.path).read_bytes()
                text = raw.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
                lines = text.split("\n")
                for unit in reader.units_of_resource(entry.resource_id):
                    if unit.locator.start_char is None:
                        assert "description" in lines[unit.locator.start_line - 1]
                        continue
                    first = unit.text.split("\n")[0]
                    assert first in lines[unit.locator.start_line - 1], unit.unit_key
                    last = unit.text.split("\n")[-1]
                    assert last in lines[unit.locator.end_line - 1], unit.unit_key
