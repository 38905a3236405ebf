"""What a model's raw scores mean, read off the built-in pairs when the model is added.

Relevance is the logistic of (score - middle) / width. For late interaction,
``high`` is the median score of the sixteen answers and ``low`` the 95th
percentile of each question's best wrong note, which is what a false hit looks
like. ``middle`` lies half-way between. Sixteen short questions say nothing of
how steep the curve is or how scores fall with a question's length: width and
slope are those of the built-in embedder, whose curve was measured over real
corpora (benchmarks/calibrate_floor.py), scaled by (high - low) against its own.
The floor is 0.3 rather than its 0.5, since a few pairs say less than a corpus.
Tried on the built-in embedder itself, the method keeps what scores 0.812 and
more, where the measured calibration keeps 0.820.

A reranker's score is a logit, and its logistic is the relevance as it stands;
where llama.cpp already gives a probability (Qwen3), the middle is 0.5. Its floor
lies half-way, in logits, between the worst answer and the best wrong note, and
never above 0.5.

A model that does not tell answers from wrong notes gets floor 0: nothing it
returns is dropped on the word of a number that means nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from memcli.index.embedding import Float32, PassageInput
from memcli.index.token_vectors import decode_token_vectors, encode_token_vectors
from memcli.models.calibration_pairs import CALIBRATION_PAIRS
from memcli.models.cross_encoder import CrossEncoder
from memcli.models.embedder import GgufEmbedder
from memcli.models.late_interaction import interaction_scores, token_weights
from memcli.models.loaded_model import ShouldStop, never
from memcli.models.profile import BUNDLED_LATE_INTERACTION, Relevance

# A reranker reads pair by pair and may be large, so it is shown fewer.
RERANKED_PAIRS = 8
LEAST_RIGHT_SHARE = 0.75
LATE_FLOOR = 0.3
# high - low of the built-in embedder over the built-in pairs.
BUNDLED_SPAN = 0.0675
HIGHEST_FLOOR = 0.5
# Architectures for which llama.cpp's RANK pooling ends in a softmax.
_GIVES_PROBABILITY = frozenset({"qwen3", "qwen3vl"})


@dataclass(frozen=True, slots=True)
class Calibration:
    """The calibration, and for how many of ``pairs`` questions the answer came first.

    ``right`` counts by these scores; ``nearest`` by the pooled vectors alone,
    which an embedder has and a reranker has not.
    """

    relevance: Relevance
    right: int
    pairs: int
    nearest: int | None = None

    @property
    def tells_answers(self) -> bool:
        """Whether the order it gives is good enough to drop anything by it."""
        return self.right >= LEAST_RIGHT_SHARE * self.pairs


def calibrate_late_interaction(
    embedder: GgufEmbedder, should_stop: ShouldStop = never
) -> Calibration:
    """Score every note for every question, exactly as an activation scores units."""
    notes = [note for _, note in CALIBRATION_PAIRS]
    embedded = {each.ordinal: each for each in embedder.embed_passages(notes)}
    documents: list[Float32] = []
    seen = []
    for at in range(len(notes)):
        vectors = embedded[at].token_vectors
        assert vectors is not None
        documents.append(decode_token_vectors(*encode_token_vectors(vectors)))
        seen.append(set(embedded[at].token_ids.tolist()))
    vectors_of_notes = np.stack([embedded[at].vector for at in range(len(notes))])
    rows, lengths, nearest = [], [], 0
    for at, (question, _) in enumerate(CALIBRATION_PAIRS):
        query = embedder.embed_query(question, should_stop)
        nearest += int(np.argmax(vectors_of_notes @ query.vector)) == at
        counts = [sum(token in ids for ids in seen) for token in query.token_ids.tolist()]
        weights = token_weights(np.array(counts, dtype=np.int32), len(notes))
        rows.append(interaction_scores(query.token_vectors, weights, documents))
        lengths.append(len(question.split()))
    return replace(from_late_scores(np.stack(rows), lengths), nearest=nearest)


def from_late_scores(scores: Float32, query_words: Sequence[int]) -> Calibration:
    """The calibration for float32 [questions, notes], answers on the diagonal."""
    count = len(scores)
    answers = np.diag(scores)
    wrong = np.where(np.eye(count, dtype=bool), -np.inf, scores).max(axis=1)
    right = int((answers > wrong).sum())
    high, low = float(np.median(answers)), float(np.percentile(wrong, 95))
    found = Calibration(Relevance(0.0, 1.0, 0.0), right, count)
    if not found.tells_answers or high <= low:
        spread = max(float(scores.std()), 1e-3)
        relevance = Relevance(_rounded(float(np.median(scores))), _rounded(spread), 0.0)
        return replace(found, relevance=relevance)
    known, scale = BUNDLED_LATE_INTERACTION, (high - low) / BUNDLED_SPAN
    slope, cap = known.length_slope * scale, known.length_cap * scale
    longer = [math.log(max(each / known.length_free, 1.0)) for each in query_words]
    # The questions' own length has lowered their scores already.
    shift = sum(min(cap, slope * each) for each in longer) / count
    relevance = Relevance(
        middle=_rounded((high + low) / 2 + shift),
        width=_rounded(known.width * scale),
        floor=LATE_FLOOR,
        length_slope=_rounded(slope),
        length_free=known.length_free,
        length_cap=_rounded(cap),
    )
    return replace(found, relevance=relevance)


def calibrate_reranker(
    model: CrossEncoder, architecture: str, should_stop: ShouldStop = never
) -> Calibration:
    """Score each of the first questions with its note and with the next one's."""
    chosen = CALIBRATION_PAIRS[:RERANKED_PAIRS]
    answers, wrong = [], []
    for at, (question, note) in enumerate(chosen):
        other = chosen[(at + 1) % len(chosen)][1]
        good, bad = _scores(model, question, [note, other], should_stop)
        answers.append(good)
        wrong.append(bad)
    return from_pair_scores(answers, wrong, gives_probability=architecture in _GIVES_PROBABILITY)


def from_pair_scores(
    answers: Sequence[float], wrong: Sequence[float], *, gives_probability: bool = False
) -> Calibration:
    """The calibration for the scores of answers and of wrong notes, question by question."""
    middle, width = (0.5, 0.1) if gives_probability else (0.0, 1.0)
    right = sum(good > bad for good, bad in zip(answers, wrong, strict=True))
    found = Calibration(Relevance(middle, width, 0.0), right, len(answers))
    worst, best_wrong = min(answers), max(wrong)
    if not found.tells_answers or worst <= best_wrong:
        return found
    if gives_probability:
        half_way = _logistic((_logit(worst) + _logit(best_wrong)) / 2)
    else:
        half_way = (worst + best_wrong) / 2
    floor = min(HIGHEST_FLOOR, found.relevance.of(half_way, 1))
    return replace(found, relevance=Relevance(middle, width, _rounded(floor)))


def _scores(
    model: CrossEncoder, question: str, notes: Sequence[PassageInput], should_stop: ShouldStop
) -> list[float]:
    return [each.score for each in model.score_texts(question, notes, should_stop)]


def _logit(probability: float) -> float:
    bounded = min(max(probability, 1e-9), 1 - 1e-9)
    return math.log(bounded / (1 - bounded))


def _logistic(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def _rounded(value: float) -> float:
    """Four significant digits: a profile is read by people, and no more is known."""
    return float(f"{value:.4g}")
