"""Flags, environment, project file, user file, defaults: in this order, and said where from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.configuration import OPTIONS, Configuration, Limits
from memcli.configuration.options import Option
from memcli.errors import InvalidInput

Resolve = Callable[..., Configuration]

# A value other than the default for every option, as TOML and as the environment writes it.
OTHERS = {
    "models.embedder": ('"other"', "other", "other"),
    "models.reranker": ('"other"', "other", "other"),
    "models.threads": ("3", "3", 3),
    "models.gpu": ('"off"', "off", "off"),
    "index.token_vectors_mb": ("64", "64", 64),
    "index.max_file_bytes": ("1000", "1000", 1000),
    "limits.lexical": ("10", "10", 10),
    "limits.vector": ("10", "10", 10),
    "limits.fused": ("10", "10", 10),
    "limits.reranked": ("10", "10", 10),
    "limits.fragments": ("5", "5", 5),
    "limits.per_resource": ("1", "1", 1),
    "limits.tokens": ("100", "100", 100),
    "limits.deadline_seconds": ("2.5", "2.5", 2.5),
    "history.record": ("false", "no", False),
}


def as_toml(key: str, value: str) -> str:
    table, _, name = key.partition(".")
    return f"[{table}]\n{name} = {value}\n"


def value_of(configuration: Configuration, key: str) -> object:
    return {setting.key: setting.value for setting in configuration.settings}[key]


def test_without_any_file_the_defaults_of_the_design_hold(resolve: Resolve) -> None:
    found = resolve()
    assert (found.embedder, found.reranker) == ("bundled", "late_interaction")
    assert (found.threads, found.gpu, found.token_vectors_mb) == (0, "auto", 512)
    assert (found.max_file_bytes, found.record_history) == (2 * 1024 * 1024, True)
    assert found.limits == Limits(60, 60, 40, 24, 12, 2, 2400, 60.0)
    assert (found.project_id, found.sources, found.trusted) == (None, (), False)
    assert {setting.origin for setting in found.settings} == {"default"}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.key)
def test_every_option_takes_the_highest_place_that_names_it(
    option: Option, resolve: Resolve, project_file: Path, user_file: Path
) -> None:
    """F16: no option is ignored in one of the places, and the origin is told."""
    key = option.key
    variable, flag = option.environment, option.flag
    toml, text, value = OTHERS[key]
    user_file.write_text(as_toml(key, toml))
    found = resolve()
    assert (value_of(found, key), found.origin(key)) == (value, "user config.toml")
    project_file.write_text(as_toml(key, toml))
    assert resolve().origin(key) == "project memcli.toml"
    found = resolve(**{variable: text})
    assert (value_of(found, key), found.origin(key)) == (value, f"environment {variable}")
    found = resolve({key: value}, **{variable: text})
    told = f"flag --no-{flag[2:]}" if value is False else f"flag {flag}"
    assert (value_of(found, key), found.origin(key)) == (value, told)
    assert resolve({key: None}).origin(key) == "project memcli.toml"


def test_places_are_mixed_value_by_value(
    resolve: Resolve, project_file: Path, user_file: Path
) -> None:
    user_file.write_text('[models]\nembedder = "mine"\nthreads = 2\n[history]\nrecord = false\n')
    project_file.write_text('id = "p"\n[models]\nembedder = "ours"\n[limits]\ntokens = 500\n')
    found = resolve(MEMCLI_GPU="require")
    assert (found.project_id, found.embedder, found.threads, found.gpu) == (
        "p",
        "ours",
        2,
        "require",
    )
    assert (found.limits.tokens, found.record_history) == (500, False)


def test_an_empty_variable_counts_as_unset(resolve: Resolve) -> None:
    assert resolve(MEMCLI_THREADS="").origin("models.threads") == "default"


def test_every_setting_has_a_field_or_limit_and_a_name_of_its_own() -> None:
    limits = {option.key for option in OPTIONS if option.key.startswith("limits.")}
    assert {f"limits.{field.name}" for field in dataclasses.fields(Limits)} == limits
    for names in (
        [option.key for option in OPTIONS],
        [option.environment for option in OPTIONS],
        [option.flag for option in OPTIONS],
    ):
        assert len(set(names)) == len(OPTIONS)


@pytest.mark.parametrize("key", [it for it in OTHERS if it.startswith("limits.")])
def test_a_limit_is_lowered_but_never_raised(
    key: str, resolve: Resolve, project_file: Path
) -> None:
    default = value_of(resolve(), key)
    assert isinstance(default, (int, float))
    for value in (default + 1, 0, -1):
        project_file.write_text(as_toml(key, str(value)))
        with pytest.raises(InvalidInput) as caught:
            resolve()
        assert caught.value.code == "configuration_invalid"
        assert key in caught.value.message
        assert str(project_file) in caught.value.message
    project_file.unlink()
    with pytest.raises(InvalidInput):
        resolve({key: default + 1})
    project_file.write_text(as_toml(key, str(default)))
    assert value_of(resolve(), key) == default


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("MEMCLI_THREADS", "many"),
        ("MEMCLI_THREADS", "-1"),
        ("MEMCLI_THREADS", "1.5"),
        ("MEMCLI_GPU", "on"),
        ("MEMCLI_RECORD", "perhaps"),
        ("MEMCLI_EMBEDDER", "a b"),
        ("MEMCLI_LIMIT_DEADLINE_SECONDS", "nan"),
        ("MEMCLI_LIMIT_DEADLINE_SECONDS", "soon"),
        ("MEMCLI_MAX_FILE_BYTES", "9" * 30),
    ],
)
def test_a_variable_that_makes_no_sense_is_an_error_that_names_it(
    resolve: Resolve, variable: str, text: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        resolve(**{variable: text})
    assert caught.value.code == "configuration_invalid"
    assert variable in caught.value.message


def test_a_flag_that_makes_no_sense_is_an_error_that_names_it(resolve: Resolve) -> None:
    with pytest.raises(InvalidInput, match="--gpu must be one of auto, off, require"):
        resolve({"models.gpu": "fast"})


def test_a_flag_key_that_does_not_exist_is_a_mistake_of_the_caller(resolve: Resolve) -> None:
    with pytest.raises(KeyError):
        resolve({"models.embeder": "x"})
