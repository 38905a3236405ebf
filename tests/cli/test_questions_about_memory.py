"""``status``, ``memory``, ``head``, ``index list`` and ``why`` as processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest_types import Run


def test_status_tells_project_memory_head_models_and_sizes(memcli: Run) -> None:
    text = memcli("status").out
    for words in ("small (memcli.toml)", "resources", "by kind", "up to date", "device", "bundled"):
        assert words in text
    document = memcli("status", "--json").document
    assert document["memory"]["resources"] == 6
    assert document["memory"]["by_kind"] == {"note": 4, "runbook": 1, "rule": 1}
    assert document["index"]["behind"] is False
    assert document["index"]["sizes"]["index"] > 0
    origins = {each["key"]: each["origin"] for each in document["settings"]}
    assert origins["models.embedder"] == "default"


def test_status_says_which_setting_came_from_where(memcli: Run) -> None:
    """F16: one resolver, shown in status."""
    done = memcli("status", "--json", env={"MEMCLI_THREADS": "1"})
    setting = next(e for e in done.document["settings"] if e["key"] == "models.threads")
    assert setting["value"] == 1
    assert "MEMCLI_THREADS" in setting["origin"]
    assert "1 threads" in done.document["device"]


def test_status_sees_that_the_head_is_behind_the_files(own_memcli: tuple[Run, Path]) -> None:
    run, root = own_memcli
    (root / "docs/new.md").write_text("new\n")
    document = run("status", "--json").document
    assert document["index"]["behind"] is True
    assert document["next_command"] == "memcli index build"


def test_status_works_before_anything_was_built_and_creates_nothing(
    memcli: Run, tmp_path: Path
) -> None:
    (tmp_path / "memcli.toml").touch()
    (tmp_path / "a.md").write_text("hello\n")
    done = memcli("status", "--json", cwd=tmp_path, env={"MEMCLI_HOME": str(tmp_path / "h")})
    assert done.status == 0
    assert done.document["index"]["head"] is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.md", "memcli.toml"]


def test_memory_list_shows_what_won_and_what_was_left_out(own_memcli: tuple[Run, Path]) -> None:
    run, root = own_memcli
    (root / "docs/off.md").write_text("---\nenabled: false\n---\ntext\n")
    (root / "docs/empty.md").write_text("")
    local = root / ".memcli.local/docs"
    local.mkdir(parents=True)
    (local / "rollback.md").write_text("# Local\n\nAsk first.\n")
    document = run("memory", "list", "--json").document
    dispositions = {each["path"]: each["disposition"] for each in document["left_out"]}
    assert dispositions["docs/off.md"] == "disabled"
    assert dispositions["docs/empty.md"] == "skipped"
    assert "shadowed" in dispositions.values()
    lines = run("memory", "list").out.splitlines()
    assert lines[0] == "scope\tkind\tpath\ttitle"
    assert any(line.startswith("local\t") for line in lines)


def test_memory_show_cuts_a_note_as_the_index_does(memcli: Run) -> None:
    document = memcli("memory", "show", "docs/oncall.md", "--units", "--json").document
    assert [each["unit_key"] for each in document["units"]] == [
        "docs/oncall.md#description~0.0",
        "docs/oncall.md#root~0.0",
    ]
    description, root = document["units"]
    assert description["locator"] == {
        "start_line": 3, "end_line": 3, "start_char": None, "end_char": None,
    }  # fmt: skip
    assert root["locator"]["start_line"] == 6


def test_memory_show_of_an_unknown_note_suggests_near_ones(memcli: Run) -> None:
    done = memcli("memory", "show", "docs/rolback.md")
    assert done.status == 2
    assert "docs/rollback.md" in done.err


def test_head_show_and_index_list_agree(memcli: Run) -> None:
    head = memcli("head", "show", "--json").document
    listing = memcli("index", "list", "--json").document
    assert listing["head"] == head["head"] == head["revision"]["revision_id"]
    assert head["revision"]["recipe"]["embedder"]["profile"] == "bundled"


def test_no_swap_leaves_the_head_and_swap_moves_it_and_back(own_memcli: tuple[Run, Path]) -> None:
    run, root = own_memcli
    before = run("head", "show", "--json").document["head"]
    (root / "docs/new.md").write_text("# New\n\nSomething entirely new.\n")
    built = run("index", "build", "--no-swap", "--json").document
    assert built["swapped"] is False
    assert built["embedded"] == 1
    assert built["reused"] == 7
    assert run("head", "show", "--json").document["head"] == before
    assert run("head", "swap", "--json").document["head"] == built["revision_id"]
    assert run("head", "swap", "--previous", "--json").document["head"] == before
    assert run("head", "swap", built["revision_id"][:-2], "--json").status == 0
    unknown = run("head", "swap", "nothing-like-it", "--json")
    assert unknown.status == 1
    assert unknown.error["code"] == "revision_not_found"


def test_build_with_nothing_changed_builds_nothing_unless_forced(
    own_memcli: tuple[Run, Path],
) -> None:
    run, _ = own_memcli
    again = run("index", "build", "--json").document
    assert again["created"] is False
    assert again["embedded"] == 0
    forced = run("index", "build", "--force", "--json").document
    assert forced["created"] is True
    assert forced["embedded"] == 0


def test_why_tells_of_a_returned_note(memcli: Run) -> None:
    story = memcli("why", "how do I roll back a deploy?", "docs/rollback.md", "--json").document
    assert story["memory"] == "present"
    assert story["head"] == "current"
    (unit,) = story["units"]
    assert unit["outcome"] == "returned"
    assert unit["final_rank"] == 1
    assert unit["vector_place"] == 1
    assert "returned at place 1" in memcli("why", "how do I roll back?", "docs/rollback.md").out


def test_why_tells_of_a_note_below_the_floor_with_its_true_places(memcli: Run) -> None:
    story = memcli("why", "how do I roll back a deploy?", "docs/部署.md", "--json").document
    (unit,) = story["units"]
    assert unit["outcome"] == "below_relevance"
    assert unit["bm25_place"] is None
    assert 1 < unit["vector_place"] <= 7


@pytest.mark.parametrize(
    ("path", "text", "memory", "reason"),
    [
        ("docs/ignored.md", "text\n", "ignored", "git"),
        ("docs/off.md", "---\nenabled: false\n---\ntext\n", "disabled", "front_matter"),
        ("docs/binary.md", "a\x00b", "skipped", "binary"),
    ],
)
def test_why_tells_what_kept_a_file_out_of_memory(
    own_memcli: tuple[Run, Path], path: str, text: str, memory: str, reason: str
) -> None:
    run, root = own_memcli
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("ignored.md\n")
    (root / path).write_text(text)
    story = run("why", "anything", path, "--json").document
    assert story["memory"] == memory
    assert story["memory_reason"] == reason
    assert story["units"] == []
    assert memory in story["verdict"]


def test_why_tells_of_notes_new_changed_gone_and_unknown(own_memcli: tuple[Run, Path]) -> None:
    run, root = own_memcli
    (root / "docs/new.md").write_text("# New\n\ntext\n")
    (root / "docs/oncall.md").write_text("# On call\n\nThe pager is gone.\n")
    (root / "docs/quick.md").unlink()
    new = run("why", "anything at all", "docs/new.md", "--json").document
    assert new["head"] == "absent"
    assert "memcli index build" in new["verdict"]
    assert run("why", "pager", "docs/oncall.md", "--json").document["head"] == "older"
    assert run("why", "quick", "docs/quick.md", "--json").document["head"] == "removed"
    unknown = run("why", "pager", "docs/oncal.md", "--json").document
    assert unknown["memory"] == "unknown"
    assert "docs/oncall.md" in unknown["near"]


def test_why_records_no_run_and_needs_a_head(memcli: Run, tmp_path: Path) -> None:
    (tmp_path / "memcli.toml").touch()
    done = memcli("why", "a", "b.md", "--json", cwd=tmp_path)
    assert done.status == 3
    assert done.error["code"] == "index_not_ready"
