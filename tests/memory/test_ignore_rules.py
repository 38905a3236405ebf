"""What git would ignore: the same answers as git itself, and the rules from outside the tree."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from memcli.memory.patterns import Patterns, is_pattern
from memcli.memory.resource import Disposition, EffectiveMemory, Scope
from memcli.memory.sources import Source
from memcli.memory.walk import Walk, walk_sources

Write = Callable[..., Path]
Memory = Callable[[], EffectiveMemory]

PATTERNS = (
    *("*.md", "!*.md", "a/", "/a", "a/b/", "a/b", "**/b", "b/**", "!b/", "/b/*", "!/b/c", "*"),
    *("!*/", "c.md", "!c.md", "/c.md", "a/**/c.md", "**", "!**/c.md", "/*", "!/a", "[ab]", "?"),
    *("[!a]", "\\#x.md", "\\!x.md", "!", "a//b", "/", "//", "  ", "a ", "a\\ ", "*.m[d]", "[["),
    *("**/a/**", "a/**/", "!b/x.md", "x.md/", "foo/../a", "./a", "[", "[]", "a[", "\\", "a\\"),
    *("a/***/b", "é*", "!x\\ y.md", "a/*", "!a/b", "*/b", "**/", "/**", "!/**/", "x y.md", "#a"),
    *("[[:alpha:]].md", "[^x].md", "c.md\t", "a.md\r", "*a*b*.md", "会议*", "!会议/"),
)
DIRECTORIES = ("a", "b", "c", "é", "会议")
FILES = ("c.md", "x.md", "x y.md", "#x.md", "!x.md", "a.md", "é.md")


def paths(walk: Walk) -> set[str]:
    return {file.path for file in walk.files}


def walk(root: Path, environ: Mapping[str, str]) -> Walk:
    return walk_sources(root, [Source(Scope.PROJECT, root, "", git_rules=True)], environ)


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git")
@pytest.mark.parametrize("seed", range(25))
def test_the_walk_finds_what_git_does_not_ignore(
    seed: int, root: Path, environ: Mapping[str, str]
) -> None:
    chance = random.Random(seed)
    git = {**environ, "GIT_CONFIG_NOSYSTEM": "1", "PATH": "/usr/bin:/bin:/usr/local/bin"}
    subprocess.run(["git", "init", "-q", str(root)], env=git, check=True)
    directories = [root]
    for _ in range(chance.randint(2, 9)):
        directory = chance.choice(directories) / chance.choice(DIRECTORIES)
        directory.mkdir(exist_ok=True)
        directories.append(directory)
    for directory in directories:
        for name in FILES:
            if chance.random() < 0.6:
                (directory / name).write_text("x")
        if chance.random() < 0.5:
            lines = (chance.choice(PATTERNS) for _ in range(chance.randint(1, 4)))
            (directory / ".gitignore").write_text("\n".join(lines) + "\n")
    excludes = (chance.choice(PATTERNS) for _ in range(2))
    (root / ".git" / "info" / "exclude").write_text("\n".join(excludes))
    asked = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard"],
        cwd=root,
        env=git,
        check=True,
        capture_output=True,
    )
    expected = {name for name in asked.stdout.decode().split("\0") if name.endswith(".md")}
    assert paths(walk(root, environ)) == expected


def test_nothing_below_an_ignored_directory_is_re_included(
    root: Path, write: Write, environ: Mapping[str, str]
) -> None:
    write(".gitignore", "build/\n!build/keep.md\n")
    write("build/keep.md")
    write("build/deep/er.md")
    found = walk(root, environ)
    assert paths(found) == set()
    (left,) = found.left_out
    assert (left.path, left.disposition, left.reason) == ("build/", Disposition.IGNORED, "git")
    assert left.detail == ".gitignore:1: build/"


def test_rules_of_parents_up_to_the_git_root_apply_to_a_project_inside(
    root: Path, write: Write, environ: Mapping[str, str]
) -> None:
    (root / ".git").mkdir()
    write(".gitignore", "draft-*.md\n/inner/private/\n")
    write("inner/draft-a.md")
    write("inner/private/b.md")
    write("inner/c.md")
    assert paths(walk(root / "inner", environ)) == {"c.md"}


def test_a_project_that_the_repository_around_it_ignores_is_still_read(
    root: Path, write: Write, environ: Mapping[str, str]
) -> None:
    (root / ".git").mkdir()
    write(".gitignore", "*\n")
    write("inner/a.md")
    write("inner/.gitignore", "b.md\n")
    write("inner/b.md")
    assert paths(walk(root / "inner", environ)) == {"a.md"}


def test_without_a_repository_the_projects_own_ignore_files_still_count(
    write: Write, memory: Memory
) -> None:
    write(".gitignore", "a.md\n")
    write("a.md")
    write("b.md")
    assert [it.path for it in memory().resources] == ["b.md"]


@pytest.mark.parametrize("place", [".config/git/ignore", "chosen-ignore"])
def test_the_users_own_excludes_apply(
    root: Path, write: Write, environ: Mapping[str, str], place: str
) -> None:
    home = Path(environ["HOME"])
    (home / ".config" / "git").mkdir(parents=True)
    (home / place).write_text("*.secret.md\n")
    if place == "chosen-ignore":
        (home / ".gitconfig").write_text(
            "[user]\n\tname = x\n[core]\n\texcludesFile = ~/chosen-ignore\n"
        )
    write("a.secret.md")
    write("b.md")
    assert paths(walk(root, environ)) == {"b.md"}


def test_a_worktree_takes_the_excludes_of_its_repository(
    tmp_path: Path, root: Path, write: Write, environ: Mapping[str, str]
) -> None:
    common = tmp_path / "main" / ".git"
    (common / "info").mkdir(parents=True)
    (common / "info" / "exclude").write_text("a.md\n")
    (common / "worktrees" / "w").mkdir(parents=True)
    (common / "worktrees" / "w" / "commondir").write_text("../..\n")
    write(".git", f"gitdir: {common}/worktrees/w\n")
    write("a.md")
    write("b.md")
    assert paths(walk(root, environ)) == {"b.md"}


def test_a_gitignore_that_is_a_link_or_no_file_is_not_read(
    tmp_path: Path, root: Path, write: Write, environ: Mapping[str, str]
) -> None:
    (tmp_path / "rules").write_text("*\n")
    (root / ".gitignore").symlink_to(tmp_path / "rules")
    (root / "sub" / ".gitignore").mkdir(parents=True)
    write("sub/a.md")
    assert paths(walk(root, environ)) == {"sub/a.md"}


def test_a_gitignore_with_a_mark_and_windows_lines_works(
    root: Path, write: Write, environ: Mapping[str, str]
) -> None:
    write(".gitignore", b"\xef\xbb\xbfa.md\r\n# comment\r\n\r\nb.md\r\n")
    for name in ("a.md", "b.md", "c.md"):
        write(name)
    assert paths(walk(root, environ)) == {"c.md"}


def test_patterns_take_in_what_lies_below_a_directory_they_name() -> None:
    patterns = Patterns(["docs", "!docs/old/", "*.txt"], "include")
    assert patterns.covers("docs/a.md")
    assert not patterns.covers("docs/old/a.md")
    assert patterns.covers("x/y.txt")
    assert not patterns.covers("x/y.md")


def test_a_text_that_is_no_pattern_is_known_as_such() -> None:
    assert is_pattern("docs/**/*.md")
    assert not is_pattern("!")
