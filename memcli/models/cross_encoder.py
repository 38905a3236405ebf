"""The other reranker: a GGUF with a classification head reads query and passage together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memcli.index.embedding import PassageInput
from memcli.models.embedder import EncodedQuery
from memcli.models.loaded_model import MOST_SEQUENCES, LoadedModel, ShouldStop
from memcli.models.model_input import QUERY_TOKENS, fit_passage, fit_query
from memcli.models.profile import Relevance
from memcli.models.reranker import RerankScore, TokenCorpus

# See memcli.models.embedder.PACKED_TOKENS; pairs are longer, so few share a pass.
PACKED_TOKENS = 384


class CrossEncoder:
    """Pairs through llama.cpp's RANK pooling; the score is the raw logit of the head."""

    def __init__(self, model: LoadedModel) -> None:
        self._model = model
        self._frame = _frame(model)

    @property
    def relevance(self) -> Relevance:
        return self._model.profile.relevance

    @property
    def description(self) -> Mapping[str, Any]:
        return {**self._model.profile.description(), "kind": "cross_encoder"}

    def score(
        self,
        query: EncodedQuery,
        passages: Sequence[PassageInput],
        corpus: TokenCorpus,
        should_stop: ShouldStop,
    ) -> list[RerankScore]:
        return self.score_texts(query.text, passages, should_stop)

    def score_texts(
        self, query: str, passages: Sequence[PassageInput], should_stop: ShouldStop
    ) -> list[RerankScore]:
        """One raw score a passage; longest pairs first, several short ones a pass."""
        pairs, truncated = self._pairs(query, passages)
        scores = [0.0] * len(pairs)
        for batch in self._batches([len(pair) for pair in pairs]):
            outputs = self._model.run([pairs[at] for at in batch], should_stop)
            for at, output in zip(batch, outputs, strict=True):
                scores[at] = float(output[0])
        return [RerankScore(score, cut) for score, cut in zip(scores, truncated, strict=True)]

    def _pairs(
        self, query: str, passages: Sequence[PassageInput]
    ) -> tuple[list[list[int]], list[bool]]:
        before, between, after = self._frame
        room = self._model.max_tokens - len(before) - len(between) - len(after)
        asked = fit_query(self._model.tokenize, query, min(QUERY_TOKENS, room // 2)).ids
        pairs, truncated = [], []
        for passage in passages:
            fitted = fit_passage(self._model.tokenize, passage, room - len(asked))
            pairs.append([*before, *asked, *between, *fitted.ids, *after])
            truncated.append(fitted.truncated)
        return pairs, truncated

    def _batches(self, lengths: list[int]) -> list[list[int]]:
        batches: list[list[int]] = []
        tokens = 0
        for at in sorted(range(len(lengths)), key=lambda at: (-lengths[at], at)):
            full = tokens + lengths[at] > min(PACKED_TOKENS, self._model.batch_tokens)
            if not batches or full or len(batches[-1]) == MOST_SEQUENCES:
                batches.append([])
                tokens = 0
            batches[-1].append(at)
            tokens += lengths[at]
        return batches

    def close(self) -> None:
        self._model.close()


def _frame(model: LoadedModel) -> tuple[list[int], list[int], list[int]]:
    """The ids before, between and after query and passage.

    XLM-R joins a pair by two separators, BERT by one; a model that carries its
    own template (``tokenizer.chat_template.rerank``, as Qwen3-Reranker does) has
    it split around its placeholders, whose contents are never parsed for
    special tokens.
    """
    template = model.header.metadata.get("tokenizer.chat_template.rerank")
    if isinstance(template, str) and "{query}" in template and "{document}" in template:
        before, rest = template.split("{query}", 1)
        between, after = rest.split("{document}", 1)
        special = [model.tokenize(part, special=True) for part in (before, between, after)]
        return special[0], special[1], special[2]
    form = model.profile.pair_form
    if form == "file":
        is_bert = model.header.metadata.get("tokenizer.ggml.model") == "bert"
        form = "single_separator" if is_bert else "double_separator"
    separators = 1 if form == "single_separator" else 2
    return model.begin, model.end * separators, model.end
