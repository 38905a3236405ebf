"""The walk over real trees: defaults, listed sources, links, and names that are no text."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from memcli.memory.resource import Disposition, EffectiveMemory, LeftOut, Scope

Write = Callable[..., Path]
Memory = Callable[[], EffectiveMemory]

TOP = "# Top\n\ntext\n"


def keys(memory: EffectiveMemory) -> list[tuple[str, str]]:
    return [(str(it.scope), it.path) for it in memory.resources]


def project_keys(memory: EffectiveMemory) -> list[str]:
    return [it.path for it in memory.resources if it.scope is Scope.PROJECT]


def left(memory: EffectiveMemory, path: str) -> LeftOut:
    (found,) = [it for it in memory.left_out if it.path == path]
    return found


def test_the_four_suffixes_count_in_any_case(write: Write, memory: Memory) -> None:
    for name in ("a.md", "b.MARKDOWN", "c.mdx", ".cursor/rules/d.Mdc", "e.txt", "md", "f.md.bak"):
        write(name)
    assert project_keys(memory()) == [".cursor/rules/d.Mdc", "a.md", "b.MARKDOWN", "c.mdx"]


def test_closed_and_foreign_directories_are_never_searched(write: Write, memory: Memory) -> None:
    for directory in (".git", ".memcli", "node_modules/x", ".venv", "venv/lib", "x/node_modules"):
        write(f"{directory}/a.md")
    write("env39/pyvenv.cfg", "home = /usr")
    write("env39/lib/a.md")
    write("b.md")
    found = memory()
    assert project_keys(found) == ["b.md"]
    assert left(found, "env39/").reason == "built_in"
    assert left(found, "x/node_modules/").disposition is Disposition.EXCLUDED
    assert not [it for it in found.left_out if it.path.startswith((".git", ".memcli"))]


def test_local_files_by_name_count_even_when_git_ignores_them(write: Write, memory: Memory) -> None:
    write(".gitignore", "*.local.md\nhidden/\n")
    write("CLAUDE.local.md")
    write("docs/notes.local.md")
    write("hidden/x.local.md")
    assert project_keys(memory()) == ["CLAUDE.local.md", "docs/notes.local.md"]


def test_the_three_scopes_have_their_folders(write: Write, config: Path, memory: Memory) -> None:
    write("a.md")
    write(".memcli.local/deep/b.md")
    write(".memcli.local/.gitignore", "*\n")
    (config / "memory" / "rules").mkdir()
    (config / "memory" / "rules" / "c.md").write_text(TOP)
    assert keys(memory()) == [
        ("global", "rules/c.md"),
        ("project", "a.md"),
        ("local", ".memcli.local/deep/b.md"),
    ]


def test_only_memory_files_are_listed_as_ignored(write: Write, memory: Memory) -> None:
    write(".gitignore", "*.log\nsecret.*\n")
    for name in ("a.log", "secret.txt", "secret.md"):
        write(name)
    found = memory()
    assert [(it.path, it.reason) for it in found.left_out] == [("secret.md", "git")]
    assert left(found, "secret.md").detail == ".gitignore:2: secret.*"


def test_listed_project_sources_replace_the_default_walk(write: Write, memory: Memory) -> None:
    write(
        "memcli.toml", '[[source]]\nroot = "docs"\nexclude = ["drafts/", "x*.md"]\nkind = "doc"\n'
    )
    for name in ("a.md", "docs/b.md", "docs/x1.md", "docs/drafts/c.md"):
        write(name)
    found = memory()
    assert [(it.path, it.kind) for it in found.resources] == [("docs/b.md", "doc")]
    assert left(found, "docs/drafts/").reason == "exclude"
    assert left(found, "docs/x1.md").detail == "exclude:2: x*.md"


def test_include_patterns_select_and_may_spell_other_suffixes(write: Write, memory: Memory) -> None:
    write("memcli.toml", '[[source]]\ninclude = ["docs/", "./*.txt"]\n')
    for name in ("a.md", "b.txt", "docs/c.md", "docs/logo.png", "docs/d.txt"):
        write(name)
    found = memory()
    assert project_keys(found) == ["b.txt", "docs/c.md", "docs/d.txt"]
    assert left(found, "a.md").reason == "not_included"


def test_a_prefix_replaces_what_stands_before_a_path(write: Write, memory: Memory) -> None:
    write("memcli.toml", '[[source]]\nroot = "docs"\nprefix = "handbook"\n')
    write("docs/a.md")
    assert project_keys(memory()) == ["handbook/a.md"]


def test_a_file_that_two_sources_reach_belongs_to_the_nearer_one(
    write: Write, memory: Memory
) -> None:
    write(
        "memcli.toml",
        '[[source]]\n[[source]]\nroot = "adr"\nkind = "decision"\nexclude = ["x.md"]\n',
    )
    for name in ("a.md", "adr/b.md", "adr/x.md"):
        write(name)
    found = memory()
    assert [(it.path, it.kind) for it in found.resources] == [
        ("a.md", "note"),
        ("adr/b.md", "decision"),
        ("adr/x.md", "note"),
    ]
    assert found.left_out == ()


def test_a_listed_source_that_is_missing_is_a_warning(write: Write, memory: Memory) -> None:
    write("memcli.toml", '[[source]]\nroot = "nowhere"\n')
    (warning,) = memory().warnings
    assert (warning.path, warning.reason) == ("nowhere/", "source_missing")


def test_a_link_to_walked_memory_is_a_duplicate_that_names_its_target(
    root: Path, write: Write, memory: Memory
) -> None:
    write("AGENTS.md")
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    found = memory()
    assert project_keys(found) == ["AGENTS.md"]
    assert (left(found, "CLAUDE.md").reason, left(found, "CLAUDE.md").by) == (
        "symlink_duplicate",
        "AGENTS.md",
    )


def test_a_link_to_a_file_that_is_no_memory_by_itself_is_followed_once(
    root: Path, write: Write, memory: Memory
) -> None:
    write("README", TOP)
    (root / "README.md").symlink_to("README")
    (root / "second.md").symlink_to("README")
    found = memory()
    assert [(it.path, it.title) for it in found.resources] == [("README.md", "Top")]
    assert left(found, "second.md").by == "README.md"


def test_a_link_out_of_the_source_is_never_followed(
    tmp_path: Path, root: Path, write: Write, memory: Memory
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("# Secret\n")
    (root / "out.md").symlink_to(outside)
    (root / "hosts.md").symlink_to("/etc/hosts")
    write(".git/config", "[remote]\nurl = https://token@example.org\n")
    (root / "git.md").symlink_to(".git/config")
    found = memory()
    assert found.resources == ()
    assert {left(found, it).reason for it in ("out.md", "hosts.md", "git.md")} == {
        "symlink_outside"
    }


def test_broken_links_and_links_to_themselves_are_listed(root: Path, memory: Memory) -> None:
    (root / "broken.md").symlink_to("nowhere.md")
    (root / "loop.md").symlink_to("loop.md")
    (root / "loop").symlink_to("loop")
    (root / "one.md").symlink_to("two.md")
    (root / "two.md").symlink_to("one.md")
    found = memory()
    assert {it.path: it.reason for it in found.left_out} == dict.fromkeys(
        ("broken.md", "loop.md", "one.md", "two.md"), "symlink_broken"
    )


def test_directory_links_are_not_followed_even_in_circles(
    tmp_path: Path, root: Path, write: Write, memory: Memory
) -> None:
    write("docs/a.md")
    (root / "docs" / "up").symlink_to("..")
    (root / "copy").symlink_to("docs")
    (root / "linked.md").symlink_to("docs")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.md").write_text(TOP)
    (root / "other").symlink_to(tmp_path / "other")
    found = memory()
    assert project_keys(found) == ["docs/a.md"]
    assert {it.path: it.reason for it in found.left_out} == {
        "docs/up/": "symlink_directory",
        "copy/": "symlink_directory",
        "other/": "symlink_directory",
        "linked.md": "not_a_file",
    }


def test_only_regular_files_are_opened(root: Path, write: Write, memory: Memory) -> None:
    write("a.md")
    os.mkfifo(root / "pipe.md")
    (root / "directory.md").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(root)  # a socket's path may be no longer than 107 bytes
        try:
            server.bind("socket.md")
        finally:
            os.chdir(here)
        found = memory()
    assert project_keys(found) == ["a.md"]
    assert left(found, "pipe.md").reason == "not_a_file"
    assert left(found, "socket.md").reason == "not_a_file"


def test_a_name_that_is_not_utf8_is_listed_with_a_printable_escape(
    root: Path, write: Write, memory: Memory
) -> None:
    write("a.md")
    try:
        os.mkdir(os.fsencode(root) + b"/sub\xff")
        for name in (b"/caf\xe9.md", b"/sub\xff/b.md"):
            with open(os.fsencode(root) + name, "wb") as stream:
                stream.write(TOP.encode())
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    found = memory()
    assert project_keys(found) == ["a.md"]
    assert left(found, "caf\\xe9.md").reason == "path_not_utf8"
    assert left(found, "sub\\xff/").reason == "path_not_utf8"


def test_nfc_and_nfd_names_are_kept_apart_and_shown_as_on_disk(
    root: Path, write: Write, memory: Memory
) -> None:
    nfc, nfd = "caf\u00e9.md", "cafe\u0301.md"
    write(nfc, "one\n")
    write(nfd, "two\n")
    if len(list(root.iterdir())) == 1:
        pytest.skip("this file system folds Unicode forms")
    assert project_keys(memory()) == [nfd, nfc]


def test_names_with_spaces_and_signs_are_exact(write: Write, memory: Memory) -> None:
    names = [" a.md", "A.md", "a b.md", "a\nb.md", "a.md", "x#y~z%.md", "会议 记录.md"]
    for name in names:
        write(name, f"{name}\n")
    assert project_keys(memory()) == sorted(names)


def test_a_local_folder_that_links_out_of_the_project_is_not_read(
    tmp_path: Path, root: Path, memory: Memory
) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "a.md").write_text("# Secret\n")
    (root / ".memcli.local").symlink_to(tmp_path / "private")
    found = memory()
    assert found.resources == ()
    assert left(found, ".memcli.local/").reason == "symlink_outside"


def test_a_trusted_project_may_read_what_lies_beside_it(
    tmp_path: Path, root: Path, write: Write, config: Path, memory: Memory
) -> None:
    (tmp_path / "shared-notes").mkdir()
    (tmp_path / "shared-notes" / "a.md").write_text(TOP)
    write("memcli.toml", '[[source]]\nroot = "../shared-notes"\nprefix = "shared"\n')
    (config / "config.toml").write_text(f'[trust]\nroots = ["{root}"]\n')
    assert project_keys(memory()) == ["shared/a.md"]


def test_a_path_too_long_to_open_does_not_stop_the_walk(
    root: Path, write: Write, memory: Memory
) -> None:
    write("a.md")
    here = Path.cwd()
    os.chdir(root)
    try:
        for _ in range(60):
            os.mkdir("d" * 100)
            os.chdir("d" * 100)
    finally:
        os.chdir(here)
    found = memory()
    assert project_keys(found) == ["a.md"]
    assert [it.reason for it in found.left_out] == ["unreadable"]


def test_the_same_tree_gives_the_same_memory(
    write: Write, memory: Memory, environ: Mapping[str, str]
) -> None:
    for number in range(30):
        write(f"d{number % 3}/n{number}.md", f"# N{number}\n")
    assert memory() == memory()
