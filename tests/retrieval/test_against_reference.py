"""The real chain against the slow reference, on random corpora with the stand-in model."""

from __future__ import annotations

import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference_chain import Unit, expected, words_of
from stand_in import StandInEmbedder, StandInReranker

from memcli.configuration import resolve_configuration
from memcli.index.builder import build_index
from memcli.index.embedding import PassageInput
from memcli.index.reader import RevisionReader, open_head
from memcli.index.storage import IndexStorage
from memcli.memory.synthesis import effective_memory
from memcli.models.loaded_model import never
from memcli.retrieval.activation import ActivationLimits
from memcli.retrieval.chain import Models, passage_of, run_chain
from memcli.retrieval.query_terms import split_words
from memcli.retrieval.stages import Stages

WORDS = ["deploy", "roll", "back", "ok", "db", "C++", "a.b", "naïve", "部署手册", "回滚", "the",
         "config-map", "x_y", "Über", "ＡＢＣ"]  # fmt: skip
TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join)
SECTION = st.tuples(st.sampled_from(["Setup", "Fix", "部署"]), TEXT).map(
    lambda pair: f"## {pair[0]}\n\n{pair[1]}\n"
)
BODY = st.one_of(TEXT, st.lists(SECTION, min_size=1, max_size=4).map("\n".join),
                 TEXT.map(lambda text: (text + " ") * 30))  # fmt: skip
NAMES = [f"{name}.md" for name in ("deploy", "deploy-all", "roll", "部署", "b/config", "ok", "z")]
NOTES = st.dictionaries(
    st.one_of(st.sampled_from(NAMES), st.integers(0, 99).map(lambda n: f"n/{n:02}.md")),
    st.tuples(st.one_of(st.none(), st.sampled_from(["Deploy", "Roll back"])), BODY),
    min_size=1,
    max_size=40,
)
QUERY = st.one_of(TEXT, st.sampled_from([*NAMES, "deploy", "ok db", "部署", "!!", "Ｄ", "n/"]))
LIMITS = st.builds(
    ActivationLimits,
    lexical=st.integers(3, 60),
    vector=st.integers(3, 60),
    fused=st.integers(2, 40),
    reranked=st.integers(2, 24),
    fragments=st.integers(1, 12),
    per_resource=st.integers(1, 2),
    tokens=st.integers(20, 2400),
)


def built(folder: Path, notes: dict[str, tuple[str | None, str]]) -> IndexStorage:
    root = folder / "project"
    for path, (title, body) in notes.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        front = f"---\ntitle: {title}\ndescription: about {title}\n---\n" if title else ""
        file.write_text(front + body, encoding="utf-8")
    environ = {"HOME": str(folder), "MEMCLI_CONFIG": str(folder / "config")}
    configuration = resolve_configuration(root, environ, {})
    storage = IndexStorage(folder / "index")
    build_index(
        storage,
        lambda known: effective_memory(configuration, environ, known),
        StandInEmbedder(),
        now=lambda: datetime(2026, 1, 1, tzinfo=timezone.utc),
        clock=time.monotonic,
        new_revision_id=lambda: "r",
    )
    return storage


def units_of(reader: RevisionReader, query: str) -> list[Unit]:
    embedder, reranker = StandInEmbedder(), StandInReranker()
    encoded = embedder.embed_query(query)
    vectors = reader.vectors()
    units = []
    for entry in reader.manifest():
        for unit in reader.units_of_resource(entry.resource_id):
            passage: PassageInput = passage_of(unit)
            (score,) = reranker.score(encoded, [passage], reader, never)
            place = unit.locator
            span = None
            if place.start_char is not None and place.end_char is not None:
                span = (place.start_char, place.end_char)
            units.append(
                Unit(
                    unit.unit_key, unit.resource_id, entry.ordinal, unit.position, unit.path,
                    unit.title, list(unit.heading_path), unit.text, unit.content_hash,
                    unit.token_count, span, vectors[unit.ordinal], score.score,
                    reranker.relevance.of(score.score, len(split_words(query))),
                )
            )  # fmt: skip
    return units


@given(NOTES, st.lists(QUERY, min_size=1, max_size=4), LIMITS)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_chain_gives_the_references_fragments_ranks_and_reasons(
    notes: dict[str, tuple[str | None, str]], queries: list[str], limits: ActivationLimits
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        storage = built(Path(folder), notes)
        embedder = StandInEmbedder()
        for query in queries:
            with open_head(storage) as reader:
                activation = run_chain(
                    "p", query, (), reader, Models(embedder, StandInReranker()), reader, limits,
                    Stages(time.monotonic, 60),
                )  # fmt: skip
                cosines = (reader.vectors() @ embedder.embed_query(query).vector).tolist()
                reference = expected(query, cosines, units_of(reader, query), limits)
            ours = [
                (c.unit_key, c.exact_tier, c.exact_rank, c.bm25_rank, c.vector_rank, c.rrf_rank,
                 c.rerank_rank, c.final_rank, c.exclusion_reason)
                for c in activation.candidates
            ]  # fmt: skip
            theirs = [
                (r.unit.key, r.exact_tier, r.exact_rank, r.bm25_rank, r.vector_rank, r.rrf_rank,
                 r.rerank_rank, r.final_rank, r.reason)
                for r in reference.rows
            ]  # fmt: skip
            assert ours == theirs
            assert [each.unit_key for each in activation.fragments] == reference.returned
            for candidate, row in zip(activation.candidates, reference.rows, strict=True):
                assert candidate.rrf_score == pytest.approx(row.rrf_score)


@given(st.text(max_size=80))
@settings(max_examples=300)
def test_words_of_a_query_are_the_references(query: str) -> None:
    words = split_words(query)
    distinct: list[str] = []
    for word in words:
        if word.casefold() not in [each.casefold() for each in distinct]:
            distinct.append(word)
    assert distinct == words_of(query)
