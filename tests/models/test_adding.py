"""A file becomes a model only after header, load and golden pair; then it is calibrated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest
from tiny_gguf import write_tiny_bert

from memcli.errors import Failure, InvalidInput, NotReady
from memcli.models.adding import CheckedModel, Wanted, check_model, copy_model
from memcli.models.calibration import (
    calibrate_late_interaction,
    from_late_scores,
    from_pair_scores,
)
from memcli.models.devices import choose_device
from memcli.models.embedder import GgufEmbedder
from memcli.models.profile import (
    BUNDLED_EMBEDDER,
    BUNDLED_LATE_INTERACTION,
    Relevance,
    file_digest,
)

# Random weights that happen to prefer the golden pair's answer.
GOOD_EMBEDDER, GOOD_RERANKER = 1, 5


def check(wanted: Wanted) -> CheckedModel:
    return check_model(wanted, choose_device("off", 1))


def refusal(wanted: Wanted) -> str:
    with pytest.raises(NotReady) as caught:
        check(wanted)
    assert caught.value.code == "model_unsuitable"
    assert caught.value.hint
    return caught.value.message


@pytest.fixture
def embedder_file(tmp_path: Path) -> Path:
    return write_tiny_bert(tmp_path / "tiny.gguf", head=False, seed=GOOD_EMBEDDER)


@pytest.fixture
def reranker_file(tmp_path: Path) -> Path:
    return write_tiny_bert(tmp_path / "judge.gguf", seed=GOOD_RERANKER)


def test_role_pooling_and_digest_come_from_the_file(
    embedder_file: Path, reranker_file: Path
) -> None:
    embedder = check(Wanted("a", embedder_file)).profile
    assert (embedder.role, embedder.pooling) == ("embed", "mean")
    assert embedder.sha256 == file_digest(embedder_file)
    reranker = check(Wanted("b", reranker_file)).profile
    assert (reranker.role, reranker.pooling) == ("rerank", "rank")
    assert reranker.sha256 == file_digest(reranker_file)


def test_what_is_given_goes_before_what_the_file_says(embedder_file: Path) -> None:
    checked = check(
        Wanted("a", embedder_file, "embed", "cls", "query: ", "passage: ", max_tokens=128)
    )
    profile = checked.profile
    assert (profile.pooling, profile.query_prefix, profile.passage_prefix, profile.max_tokens) == (
        "cls", "query: ", "passage: ", 128,
    )  # fmt: skip
    told = " ".join(checked.remarks)
    assert "the file itself says pooling mean" in told
    assert "at most 128 tokens" in told


def test_a_file_of_the_other_kind_is_refused_by_name(
    embedder_file: Path, reranker_file: Path
) -> None:
    """F14."""
    assert "no classification head" in refusal(Wanted("a", embedder_file, "rerank"))
    assert "is a reranker" in refusal(Wanted("a", reranker_file, "embed"))


def test_what_is_no_model_or_cannot_do_the_job_is_refused(
    tmp_path: Path, embedder_file: Path
) -> None:
    page = tmp_path / "page.gguf"
    page.write_bytes(b"<!doctype html>" * 20)
    assert "no GGUF" in refusal(Wanted("a", page))
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(embedder_file.read_bytes()[:-4000])
    assert "cut short" in refusal(Wanted("a", cut))
    flat = write_tiny_bert(tmp_path / "flat.gguf", scale=0.0)
    assert "alike" in refusal(Wanted("a", flat))
    odd = write_tiny_bert(tmp_path / "odd.gguf", head=False, architecture="oddity")
    assert "oddity" in refusal(Wanted("a", odd))
    with pytest.raises(NotReady) as caught:
        check(Wanted("a", tmp_path / "nowhere.gguf"))
    assert caught.value.code == "model_not_ready"


def test_a_file_that_does_not_say_how_to_pool_has_to_be_told(tmp_path: Path) -> None:
    """A plain language model is no embedder, and nobody guesses that it were (F14)."""
    path = tmp_path / "chat.gguf"
    writer = gguf.GGUFWriter(str(path), "qwen3")
    writer.add_name("chat")
    writer.add_tensor("token_embd.weight", np.zeros((4, 4), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert "may be no embedding model" in refusal(Wanted("a", path))
    assert "no classification head" in refusal(Wanted("a", path, "rerank"))


def test_options_of_the_other_role_are_refused(embedder_file: Path, reranker_file: Path) -> None:
    for wanted in (
        Wanted("a", embedder_file, pair_form="single_separator"),
        Wanted("a", reranker_file, query_prefix="query: "),
        Wanted("a", reranker_file, pooling="mean"),
        Wanted("a", embedder_file, max_tokens=8),
    ):
        with pytest.raises(InvalidInput) as caught:
            check(wanted)
        assert caught.value.code == "usage"


def test_a_model_that_cannot_tell_gets_no_floor_and_its_user_a_remark(
    embedder_file: Path, reranker_file: Path
) -> None:
    checked = check(Wanted("a", embedder_file))
    assert checked.profile.late_interaction is not None
    assert checked.profile.late_interaction.floor == 0
    assert any("check pooling and prefixes" in each for each in checked.remarks)
    judged = check(Wanted("b", reranker_file))
    assert judged.profile.relevance.floor == 0
    assert judged.remarks


def test_a_family_that_needs_prefixes_is_remarked_on_when_none_are_given(tmp_path: Path) -> None:
    file = write_tiny_bert(tmp_path / "multilingual-e5-base.gguf", head=False)
    assert any("'passage: '" in each for each in check(Wanted("a", file)).remarks)
    given = check(Wanted("a", file, query_prefix="query: ", passage_prefix="passage: "))
    assert not any("usually fed" in each for each in given.remarks)


def test_on_the_built_in_embedder_calibration_agrees_with_the_measured_curve(
    bundled_embedder: GgufEmbedder,
) -> None:
    found = calibrate_late_interaction(bundled_embedder)
    assert found.right == found.nearest == found.pairs == 16
    known = BUNDLED_LATE_INTERACTION
    assert found.relevance.width == pytest.approx(known.width, rel=0.05)
    assert found.relevance.length_slope == pytest.approx(known.length_slope, rel=0.05)
    # The lowest score that is still returned: near the measured one, and not above it.
    measured = lowest_kept(known)
    assert measured - 0.02 < lowest_kept(found.relevance) <= measured


def lowest_kept(relevance: Relevance) -> float:
    scores = np.arange(0.7, 0.9, 0.0005).tolist()
    return float(next(each for each in scores if relevance.of(each, 6) >= relevance.floor))


def test_late_interaction_is_calibrated_between_answers_and_the_best_wrong_notes() -> None:
    scores = np.full((16, 16), 0.2, dtype=np.float32)
    np.fill_diagonal(scores, 0.8)
    relevance = from_late_scores(scores, [6] * 16).relevance
    assert relevance.middle == pytest.approx(0.5)
    assert relevance.of(0.8, 6) > 0.8
    assert relevance.of(0.2, 6) < 0.2
    assert relevance.of(0.8, 6) + relevance.of(0.2, 6) == pytest.approx(1, abs=1e-3)
    assert relevance.of(0.8, 6) > relevance.floor > relevance.of(0.2, 6)
    # Long questions have lowered these scores, and are not lowered a second time.
    longer = from_late_scores(scores, [80] * 16).relevance
    assert longer.of(0.8, 80) == pytest.approx(relevance.of(0.8, 6), abs=1e-3)


def test_a_rerankers_logit_stays_a_logit_and_a_probability_is_not_squashed_twice() -> None:
    """F13."""
    logits = from_pair_scores([3.0, 2.0, 5.0, 1.0], [-8.0, -9.0, -7.0, -7.0]).relevance
    assert (logits.middle, logits.width) == (0.0, 1.0)
    assert logits.of(1.0, 5) > logits.floor > logits.of(-7.0, 5)
    chances = from_pair_scores([0.98, 0.99], [0.001, 0.0001], gives_probability=True).relevance
    assert chances.of(0.98, 5) > 0.9
    assert chances.of(0.001, 5) < 0.1
    assert chances.of(0.98, 5) > chances.floor > chances.of(0.001, 5)


def test_a_copy_is_made_only_of_the_file_that_was_checked(
    tmp_path: Path, embedder_file: Path
) -> None:
    target = tmp_path / "models" / "a.gguf"
    copy_model(embedder_file, target, file_digest(embedder_file))
    assert target.read_bytes() == embedder_file.read_bytes()
    assert target.stat().st_mode & 0o777 == 0o600
    embedder_file.write_bytes(b"GGUF changed")
    with pytest.raises(Failure) as caught:
        copy_model(embedder_file, tmp_path / "models" / "b.gguf", "0" * 64)
    assert caught.value.code == "model_changed"
    assert [each.name for each in target.parent.iterdir()] == ["a.gguf"]


def test_the_registry_is_well_formed_and_invents_nothing() -> None:
    import re

    from memcli.models.model_registry import REGISTRY, find_entry
    from memcli.models.profile_store import check_name

    assert len({each.name for each in REGISTRY}) == len(REGISTRY)
    for entry in REGISTRY:
        check_name(entry.name)
        assert entry.url.startswith("https://")
        assert entry.file_name.endswith(".gguf")
        assert entry.licence
        assert entry.about
        assert (entry.role == "rerank") == (entry.pooling == "rank")
        assert not entry.sha256 or re.fullmatch("[0-9a-f]{64}", entry.sha256)
        # A digest belongs to bytes that cannot change: to a fixed commit.
        assert bool(entry.sha256) == bool(re.search("/resolve/[0-9a-f]{40}/", entry.url))
    with pytest.raises(InvalidInput) as caught:
        find_entry("bge-m4")
    assert "bge-m3" in caught.value.hint


def test_the_bundled_file_under_another_name_is_as_good_as_the_bundled_one() -> None:
    copy = check(
        Wanted("copy", BUNDLED_EMBEDDER.file, query_prefix="query: ", passage_prefix="passage: ")
    )
    assert copy.calibration.right == 16
    assert not copy.remarks
    assert replace(copy.profile, late_interaction=None).pooling == "mean"
