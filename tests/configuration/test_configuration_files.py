"""What is wrong in a file is said with file, line or key, and what was probably meant."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.configuration import Configuration
from memcli.errors import InvalidInput

Resolve = Callable[..., Configuration]


def refused(resolve: Resolve) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        resolve()
    assert caught.value.code == "configuration_invalid"
    return caught.value


def test_a_syntax_error_names_file_and_line(resolve: Resolve, project_file: Path) -> None:
    project_file.write_text('id = "x"\n[models]\nembedder = \n')
    assert f"{project_file}:3:" in refused(resolve).message


def test_bytes_that_are_no_utf8_name_file_and_line(resolve: Resolve, user_file: Path) -> None:
    user_file.write_bytes(b"# one\n# caf\xe9\n")
    assert f"{user_file}:2: is not UTF-8" in refused(resolve).message


def test_a_mark_before_the_text_is_no_error(resolve: Resolve, project_file: Path) -> None:
    project_file.write_bytes(b'\xef\xbb\xbfid = "x"\r\n')
    assert resolve().project_id == "x"


@pytest.mark.parametrize(
    ("text", "key", "hint"),
    [
        ('[models]\nembeder = "x"', "models.embeder", "models.embedder"),
        ('[model]\nembedder = "x"', "model", "models"),
        ('embedder = "x"', "embedder", "models.embedder"),
        ("[limits]\ntoken = 1", "limits.token", "limits.tokens"),
        ("[[sources]]\n", "sources", "source"),
        ('[[source]]\nincludes = ["x"]', "source 1: includes", "include"),
        ("[zebra]\nx = 1", "zebra", "Known keys"),
    ],
)
def test_an_unknown_key_is_an_error_with_the_nearest_known_one(
    resolve: Resolve, project_file: Path, text: str, key: str, hint: str
) -> None:
    project_file.write_text(text)
    error = refused(resolve)
    assert f"{project_file}: unknown key {key}" in error.message
    assert hint in error.hint


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("models = 1", "models"),
        ("[models]\nthreads = true", "models.threads"),
        ("[models]\nthreads = 1.5", "models.threads"),
        ("[models]\nembedder = 1", "models.embedder"),
        ('[models]\nembedder = ""', "models.embedder"),
        ('[models]\ngpu = "on"', "models.gpu"),
        ("[history]\nrecord = 1", "history.record"),
        ("id = 7", "id"),
        ('id = "a b"', "id"),
        ('id = ".."', "id"),
        ('id = ""', "id"),
        ("source = 1", "source"),
        ("[source]\nroot = 'x'", "source"),
    ],
)
def test_a_value_of_the_wrong_kind_names_file_and_key(
    resolve: Resolve, project_file: Path, text: str, key: str
) -> None:
    project_file.write_text(text)
    message = refused(resolve).message
    assert message.startswith(f"{project_file}: {key} ")


def test_a_wrong_value_is_an_error_even_where_a_flag_goes_before_it(
    resolve: Resolve, project_file: Path
) -> None:
    project_file.write_text("[models]\nthreads = -1")
    with pytest.raises(InvalidInput):
        resolve({"models.threads": 2})


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("nowhere", path)])
def test_a_file_that_is_no_file_is_an_error_and_blocks_nothing(
    resolve: Resolve, user_file: Path, make: Callable[[Path], None]
) -> None:
    make(user_file)
    assert "is not a regular file" in refused(resolve).message


@pytest.mark.parametrize("text", ["x = " + "[" * 5000, "# " + "x" * (1 << 20)])
def test_a_hostile_file_is_an_error_and_crashes_nothing(
    resolve: Resolve, project_file: Path, text: str
) -> None:
    project_file.write_text(text)
    refused(resolve)


def test_the_users_file_has_no_project_id(resolve: Resolve, user_file: Path) -> None:
    user_file.write_text('id = "x"')
    assert "memcli.toml" in refused(resolve).hint
