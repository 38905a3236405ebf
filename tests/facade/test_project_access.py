"""Settings that are read again, and the files behind fragments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from memcli.errors import Failure, InvalidInput
from memcli.facade import Memcli

Write = Callable[[Mapping[str, str]], Path]
Open = Callable[..., Memcli]


def test_settings_are_read_again_and_what_hangs_on_them_follows(
    write_notes: Write, open_project: Open
) -> None:
    root = write_notes({"docs/a.md": "# A\n", "other/b.md": "# B\n"})
    memcli = open_project(root)
    assert len(memcli.synthesize().resources) == 2
    assert memcli.reload_configuration({}) is False
    (root / "memcli.toml").write_text('id = "named"\n[[source]]\nroot = "docs"\n')
    assert memcli.reload_configuration({}) is True
    assert [each.path for each in memcli.synthesize().resources] == ["docs/a.md"]
    assert memcli.identity(settle=False).project_id == "named"


def test_flags_stay_in_force_when_settings_are_read_again(
    write_notes: Write, open_project: Open
) -> None:
    root = write_notes({})
    flags = {"models.threads": 3}
    memcli = open_project(root, **flags)
    (root / "memcli.toml").write_text("[models]\nthreads = 1\n[limits]\ntokens = 100\n")
    assert memcli.reload_configuration(flags) is True
    assert memcli.configuration.threads == 3
    assert memcli.configuration.limits.tokens == 100


def test_models_stay_loaded_unless_the_settings_name_others(
    write_notes: Write, open_project: Open
) -> None:
    root = write_notes({})
    memcli = open_project(root)
    embedder = memcli.shelf.configured_embedder()
    (root / "memcli.toml").write_text("[limits]\ntokens = 100\n")
    assert memcli.reload_configuration({})
    assert memcli.shelf.configured_embedder() is embedder
    (root / "memcli.toml").write_text("[models]\nthreads = 1\n")
    assert memcli.reload_configuration({})
    assert memcli.shelf.configured_embedder() is not embedder


def test_settings_that_are_wrong_leave_the_old_ones_in_force(
    write_notes: Write, open_project: Open
) -> None:
    root = write_notes({})
    memcli = open_project(root)
    before = memcli.configuration
    (root / "memcli.toml").write_text("token = 1\n")
    with pytest.raises(InvalidInput, match="unknown key token"):
        memcli.reload_configuration({})
    assert memcli.configuration is before


def test_files_are_found_by_their_path_keys_without_any_index(
    write_notes: Write, open_project: Open, tmp_path: Path
) -> None:
    root = write_notes({"docs/a.md": "# A\n"})
    shared = tmp_path / "config/memory/shared.md"
    shared.parent.mkdir(parents=True)
    shared.write_text("# Shared\n")
    memcli = open_project(root)
    assert memcli.file_of("docs/a.md", "project", "docs/a.md", None) == root / "docs/a.md"
    assert memcli.file_of("shared.md", "global", "shared.md", None) == shared
    named = [("docs/a.md", "project", "docs/a.md"), ("x", "project", "docs/x.md")]
    assert set(memcli.files_of(None, named)) == {"docs/a.md"}


@pytest.mark.parametrize("path", ["../secret.md", "docs/../../secret.md", "/etc/hosts"])
def test_a_path_that_leads_out_of_the_sources_is_no_file_of_the_project(
    write_notes: Write, open_project: Open, tmp_path: Path, path: str
) -> None:
    """F23."""
    root = write_notes({"docs/a.md": "# A\n"})
    (tmp_path / "secret.md").write_text("secret\n")
    memcli = open_project(root)
    with pytest.raises(Failure) as caught:
        memcli.file_of("id", "project", path, None)
    assert caught.value.code == "file_not_found"


def test_a_damaged_index_does_not_keep_a_file_from_being_found(
    write_notes: Write, open_project: Open
) -> None:
    root = write_notes({"docs/a.md": "# A\n"})
    (root / ".memcli").mkdir()
    (root / ".memcli/search-index.sqlite").write_bytes(b"damaged" * 100)
    memcli = open_project(root)
    assert memcli.file_of("docs/a.md", "project", "docs/a.md", "r1") == root / "docs/a.md"
