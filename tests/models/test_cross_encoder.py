"""Cross-encoders: pairs as the model needs them, and refusal by name of what cannot do the job."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_gguf import write_tiny_bert

from memcli.errors import NotReady
from memcli.index.embedding import PassageInput
from memcli.models.cross_encoder import CrossEncoder
from memcli.models.devices import choose_device
from memcli.models.golden_pair import IRRELEVANT, QUERY, RELEVANT
from memcli.models.loaded_model import Aborted, LoadedModel, never
from memcli.models.loading import load_cross_encoder, load_embedder
from memcli.models.profile import BUNDLED_EMBEDDER, find_embedder, find_reranker, verified

GOOD_SEED = 5  # random weights that happen to prefer the golden pair's answer


def load(path: Path) -> CrossEncoder:
    profile = find_reranker(str(path), {})
    assert profile is not None
    return load_cross_encoder(profile, choose_device("off", 1))


def refusal(path: Path) -> str:
    with pytest.raises(NotReady) as caught:
        load(path)
    assert caught.value.code == "model_unsuitable"
    assert caught.value.hint
    return caught.value.message


def test_a_gguf_with_rank_pooling_scores_pairs_by_its_raw_logit(tmp_path: Path) -> None:
    """F13: the score is the raw logit; relevance is its logistic, applied once."""
    model = load(write_tiny_bert(tmp_path / "good.gguf", seed=GOOD_SEED))
    relevant, irrelevant = model.score_texts(QUERY, [RELEVANT, IRRELEVANT], never)
    assert relevant.score > irrelevant.score
    assert relevant.score < 0 or irrelevant.score < 0 or relevant.score > 1
    logistic = model.relevance.of
    assert logistic(0.0, 5) == logistic(0.0, 500) == pytest.approx(0.5)
    assert logistic(relevant.score, 5) > logistic(irrelevant.score, 5)
    model.close()


def test_a_pair_scores_the_same_alone_and_among_others(tmp_path: Path) -> None:
    model = load(write_tiny_bert(tmp_path / "good.gguf", seed=GOOD_SEED))
    passages = [PassageInput("a.md", (), f"text number {at} " * (at + 1)) for at in range(24)]
    together = [each.score for each in model.score_texts(QUERY, passages, never)]
    alone = [model.score_texts(QUERY, [each], never)[0].score for each in passages]
    # Attention rounds by what shares a batch; a wrong pair would be off by whole units.
    assert together == pytest.approx(alone, abs=2e-2)
    model.close()


def test_a_passage_too_long_for_the_pair_is_cut_and_says_so(tmp_path: Path) -> None:
    model = load(write_tiny_bert(tmp_path / "good.gguf", seed=GOOD_SEED, positions=128))
    short, long = model.score_texts(
        "why " * 400, [PassageInput("a.md", (), "ab"), PassageInput("a.md", (), "ab " * 900)], never
    )
    assert not short.truncated
    assert long.truncated
    model.close()


def test_stop_check_ends_a_rerank(tmp_path: Path) -> None:
    model = load(write_tiny_bert(tmp_path / "good.gguf", seed=GOOD_SEED))
    with pytest.raises(Aborted):
        model.score_texts(QUERY, [RELEVANT], lambda: True)
    model.close()


def test_a_gguf_without_classification_head_is_refused(tmp_path: Path) -> None:
    """F14."""
    message = refusal(write_tiny_bert(tmp_path / "plain.gguf", head=False))
    assert "plain.gguf" in message
    assert "classification head" in message
    assert "classification head" in refusal(BUNDLED_EMBEDDER.file)


def test_a_head_that_scores_all_alike_is_refused_by_the_golden_pair(tmp_path: Path) -> None:
    """F14."""
    assert "alike" in refusal(write_tiny_bert(tmp_path / "flat.gguf", scale=0.0))


def test_a_head_that_prefers_nonsense_is_refused_by_the_golden_pair(tmp_path: Path) -> None:
    assert "nonsense" in refusal(write_tiny_bert(tmp_path / "wrong.gguf", seed=1))


def test_an_unknown_architecture_is_refused_with_llama_cpps_reason(tmp_path: Path) -> None:
    message = refusal(write_tiny_bert(tmp_path / "odd.gguf", architecture="oddity"))
    assert "oddity" in message


@pytest.mark.parametrize("part", [0.0, 0.001, 0.2, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(tmp_path: Path, part: float) -> None:
    whole = write_tiny_bert(tmp_path / "whole.gguf", seed=GOOD_SEED).read_bytes()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(whole[: int(len(whole) * part)])
    assert "cut.gguf" in refusal(cut)


def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.gguf"
    page.write_bytes(b"<!doctype html><title>Sign in to this network</title>" * 50)
    assert "no GGUF" in refusal(page)


def test_a_missing_file_is_not_ready_rather_than_unsuitable(tmp_path: Path) -> None:
    with pytest.raises(NotReady) as caught:
        load(tmp_path / "nowhere.gguf")
    assert caught.value.code == "model_not_ready"


def test_a_reranker_is_refused_as_an_embedder(tmp_path: Path) -> None:
    path = write_tiny_bert(tmp_path / "rank.gguf", seed=GOOD_SEED)
    with pytest.raises(NotReady, match="reranker"):
        load_embedder(find_embedder(str(path), {}), choose_device("off", 1))


def test_another_file_under_a_profiles_name_is_refused(tmp_path: Path) -> None:
    """F28: the digest is checked at every load."""
    damaged = bytearray(BUNDLED_EMBEDDER.file.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(damaged)
    from dataclasses import replace

    with pytest.raises(NotReady, match="damaged"):
        verified(replace(BUNDLED_EMBEDDER, file=copy))


def test_two_outputs_give_the_first_as_the_score(tmp_path: Path) -> None:
    profile = find_reranker(str(write_tiny_bert(tmp_path / "two.gguf", outputs=2, seed=3)), {})
    assert profile is not None
    model = CrossEncoder(LoadedModel(verified(profile), choose_device("off", 1)))
    (score,) = model.score_texts(QUERY, [RELEVANT], never)
    assert score.score != 0.0
    model.close()
