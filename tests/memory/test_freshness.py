"""The cheap check: every change that matters is noticed, no other one is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from memcli.configuration import resolve_configuration
from memcli.memory import freshness
from memcli.memory.freshness import Changes, SeenRecord, changed_since, seen_record
from memcli.memory.sources import effective_sources, sources_fingerprint
from memcli.memory.synthesis import effective_memory

Write = Callable[..., Path]


class Watched:
    """A project whose present state has been recorded."""

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        self.root = root
        self.environ = environ
        configuration = resolve_configuration(root, environ, {})
        sources = effective_sources(configuration)
        memory = effective_memory(configuration, environ)
        fingerprint = sources_fingerprint(root, sources, configuration.max_file_bytes)
        # Times of a coarse clock would hide a change made in the same instant.
        age(root)
        memory = effective_memory(configuration, environ)
        self.record = seen_record(memory.seen, root, fingerprint)

    def changes(self, root: Path | None = None) -> Changes:
        root = root or self.root
        configuration = resolve_configuration(root, self.environ, {})
        stored = SeenRecord.from_bytes(self.record.to_bytes())
        assert stored is not None
        return changed_since(
            stored,
            root,
            effective_sources(configuration),
            max_file_bytes=configuration.max_file_bytes,
            environ=self.environ,
        )

    def changed(self) -> list[str]:
        found = self.changes()
        assert not found.sources_changed
        return [os.path.relpath(path, self.root) for path in found.paths]


def age(root: Path) -> None:
    """Make everything in ``root`` an hour old."""
    for directory, _, names in os.walk(root, topdown=False):
        for path in (*(Path(directory) / name for name in names), Path(directory)):
            status = path.lstat()
            times = (status.st_atime_ns, status.st_mtime_ns - 3600 * 10**9)
            os.utime(path, ns=times, follow_symlinks=False)


@pytest.fixture
def watch(root: Path, environ: Mapping[str, str]) -> Callable[[], Watched]:
    return lambda: Watched(root, environ)


def test_nothing_changed_is_said_to_be_nothing(
    root: Path, write: Write, watch: Callable[[], Watched]
) -> None:
    write("a.md")
    write("docs/b.md")
    write(".gitignore", "x/\n")
    (root / "link.md").symlink_to("a.md")
    (root / "broken.md").symlink_to("nowhere")
    os.mkfifo(root / "pipe.md")
    watched = watch()
    assert not watched.changes()


def test_edits_additions_and_removals_are_noticed(
    write: Write, watch: Callable[[], Watched]
) -> None:
    write("edited.md")
    write("docs/removed.md")
    watched = watch()
    write("edited.md", "something else\n")
    write("docs/added.md")
    (watched.root / "docs" / "removed.md").unlink()
    assert watched.changed() == ["docs/added.md", "docs/removed.md", "edited.md"]


def test_a_rename_save_is_noticed(root: Path, write: Write, watch: Callable[[], Watched]) -> None:
    """F20: the new file has another size or time under the old name."""
    write("note.md", "old text\n")
    watched = watch()
    write("note.md.tmp", "new text\n").rename(root / "note.md")
    assert watched.changed() == ["note.md"]


def test_an_edit_that_keeps_the_size_is_noticed_by_its_time(
    write: Write, watch: Callable[[], Watched]
) -> None:
    write("a.md", "one\n")
    watched = watch()
    write("a.md", "two\n")
    assert watched.changed() == ["a.md"]


def test_a_touch_is_no_change(
    root: Path, write: Write, config: Path, watch: Callable[[], Watched]
) -> None:
    for path in ("a.md", "docs/b.md", ".gitignore"):
        write(path, "x/\n")
    (config / "memory" / "a.md").write_text("shadowed\n")
    (root / "link.md").symlink_to("a.md")
    watched = watch()
    for path in ("a.md", "docs/b.md", ".gitignore", "docs"):
        (root / path).touch()
    (config / "memory" / "a.md").touch()
    assert not watched.changes()


def test_an_edit_that_was_taken_back_is_no_change(
    root: Path, write: Write, watch: Callable[[], Watched]
) -> None:
    """What ``git checkout`` to another branch and back leaves: other files, the same bytes."""
    write("a.md", "one\n")
    write("empty.md", "")
    watched = watch()
    (root / "a.md").unlink()
    assert watched.changed() == ["a.md"]
    write("a.md", "one\n")
    (root / "empty.md").touch()
    assert watched.changed() == []


def test_among_touched_files_the_one_that_is_other_is_named(
    root: Path, write: Write, watch: Callable[[], Watched]
) -> None:
    for number in range(5):
        write(f"{number}.md", f"text {number}\n")
    watched = watch()
    for number in range(5):
        (root / f"{number}.md").touch()
    write("3.md", "text x\n")
    assert watched.changed() == ["3.md"]


@pytest.mark.parametrize("bound", ["MOST_READ_FILES", "MOST_READ_BYTES"])
def test_beyond_a_bound_nothing_is_read_and_the_time_decides(
    root: Path,
    write: Write,
    watch: Callable[[], Watched],
    bound: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(5):
        write(f"{number}.md", "x" * 100)
    watched = watch()
    for number in range(5):
        (root / f"{number}.md").touch()
    read: list[str] = []
    digest_of_file = freshness.digest_of_file

    def reading(path: str, size: int) -> str:
        read.append(path)
        return digest_of_file(path, size)

    monkeypatch.setattr(freshness, "digest_of_file", reading)
    assert watched.changed() == []
    assert len(read) == 5
    monkeypatch.setattr(freshness, bound, 2 if bound == "MOST_READ_FILES" else 250)
    del read[:]
    assert len(watched.changed()) == 3
    assert len(read) == 2


def test_a_file_that_has_become_a_pipe_holds_nothing_up(
    root: Path, write: Write, watch: Callable[[], Watched]
) -> None:
    write("empty.md", "")
    watched = watch()
    (root / "empty.md").unlink()
    os.mkfifo(root / "empty.md")
    assert watched.changed() == ["empty.md"]


def test_changes_of_other_files_raise_no_alarm(
    root: Path, write: Write, watch: Callable[[], Watched]
) -> None:
    write("a.md")
    write("src/x.py", "x")
    write(".gitignore", "build/\n*.draft.md\n")
    watched = watch()
    write("src/y.py", "y")
    (root / "src" / "x.py").unlink()
    write("build/out/c.md")
    write("node_modules/p/README.md")
    write("b.draft.md")
    write("new/empty/place.txt", "x")
    (root / ".memcli").mkdir()
    write(".memcli/d.md")
    write(".venv/e.md")
    assert watched.changed() == []


def test_memory_in_a_new_directory_is_noticed(write: Write, watch: Callable[[], Watched]) -> None:
    write("a.md")
    watched = watch()
    write("new/deep/b.md")
    assert watched.changed() == ["new/deep/b.md"]


def test_a_removed_directory_counts_by_the_memory_it_held(
    root: Path, write: Write, watch: Callable[[], Watched]
) -> None:
    write("docs/a.md")
    write("src/b.py", "x")
    watched = watch()
    shutil.rmtree(root / "src")
    assert watched.changed() == []
    shutil.rmtree(root / "docs")
    assert watched.changed() == ["docs/a.md"]


@pytest.mark.parametrize("name", [".gitignore", "docs/.gitignore"])
def test_an_ignore_file_that_appears_changes_or_goes_is_noticed(
    root: Path, write: Write, watch: Callable[[], Watched], name: str
) -> None:
    write("docs/a.md")
    watched = watch()
    write(name, "a.md\n")
    assert watched.changed() == [name]
    watched = watch()
    write(name, "other.md\n")
    assert watched.changed() == [name]
    watched = watch()
    (root / name).unlink()
    assert watched.changed() == [name]


def test_the_repositorys_and_the_users_excludes_are_watched_also_before_they_exist(
    root: Path, write: Write, environ: Mapping[str, str], watch: Callable[[], Watched]
) -> None:
    (root / ".git").mkdir()
    write("a.md")
    watched = watch()
    write(".git/info/exclude", "a.md\n")
    assert watched.changed() == [".git/info/exclude"]
    watched = watch()
    ignore = Path(environ["HOME"]) / ".config" / "git" / "ignore"
    ignore.parent.mkdir(parents=True)
    ignore.write_text("a.md\n")
    assert watched.changes().paths == (str(ignore),)


def test_a_local_or_global_folder_that_appears_is_noticed(
    write: Write, config: Path, watch: Callable[[], Watched]
) -> None:
    write("a.md")
    shutil.rmtree(config / "memory")
    watched = watch()
    write(".memcli.local/b.md")
    (config / "memory").mkdir()
    (config / "memory" / "c.md").write_text("text\n")
    assert watched.changes().paths == (
        str(config / "memory" / "c.md"),
        str(watched.root / ".memcli.local" / "b.md"),
    )


def test_a_shadowed_or_skipped_file_is_watched_as_well(
    write: Write, config: Path, watch: Callable[[], Watched]
) -> None:
    write("a.md")
    write("empty.md", "")
    (config / "memory" / "a.md").write_text("shadowed\n")
    watched = watch()
    assert not watched.changes()
    write("empty.md", "no longer\n")
    assert watched.changed() == ["empty.md"]


def test_links_are_watched_for_what_they_lead_to_only_where_they_are_followed(
    tmp_path: Path, root: Path, write: Write, watch: Callable[[], Watched]
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("one\n")
    write("README", "text\n")
    (root / "outside.md").symlink_to(outside)
    (root / "followed.md").symlink_to("README")
    (root / "broken.md").symlink_to("later.txt")
    watched = watch()
    assert not watched.changes()
    outside.write_text("another text\n")
    assert watched.changed() == []
    write("README", "other text\n")
    write("later.txt", "now it leads somewhere\n")
    assert watched.changed() == ["broken.md", "followed.md"]


def test_configured_sources_or_limits_that_change_are_noticed(
    write: Write, watch: Callable[[], Watched]
) -> None:
    write("docs/a.md")
    write("memcli.toml", 'id = "x"\n')
    watched = watch()
    write("memcli.toml", 'id = "x"\n[models]\nthreads = 2\n')
    assert not watched.changes()
    write("memcli.toml", 'id = "x"\n[[source]]\nroot = "docs"\n')
    assert watched.changes() == Changes(sources_changed=True)
    write("memcli.toml", "[index]\nmax_file_bytes = 10\n")
    assert watched.changes().sources_changed


def test_a_moved_project_is_still_fresh(
    tmp_path: Path, root: Path, write: Write, watch: Callable[[], Watched]
) -> None:
    write("a.md")
    write("docs/b.md")
    watched = watch()
    moved = tmp_path / "moved"
    root.rename(moved)
    assert not watched.changes(moved)


def test_a_root_whose_name_is_not_utf8_can_be_recorded(
    tmp_path: Path, environ: Mapping[str, str]
) -> None:
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    try:
        root.mkdir()
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    (root / "ünï.md").write_text("text\n")
    (root / "out.md").symlink_to(tmp_path / "x")
    watched = Watched(root, environ)
    assert not watched.changes()
    (root / "ünï.md").write_text("other\n")
    assert watched.changed() == ["ünï.md"]


@pytest.mark.usefixtures("rights_matter")
def test_a_file_or_directory_that_becomes_readable_is_noticed(
    root: Path, write: Write, watch: Callable[[], Watched]
) -> None:
    write("a.md").chmod(0)
    write("docs/b.md")
    (root / "docs").chmod(0)
    try:
        watched = watch()
        assert watched.changed() == []
    finally:
        (root / "docs").chmod(0o700)
    (root / "a.md").chmod(0o600)
    assert watched.changed() == ["a.md", "docs/b.md"]


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{}", b"[]", b"null", b'{"format": 3}', b'{"format": 2, "fingerprint": "x"}'),
        b'{"format": 2, "fingerprint": "x", "files": [[1, 2, 3, ""]], "directories": []}',
        b'{"format": 2, "fingerprint": "x", "files": [["a", 1, 2, 3]], "directories": []}',
        b'{"format": 2, "fingerprint": "x", "files": [["a", 1]], "directories": []}',
        b'{"format": 2, "fingerprint": "x", "files": [[]], "directories": []}',
        b'{"format": 2, "fingerprint": "x", "files": [], "directories": [["a", 1, 2, "x"]]}',
    ],
)
def test_a_damaged_record_is_no_record(data: bytes) -> None:
    assert SeenRecord.from_bytes(data) is None
