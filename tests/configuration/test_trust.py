"""F23: what a cloned project's own file may not ask for without the user's word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.configuration import Configuration
from memcli.errors import InvalidInput

Resolve = Callable[..., Configuration]


@pytest.mark.parametrize("key", ["embedder", "reranker"])
@pytest.mark.parametrize(
    "path",
    ["./evil.gguf", "../x/evil.gguf", "/tmp/evil.gguf", "evil.GGUF", "a/b", "~/x", "a\\b", "~x"],
)
def test_a_project_cannot_name_a_model_by_path(
    resolve: Resolve, project_file: Path, key: str, path: str
) -> None:
    project_file.write_text(f"[models]\n{key} = '{path}'\n")
    with pytest.raises(InvalidInput) as caught:
        resolve()
    assert caught.value.code == "configuration_invalid"
    assert f"models.{key}" in caught.value.message
    assert f"--{key}" in caught.value.hint
    assert "config.toml" in caught.value.hint


@pytest.mark.parametrize("name", ["..", ".hidden", "-rf", "a b", "a\\u0000b"])
def test_a_profile_name_is_a_plain_word(resolve: Resolve, project_file: Path, name: str) -> None:
    project_file.write_text(f'[models]\nembedder = "{name}"\n')
    with pytest.raises(InvalidInput) as caught:
        resolve()
    assert caught.value.code == "configuration_invalid"


def test_the_user_may_name_any_model(resolve: Resolve, user_file: Path) -> None:
    user_file.write_text('[models]\nembedder = "models/mine.gguf"\nreranker = "~/r.gguf"\n')
    found = resolve()
    assert found.embedder == str(user_file.parent / "models" / "mine.gguf")
    assert found.reranker.endswith("/r.gguf")
    assert not found.reranker.startswith("~")
    assert resolve(MEMCLI_EMBEDDER="./e.gguf").embedder == "./e.gguf"
    assert resolve({"models.embedder": "/e.gguf"}).embedder == "/e.gguf"


@pytest.mark.parametrize("outside", ["..", "../sibling", "/etc", "docs/../../x", "~"])
def test_a_project_source_outside_the_project_is_refused_with_the_way_to_consent(
    resolve: Resolve, project_file: Path, user_file: Path, outside: str
) -> None:
    project_file.write_text(f'[[source]]\nroot = "docs"\n[[source]]\nroot = "{outside}"\n')
    with pytest.raises(InvalidInput) as caught:
        resolve()
    assert caught.value.code == "source_outside_project"
    assert str(user_file) in caught.value.hint
    assert f'[trust] roots = ["{project_file.parent}"]' in caught.value.hint


def test_a_project_source_that_leads_outside_by_a_link_is_refused(
    resolve: Resolve, tmp_path: Path, project_file: Path
) -> None:
    (tmp_path / "private").mkdir()
    (project_file.parent / "docs").symlink_to(tmp_path / "private")
    project_file.write_text('[[source]]\nroot = "docs"\n')
    with pytest.raises(InvalidInput, match="source_outside_project"):
        resolve()


def test_the_users_own_file_can_consent_for_one_project(
    resolve: Resolve, project_file: Path, user_file: Path
) -> None:
    project_file.write_text('[[source]]\nroot = "../sibling"\n')
    user_file.write_text('[trust]\nroots = ["/another/project"]\n')
    with pytest.raises(InvalidInput):
        resolve()
    user_file.write_text(f'[trust]\nroots = ["{project_file.parent}"]\n')
    found = resolve()
    assert found.trusted
    assert found.sources[0].root == project_file.parent.parent / "sibling"


def test_a_project_cannot_trust_itself(resolve: Resolve, project_file: Path) -> None:
    project_file.write_text(f'[trust]\nroots = ["{project_file.parent}"]\n')
    with pytest.raises(InvalidInput, match="trust"):
        resolve()


@pytest.mark.parametrize("text", ["roots = 1", 'roots = ["relative"]', 'root = ["/x"]'])
def test_a_trust_table_that_makes_no_sense_is_an_error(
    resolve: Resolve, user_file: Path, text: str
) -> None:
    user_file.write_text(f"[trust]\n{text}\n")
    with pytest.raises(InvalidInput, match=r"trust\.root"):
        resolve()


def test_a_source_may_not_lie_in_a_closed_directory(resolve: Resolve, project_file: Path) -> None:
    (project_file.parent / "x").symlink_to(".git/refs")
    for root in (".git", ".memcli", "docs/.git/x", "x"):
        project_file.write_text(f'[[source]]\nroot = "{root}"\n')
        with pytest.raises(InvalidInput, match="must not lie in"):
            resolve()


def test_sources_are_read_with_their_defaults(
    resolve: Resolve, project_file: Path, user_file: Path
) -> None:
    project_file.write_text(
        '[[source]]\n[[source]]\nscope = "local"\nroot = "mine"\ninclude = ["*.md"]\n'
        'exclude = "old/"\nkind = "note"\nprefix = "a/b/"\n'
    )
    user_file.write_text('[[source]]\nroot = "notes"\n[[source]]\nroot = "/abs"\n')
    first, second, third, fourth = resolve().sources
    assert (first.scope, first.root, first.prefix) == ("project", project_file.parent, None)
    assert (second.scope, second.root) == ("local", project_file.parent / "mine")
    assert (second.include, second.exclude) == (("*.md",), ("old/",))
    assert (second.kind, second.prefix) == ("note", "a/b")
    assert (third.scope, third.root) == ("global", user_file.parent / "notes")
    assert fourth.root == Path("/abs")


@pytest.mark.parametrize(
    "line",
    [
        'scope = "team"',
        "scope = 1",
        "root = 1",
        'root = ""',
        "include = 1",
        "include = [1]",
        'kind = "a b"',
        'prefix = "../x"',
        'prefix = "/x"',
        'prefix = "a//b"',
        "prefix = 1",
    ],
)
def test_a_source_that_makes_no_sense_names_its_number_and_key(
    resolve: Resolve, project_file: Path, line: str
) -> None:
    project_file.write_text(f"[[source]]\n[[source]]\n{line}\n")
    with pytest.raises(InvalidInput) as caught:
        resolve()
    assert f"source 2: {line.split(' ')[0]}" in caught.value.message


@pytest.mark.parametrize("text", ['scope = "project"\nroot = "/x"', 'scope = "global"'])
def test_the_users_sources_are_global_and_say_where(
    resolve: Resolve, user_file: Path, text: str
) -> None:
    user_file.write_text(f"[[source]]\n{text}\n")
    with pytest.raises(InvalidInput, match="source 1"):
        resolve()
