"""Effective Memory: precedence, order, ids, kinds, titles, and every fault listed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from memcli.configuration import resolve_configuration
from memcli.memory.hashing import body_sha256
from memcli.memory.resource import Disposition, EffectiveMemory, LeftOut, Scope, SourceResource
from memcli.memory.synthesis import effective_memory

Write = Callable[..., Path]
Memory = Callable[[], EffectiveMemory]

DIRTY = Path(__file__).parents[2] / "sample_projects" / "dirty"


def one(memory: EffectiveMemory, path: str) -> SourceResource:
    (found,) = [it for it in memory.resources if it.path == path]
    return found


def left(memory: EffectiveMemory, path: str) -> LeftOut:
    (found,) = [it for it in memory.left_out if it.path == path]
    return found


@pytest.fixture
def write_global(config: Path) -> Write:
    def write_file(name: str, content: str = "text\n") -> Path:
        path = config / "memory" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    return write_file


def test_a_resource_holds_what_the_file_says(write: Write, memory: Memory) -> None:
    path = write("docs/a.md", "---\ntitle: T\ndescription: d\nkind: runbook\n---\n\n# H\n\nbody\n")
    resource = one(memory(), "docs/a.md")
    assert (resource.resource_id, resource.scope, resource.kind) == (
        "docs/a.md",
        Scope.PROJECT,
        "runbook",
    )
    assert (resource.title, resource.description) == ("T", "d")
    assert resource.body == "\n# H\n\nbody\n"
    assert (resource.body_first_line, resource.description_line) == (6, 3)
    assert resource.body_sha256 == body_sha256(resource.body)
    assert resource.file_path == str(path)


def test_order_is_by_scope_then_path_key(write: Write, write_global: Write, memory: Memory) -> None:
    for name in ("b.md", "B.md", "a/z.md", ".memcli.local/0.md"):
        write(name, f"{name}\n")
    write_global("z.md")
    assert [(str(it.scope), it.path) for it in memory().resources] == [
        ("global", "z.md"),
        ("project", "B.md"),
        ("project", "a/z.md"),
        ("project", "b.md"),
        ("local", ".memcli.local/0.md"),
    ]


def test_the_higher_scope_replaces_the_lower_with_the_same_path_key(
    write: Write, write_global: Write, memory: Memory
) -> None:
    write_global("rules/a.md", "global\n")
    write("rules/a.md", "project\n")
    found = memory()
    assert [(it.scope, it.body) for it in found.resources] == [(Scope.PROJECT, "project\n")]
    (shadowed,) = found.left_out
    assert (shadowed.scope, shadowed.disposition, shadowed.reason, shadowed.by) == (
        Scope.GLOBAL,
        Disposition.SHADOWED,
        "higher_scope",
        "rules/a.md",
    )


def test_a_file_of_the_local_folder_replaces_the_project_file_that_it_mirrors(
    write: Write, write_global: Write, memory: Memory
) -> None:
    write("docs/a.md", "project\n")
    write_global("docs/a.md", "global\n")
    write(".memcli.local/docs/a.md", "local\n")
    found = memory()
    assert [(it.path, it.body) for it in found.resources] == [
        (".memcli.local/docs/a.md", "local\n")
    ]
    assert [it.by for it in found.left_out] == [".memcli.local/docs/a.md"] * 2


def test_enabled_false_removes_a_resource_and_hides_a_lower_one(
    write: Write, write_global: Write, memory: Memory
) -> None:
    write_global("a.md", "global\n")
    write("a.md", "---\nenabled: false\n---\n")
    write("b.md", "---\nenabled: no\n---\ntext\n")
    found = memory()
    assert found.resources == ()
    assert [(it.path, str(it.scope), str(it.disposition)) for it in found.left_out] == [
        ("a.md", "global", "shadowed"),
        ("a.md", "project", "disabled"),
        ("b.md", "project", "disabled"),
    ]


def test_a_higher_file_that_cannot_be_read_leaves_the_place_to_the_lower(
    write: Write, write_global: Write, memory: Memory
) -> None:
    write_global("a.md", "global\n")
    write("a.md", b"\0binary")
    found = memory()
    assert [it.scope for it in found.resources] == [Scope.GLOBAL]
    assert left(found, "a.md").reason == "binary"


def test_of_two_resources_with_one_id_the_first_in_order_wins(
    write: Write, write_global: Write, memory: Memory
) -> None:
    write_global("z.md", "---\nid: same\n---\ntext\n")
    write("a.md", "---\nid: same\n---\ntext\n")
    write("b.md", "---\nid: c.md\n---\ntext\n")
    write("c.md", "text\n")
    found = memory()
    assert [it.path for it in found.resources] == ["z.md", "b.md"]
    for loser, winner in (("a.md", "z.md"), ("c.md", "b.md")):
        entry = left(found, loser)
        assert (entry.disposition, entry.reason, entry.by) == (
            Disposition.SKIPPED,
            "duplicate_id",
            winner,
        )
        assert loser in entry.detail
        assert winner in entry.detail


def test_of_two_files_with_one_path_key_in_one_scope_the_first_source_wins(
    tmp_path: Path, config: Path, write_global: Write, memory: Memory
) -> None:
    write_global("a.md", "default folder\n")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("listed\n")
    (config / "config.toml").write_text(f'[[source]]\nroot = "{tmp_path}/notes"\n')
    found = memory()
    assert [it.body for it in found.resources] == ["listed\n"]
    entry = left(found, "a.md")
    assert (entry.reason, entry.by) == ("duplicate_path", f"{tmp_path}/notes/a.md")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("AGENTS.md", "rule"),
        ("sub/CLAUDE.md", "rule"),
        ("GEMINI.md", "rule"),
        (".cursor/rules/deep/x.mdc", "rule"),
        ("sub/.cursor/rules/x.mdc", "rule"),
        (".cursor/rules/x.md", "note"),
        ("x.mdc", "note"),
        ("agents.md", "note"),
    ],
)
def test_kinds_are_inferred_for_rules_only(
    write: Write, memory: Memory, path: str, kind: str
) -> None:
    write(path)
    assert one(memory(), path).kind == kind


def test_front_matter_kind_goes_before_the_sources_kind(write: Write, memory: Memory) -> None:
    write("memcli.toml", '[[source]]\nkind = "doc"\n')
    write("a.md", "---\nkind: decision\n---\ntext\n")
    write("AGENTS.md")
    found = memory()
    assert (one(found, "a.md").kind, one(found, "AGENTS.md").kind) == ("decision", "doc")


def test_a_missing_title_comes_from_the_first_heading_else_the_file_name(
    write: Write, memory: Memory
) -> None:
    write("a.md", "intro\n\n## Second level\n")
    write("docs/no heading.MARKDOWN", "text\n")
    write(".md", "text\n")
    found = memory()
    assert one(found, "a.md").title == "Second level"
    assert one(found, "docs/no heading.MARKDOWN").title == "no heading"
    assert one(found, ".md").title == ".md"


def test_a_known_heading_spares_the_parser_and_changes_nothing_else(
    write: Write, root: Path, environ: Mapping[str, str]
) -> None:
    write("a.md", "# Real\n")
    write("b.md", "no heading\n")
    configuration = resolve_configuration(root, environ, {})
    known = {body_sha256("# Real\n"): "Known", body_sha256("no heading\n"): None}
    found = effective_memory(configuration, environ, known)
    assert (one(found, "a.md").title, one(found, "b.md").title) == ("Known", "b")


def test_empty_and_blank_files_are_skipped_unless_they_have_a_description(
    write: Write, memory: Memory
) -> None:
    write("a.md", "")
    write("b.md", " \n\t\n")
    write("c.md", "---\ntitle: only a title\n---\n\n")
    write("d.md", "---\ndescription: enough\n---\n")
    found = memory()
    assert [it.path for it in found.resources] == ["d.md"]
    assert {it.path: it.reason for it in found.left_out} == dict.fromkeys(
        ("a.md", "b.md", "c.md"), "empty"
    )


def test_the_same_front_matter_in_thirty_notes_is_never_body_text(
    write: Write, memory: Memory
) -> None:
    """F15: thirty notes with one front matter must not all be found by it."""
    for number in range(30):
        write(f"n{number}.md", f"---\ntags: [zebra]\nowner: quagga\n---\n# Note {number}\n")
    for resource in memory().resources:
        assert "zebra" not in resource.body
        assert "quagga" not in resource.title + resource.description + resource.body
        assert resource.body_first_line == 5


def test_every_kind_of_fault_is_listed_and_stops_nothing(
    root: Path, write: Write, memory: Memory
) -> None:
    """F22: broken link, empty, invalid UTF-8, binary, too large; nothing is skipped silently."""
    write("memcli.toml", "[index]\nmax_file_bytes = 1000\n")
    write("good.md")
    write("latin.md", b"caf\xe9\n")
    write("binary.md", b"\x89PNG\0\0")
    write("empty.md", "")
    write("large.md", "x" * 1001)
    (root / "broken.md").symlink_to("nowhere")
    found = memory()
    assert [it.path for it in found.resources] == ["good.md", "latin.md"]
    assert {(it.path, it.reason) for it in found.left_out} == {
        ("binary.md", "binary"),
        ("broken.md", "symlink_broken"),
        ("empty.md", "empty"),
        ("large.md", "too_large"),
    }
    assert [(it.path, it.reason) for it in found.warnings] == [("latin.md", "invalid_utf8")]
    assert all(it.detail for it in found.left_out)
    assert all(it.detail for it in found.warnings)


@pytest.mark.usefixtures("rights_matter")
def test_unreadable_files_and_directories_are_listed(
    root: Path, write: Write, memory: Memory
) -> None:
    """F22: chmod 000."""
    write("a.md").chmod(0)
    write("closed/b.md")
    write("rules/.gitignore", "c.md\n").chmod(0)
    write("rules/c.md")
    (root / "closed").chmod(0)
    try:
        found = memory()
    finally:
        (root / "closed").chmod(0o700)
    assert {(it.path, it.reason) for it in found.left_out} == {
        ("a.md", "unreadable"),
        ("closed/", "unreadable"),
    }
    assert [(it.path, it.reason) for it in found.warnings] == [("rules/.gitignore", "unreadable")]
    assert [it.path for it in found.resources] == ["rules/c.md"]


def test_a_note_saved_by_renaming_is_the_same_note(
    write: Write, root: Path, memory: Memory
) -> None:
    """F20: editors write a temporary file and rename it over the note."""
    write("note.md", "old\n")
    write("tmp", "new\n")
    (root / "tmp").rename(root / "note.md")
    assert [(it.path, it.body) for it in memory().resources] == [("note.md", "new\n")]


def test_the_dirty_sample_gives_what_its_readme_promises(tmp_path: Path) -> None:
    root = tmp_path / "dirty"
    shutil.copytree(DIRTY, root, symlinks=True)
    environ = {"HOME": str(tmp_path), "MEMCLI_CONFIG": str(tmp_path / "none")}
    found = effective_memory(resolve_configuration(root, environ, {}), environ)
    reasons = {it.path: it.reason for it in found.left_out}
    assert reasons == {
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
    assert {it.path: it.reason for it in found.warnings} == {
        "bad-utf8.md": "invalid_utf8",
        "broken-front-matter.md": "broken_front_matter",
        "cursor-globs.mdc": "broken_front_matter",
        "unterminated-front-matter.md": "unterminated_front_matter",
    }
    assert one(found, "bom.md").title == "Byte order mark"
    assert "saltbush" in one(found, "utf16.md").body
    assert one(found, "toml-front-matter.md").description
    assert "\r" not in one(found, "mixed-newlines.md").body
