"""``memcli init``: it shows what it found, writes a commented file, and asks before it replaces."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from cli.project_support import Terminal, validate
from cli.run_support import Bench, Printed

from memcli.configuration import OPTIONS, resolve_configuration
from memcli.configuration.resolution import configured_project_id


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A project without a ``memcli.toml``, with memory of many kinds."""
    bench = Bench(tmp_path)
    bench.root = root = tmp_path / "fresh"
    for path in (
        "AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md",
        ".cursor/rules/style.mdc", ".cursor/rules/names.mdc", "docs/a.md", "docs/deep/b.md",
        "memory/c.md", "src/notes.md", "README.md", "node_modules/x/README.md",
    ):  # fmt: skip
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("# a note\n")
    (root / ".git").mkdir()
    (root / ".cursorrules").write_text("be kind\n")
    return bench


def places(printed: Printed) -> Mapping[str, int]:
    return {each["place"]: each["count"] for each in printed.document["found"]}


def test_it_shows_what_it_found_with_counts_then_writes_the_file(bench: Bench) -> None:
    printed = bench.run("init")
    assert printed.status == 0
    rows = [line.split()[:2] for line in printed.out.splitlines()]
    for place, count in (("AGENTS.md", 1), (".cursor/rules/", 2), ("docs/", 2), ("memory/", 1)):
        assert [place, str(count)] in rows
    assert "rules for Cursor" in printed.out
    assert "node_modules" not in printed.out
    assert f"wrote {bench.root}/memcli.toml" in printed.out
    assert ".cursorrules" in printed.err
    assert "next: memcli index build" in printed.err
    assert printed.out.index("docs/") < printed.out.index("wrote ")


def test_the_document_names_every_place_and_is_valid(bench: Bench) -> None:
    printed = bench.run("init", "--json")
    validate(printed.document)
    assert places(printed) == {
        "AGENTS.md": 1, "CLAUDE.md": 1, "GEMINI.md": 1, ".github/copilot-instructions.md": 1,
        ".cursor/rules/": 2, "docs/": 2, "memory/": 1, "src/": 1, "README.md": 1,
    }  # fmt: skip
    assert [each["place"] for each in printed.document["not_indexed"]] == [".cursorrules"]
    assert printed.document["written"] is True
    assert printed.document["existed"] is False
    again = bench.run("init", "--json")
    assert again.document["written"] is False
    assert again.document["project_id"] == printed.document["project_id"]


def test_what_git_ignores_of_known_places_is_named_with_the_rule(bench: Bench) -> None:
    (bench.root / ".gitignore").write_text("CLAUDE.md\n")
    printed = bench.run("init", "--json")
    assert "CLAUDE.md" not in places(printed)
    reason = {each["place"]: each["reason"] for each in printed.document["not_indexed"]}
    assert reason["CLAUDE.md"].startswith("ignored")


def test_the_file_is_valid_has_a_fresh_id_and_names_every_setting_as_a_comment(
    bench: Bench, tmp_path: Path
) -> None:
    first = bench.run("init", "--json").document["project_id"]
    text = (bench.root / "memcli.toml").read_text()
    assert configured_project_id(bench.root) == first
    assert [line for line in text.splitlines() if line and not line.startswith("#")] == [
        f'id = "{first}"'
    ]
    for option in OPTIONS:
        assert f"# {option.key.partition('.')[2]} = " in text
    settings = resolve_configuration(bench.root, {"HOME": str(tmp_path)}, {}).settings
    assert {each.origin for each in settings} == {"default"}
    other = tmp_path / "other"
    other.mkdir()
    assert bench.run("init", "--json", cwd=other).document["project_id"] != first


def test_the_file_is_still_valid_with_every_comment_switched_on(
    bench: Bench, tmp_path: Path
) -> None:
    bench.run("init")
    file = bench.root / "memcli.toml"
    text = re.sub(r"(?m)^# (\[|[a-z_]+ = )", r"\1", file.read_text())
    assert text.count("\n[") == 5
    file.write_text(text)
    configuration = resolve_configuration(bench.root, {"HOME": str(tmp_path)}, {})
    assert {each.value for each in configuration.settings} >= {"bundled", 2400, True}
    assert [each.origin for each in configuration.settings] == ["project memcli.toml"] * len(
        OPTIONS
    )
    assert len(configuration.sources) == 1
    assert ".cursorrules" in configuration.sources[0].include
    assert bench.run("memory", "list").status == 0


def test_dry_run_shows_the_file_and_writes_nothing(bench: Bench) -> None:
    printed = bench.run("init", "--dry-run")
    assert printed.status == 0
    assert "# [limits]" in printed.out
    assert not (bench.root / "memcli.toml").exists()


def test_a_file_that_is_there_is_never_replaced_without_a_yes(bench: Bench) -> None:
    file = bench.root / "memcli.toml"
    file.write_text('id = "mine"\n[limits]\ntokens = 100\n')
    before = file.read_text()
    for arguments in (("init",), ("init", "--json"), ("init", "--no-input")):
        printed = bench.run(*arguments)
        assert printed.status == 2
        assert "--yes" in printed.err
        assert file.read_text() == before
    declined = bench.run("init", answer="n\n")
    assert declined.status == 1
    assert "Replace it" in declined.err
    assert "nothing was changed" in declined.err
    assert file.read_text() == before


@pytest.mark.parametrize(("arguments", "answer"), [(("init",), "y\n"), (("init", "--yes"), None)])
def test_replacing_keeps_the_id_and_the_rights_of_the_file(
    bench: Bench, arguments: tuple[str, ...], answer: str | None
) -> None:
    file = bench.root / "memcli.toml"
    file.write_text('id = "mine"\n[limits]\ntokens = 100\n')
    file.chmod(0o640)
    printed = bench.run(*arguments, answer=answer)
    assert printed.status == 0
    assert file.read_text().count("\ntokens") == 0
    assert configured_project_id(bench.root) == "mine"
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(each.name for each in bench.root.glob("*memcli.toml*")) == ["memcli.toml"]


def test_a_broken_file_is_no_obstacle_and_its_fault_is_said(bench: Bench) -> None:
    file = bench.root / "memcli.toml"
    file.write_text("id = \n")
    asked = bench.run("init", answer="n\n")
    assert "cannot be used" in asked.err
    assert bench.run("init", "--yes").status == 0
    assert configured_project_id(bench.root) is not None


def test_a_project_that_memcli_knows_already_keeps_its_id(bench: Bench) -> None:
    """With a fresh one its history would be lost."""
    bench.registry.remember("known", str(bench.root))
    assert bench.run("init", "--json").document["project_id"] == "known"
    assert configured_project_id(bench.root) == "known"


def test_a_home_directory_is_refused_without_yes(bench: Bench) -> None:
    printed = bench.run("init", "--json", cwd=bench.base)
    assert printed.status == 2
    assert printed.error["code"] == "project_refused"


def test_a_directory_that_cannot_be_written_is_an_error(bench: Bench) -> None:
    (bench.root / "memcli.toml").mkdir()
    printed = bench.run("init", "--yes", "--json")
    assert printed.status == 1
    assert printed.error["code"] == "file_unwritable"


def test_asked_at_a_real_terminal_and_interrupted_it_changes_nothing(bench: Bench) -> None:
    file = bench.root / "memcli.toml"
    file.write_text('id = "mine"\n')
    env = {
        "MEMCLI_HOME": str(bench.store.home),
        "HOME": str(bench.base),
        "PATH": os.environ["PATH"],
    }
    asking = Terminal.memcli(["init"], bench.root, env)
    asking.wait_for("[y/N]")
    asking.type("\x03")
    assert asking.status() == 130
    assert file.read_text() == 'id = "mine"\n'
    asking = Terminal.memcli(["init"], bench.root, env)
    asking.wait_for("[y/N]")
    asking.type("y\n")
    assert asking.status() == 0
    assert file.read_text() != 'id = "mine"\n'
