"""The bundled embedder through llama.cpp: inputs, limits, batches, determinism."""

from __future__ import annotations

import numpy as np
import pytest

from memcli.index.embedding import PassageInput
from memcli.models.embedder import GgufEmbedder
from memcli.models.loaded_model import Aborted


def passage(text: str, path: str = "notes/a.md", *headings: str) -> PassageInput:
    return PassageInput(path, headings, text)


def embed_all(embedder: GgufEmbedder, passages: list[PassageInput]) -> dict[int, np.ndarray]:
    return {each.ordinal: each.vector for each in embedder.embed_passages(passages)}


def test_vectors_have_unit_length_and_tell_topics_apart(bundled_embedder: GgufEmbedder) -> None:
    vectors = embed_all(
        bundled_embedder,
        [passage("Paris is the capital of France."), passage("Knead the dough and let it rest.")],
    )
    query = bundled_embedder.embed_query("What is the capital of France?").vector
    for vector in (*vectors.values(), query):
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert query @ vectors[0] > query @ vectors[1] + 0.05


def test_mean_of_token_outputs_is_the_embedding_whatever_shares_the_batch(
    bundled_embedder: GgufEmbedder,
) -> None:
    target = passage("The deploy is rolled back with one command.")
    alone = embed_all(bundled_embedder, [target])[0]
    crowd = [passage(f"note number {at} about something else") for at in range(20)]
    together = embed_all(bundled_embedder, [*crowd, target])[20]
    assert float(alone @ together) > 0.9995


def test_every_ordinal_comes_exactly_once(bundled_embedder: GgufEmbedder) -> None:
    passages = [passage("word " * (at % 37 + 1)) for at in range(90)]
    ordinals = [each.ordinal for each in bundled_embedder.embed_passages(passages)]
    assert sorted(ordinals) == list(range(90))


def test_300_short_notes_in_one_call_embed_without_aborting_the_process(
    bundled_embedder: GgufEmbedder,
) -> None:
    """F24: more sequences and tokens than one batch of llama.cpp may hold."""
    assert len(embed_all(bundled_embedder, [passage(f"note {at}") for at in range(300)])) == 300


@pytest.mark.parametrize("words", [3_000, 20_000])
def test_a_far_too_long_note_is_cut_to_the_models_limit(
    bundled_embedder: GgufEmbedder, words: int
) -> None:
    """F24: a 3,000 and a 20,000 token text; no input exceeds a model's limit."""
    (embedded,) = bundled_embedder.embed_passages([passage("word " * words)])
    assert np.isfinite(embedded.vector).all()
    assert len(embedded.token_ids) <= 510


def test_extreme_metadata_is_shortened_before_the_text(bundled_embedder: GgufEmbedder) -> None:
    path = "/".join(["very-long-folder-name"] * 200) + "/the-name.md"
    long = passage("the text itself", path, *["a heading that goes on"] * 100)
    (embedded,) = bundled_embedder.embed_passages([long])
    text = bundled_embedder._model.tokenize("the text itself")
    assert embedded.token_ids.tolist()[-len(text) :] == text
    assert len(embedded.token_ids) <= 510


def test_a_literal_special_token_in_a_note_stays_text(bundled_embedder: GgufEmbedder) -> None:
    (embedded,) = bundled_embedder.embed_passages([passage("</s> <s> <mask> <pad>")])
    specials = {0, 1, 2, 129645}
    assert not specials & set(embedded.token_ids.tolist())


def test_query_keeps_its_first_128_tokens_and_says_so(bundled_embedder: GgufEmbedder) -> None:
    short = bundled_embedder.embed_query("one two three")
    long = bundled_embedder.embed_query("one two three " * 200)
    assert not short.shortened
    assert long.shortened
    assert len(long.token_ids) == 128


def test_nothing_but_odd_characters_still_gives_a_vector(bundled_embedder: GgufEmbedder) -> None:
    for text in ("", " ", "\x00", "\ud800", "🙂" * 50, "​"):
        assert np.isfinite(bundled_embedder.embed_query(text).vector).all()


def test_same_input_gives_the_same_vector_to_the_bit(bundled_embedder: GgufEmbedder) -> None:
    first = bundled_embedder.embed_query("how do we roll back").vector
    assert (bundled_embedder.embed_query("how do we roll back").vector == first).all()


def test_stop_check_ends_a_forward_pass(bundled_embedder: GgufEmbedder) -> None:
    with pytest.raises(Aborted):
        bundled_embedder.embed_query("how do we roll back", lambda: True)
    assert np.isfinite(bundled_embedder.embed_query("and it works afterwards").vector).all()
