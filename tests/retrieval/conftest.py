"""A revision over notes, built with the stand-in embedder, and the chain run over it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import pytest
from stand_in import StandInEmbedder, StandInReranker

from memcli.configuration import resolve_configuration
from memcli.index.builder import build_index
from memcli.index.reader import RevisionReader, open_head
from memcli.index.storage import IndexStorage
from memcli.memory.synthesis import effective_memory
from memcli.retrieval.activation import Activation, ActivationLimits
from memcli.retrieval.chain import Models, run_chain
from memcli.retrieval.delta import HeldUnit
from memcli.retrieval.stages import Stages

_numbers = itertools.count()


@dataclass
class Corpus:
    """An open revision; ``ask`` runs the whole chain over it."""

    reader: RevisionReader
    embedder: StandInEmbedder
    reranker: StandInReranker

    def ask(
        self,
        query: str,
        held: tuple[HeldUnit, ...] = (),
        limits: ActivationLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> Activation:
        chosen = limits or ActivationLimits()
        return run_chain(
            "test",
            query,
            held,
            self.reader,
            Models(self.embedder, self.reranker),
            self.reader,
            chosen,
            Stages(clock, chosen.deadline_seconds),
        )


@pytest.fixture
def corpus_of(
    tmp_path: Path, homes: dict[str, str], write_notes: Callable[[Mapping[str, str]], Path]
) -> Iterator[Callable[[Mapping[str, str]], Corpus]]:
    """Write notes, build, open the head. The stand-in model: these tests are about the chain."""
    with ExitStack() as stack:

        def make(notes: Mapping[str, str]) -> Corpus:
            root = write_notes(notes)
            configuration = resolve_configuration(root, homes, {})
            storage = IndexStorage(tmp_path / f"index-{next(_numbers)}")
            embedder = StandInEmbedder()
            build_index(
                storage,
                lambda known: effective_memory(configuration, homes, known),
                embedder,
                now=lambda: datetime(2026, 1, 1, tzinfo=timezone.utc),
                clock=time.monotonic,
                new_revision_id=lambda: f"r{next(_numbers)}",
            )
            return Corpus(stack.enter_context(open_head(storage)), embedder, StandInReranker())

        yield make
