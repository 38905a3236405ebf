"""The right embedder for a head, found by its digest whatever the profiles say by now."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny_gguf import write_tiny_bert

from memcli.errors import InvalidInput, MemcliError, NotReady
from memcli.models.loaded_model import never
from memcli.models.model_shelf import ModelShelf
from memcli.models.profile import ModelProfile, file_digest


@pytest.fixture
def tiny(tmp_path: Path) -> ModelProfile:
    file = write_tiny_bert(tmp_path / "tiny.gguf", head=False, seed=1)
    return ModelProfile("tiny", "embed", file, file_digest(file), "mean", "q: ", "p: ", "file", 256)


@contextlib.contextmanager
def shelf(
    *known: ModelProfile,
    embedder: str = "bundled",
    problems: Mapping[str, MemcliError] | None = None,
) -> Iterator[ModelShelf]:
    made = ModelShelf(
        embedder=embedder,
        reranker="late_interaction",
        threads=1,
        gpu="off",
        known={each.name: each for each in known},
        guard=contextlib.nullcontext,
        problems=problems,
    )
    with contextlib.closing(made):
        yield made


@pytest.fixture
def recipe(tiny: ModelProfile) -> Mapping[str, Any]:
    with shelf(tiny, embedder="tiny") as models:
        embedder = models.configured_embedder()
        revision = {"embedding_revision": embedder.embedding_revision}
        return {"embedder": {**embedder.description, **revision}}


def wanted_revision(recipe: Mapping[str, Any]) -> object:
    return recipe["embedder"]["embedding_revision"]


def test_a_head_gets_its_embedder_by_digest_fed_as_its_recipe_says(
    tiny: ModelProfile, recipe: Mapping[str, Any]
) -> None:
    changed = replace(tiny, query_prefix="other: ", max_tokens=128, pooling="cls")
    renamed = replace(tiny, name="elsewhere")
    for profile in (tiny, changed, renamed):
        with shelf(profile) as models:
            found = models.embedder_of(recipe, never)
            assert found.embedding_revision == wanted_revision(recipe)
    with shelf(embedder=str(tiny.file)) as models:
        assert models.embedder_of(recipe, never).embedding_revision == wanted_revision(recipe)


def test_another_profile_of_the_same_model_helps_where_the_first_has_lost_its_file(
    tiny: ModelProfile, recipe: Mapping[str, Any], tmp_path: Path
) -> None:
    lost = replace(tiny, file=tmp_path / "lost.gguf")
    with shelf(lost) as models, pytest.raises(NotReady, match="lost") as caught:
        models.embedder_of(recipe, never)
    assert caught.value.code == "model_not_ready"
    with shelf(lost, replace(tiny, name="spare")) as models:
        assert models.embedder_of(recipe, never).embedding_revision == wanted_revision(recipe)


def test_a_build_is_due_when_the_model_or_its_feeding_changed(
    tiny: ModelProfile, recipe: Mapping[str, Any]
) -> None:
    with shelf(tiny, embedder="tiny") as models:
        assert models.builds_like(recipe)
    with shelf(replace(tiny, passage_prefix="other: "), embedder="tiny") as models:
        assert not models.builds_like(recipe)
    with shelf(replace(tiny, sha256="0" * 64), embedder="tiny") as models:
        assert not models.builds_like(recipe)
    with shelf(tiny) as models:
        assert not models.builds_like(recipe)


def test_a_broken_profile_is_named_when_it_is_asked_for_and_only_then(
    tiny: ModelProfile, recipe: Mapping[str, Any]
) -> None:
    problems = {"bad": InvalidInput("configuration_invalid", "bad.toml: role is missing")}
    with shelf(tiny, embedder="bad", problems=problems) as models:
        assert models.embedder_of(recipe, never).embedding_revision == wanted_revision(recipe)
        with pytest.raises(NotReady, match=r"bad\.toml"):
            models.configured_embedder()


def test_a_runs_models_say_where_they_ran_without_naming_the_hardware() -> None:
    with shelf() as models:
        assert models.placement == {"device": "cpu", "gpu_layers": 0}
        assert models.device_description.startswith("cpu, 1 threads")
