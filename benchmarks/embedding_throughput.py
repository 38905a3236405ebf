"""Embedding throughput of ``index build`` against a bare loop over llama.cpp.

    python benchmarks/embedding_throughput.py [--notes 60]

Same inputs (token for token), model and threads; the bare loop packs batches of
256 tokens sorted by length, which is the best setting found. Both are run in
turn on halves of the sample notes, several rounds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bare_llama import MODEL, BareModel
from eval_sets import opened
from measuring import report

from memcli.facade import Memcli
from memcli.index.embedding import PassageInput
from memcli.index.heading_paths import model_heading_path
from memcli.models.devices import usable_cores
from memcli.models.embedder import GgufEmbedder
from memcli.models.model_input import fit_passage

SAMPLES = Path(__file__).parent.parent / "sample_projects" / "harbor"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--notes", type=int, default=24)
    arguments = parser.parse_args()
    files = sorted(SAMPLES.rglob("*.md"))[: arguments.notes]
    ratios = []
    bare = BareModel(MODEL, 512, usable_cores(), 0)
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "project"
            root.mkdir()
            for number, file in enumerate(files):
                (root / f"{number:03}.md").write_bytes(file.read_bytes())
            with opened(root, Path(folder)) as memcli:
                embedder = memcli.shelf.configured_embedder()
                started = time.perf_counter()
                summary = memcli.build_index().summary
                ours = summary.timings["embed"]
                whole = time.perf_counter() - started
                sequences = [
                    [0, *embedder._passage_prefix, *ids, 2] for ids in inputs(memcli, embedder)
                ]
        started = time.perf_counter()
        for batch in packed(sorted(sequences, key=len, reverse=True), 256):
            bare.run(batch)
            bare.vectors(sum(map(len, batch)))
        theirs = time.perf_counter() - started
        tokens = sum(map(len, sequences))
        ratios.append(theirs / ours)
        print(
            f"{summary.embedded} units, {tokens} tokens: build {whole:.2f} s, its embedding "
            f"{ours:.2f} s ({tokens / ours:.0f} tokens/s), bare loop {theirs:.2f} s "
            f"({tokens / theirs:.0f} tokens/s), ratio {theirs / ours:.3f}"
        )
    best = sorted(ratios)[len(ratios) // 2]
    return 0 if report("throughput over bare loop", f"{best:.3f}", ">= 0.85", best >= 0.85) else 1


def inputs(memcli: Memcli, embedder: GgufEmbedder) -> list[list[int]]:
    from memcli.index.chunking import cut_resource

    found = []
    for resource in memcli.effective_memory().memory.resources:
        for unit in cut_resource(resource, embedder.count_tokens):
            headings = model_heading_path(resource.title, unit.heading_path)
            passage = PassageInput(resource.path, headings, unit.text)
            found.append(fit_passage(embedder._model.tokenize, passage, 507).ids)
    return found


def packed(sequences: list[list[int]], most: int) -> list[list[list[int]]]:
    batches: list[list[list[int]]] = []
    tokens = most + 1
    for sequence in sequences:
        if tokens + len(sequence) > most or len(batches[-1]) == 64:
            batches.append([])
            tokens = 0
        batches[-1].append(sequence)
        tokens += len(sequence)
    return batches


if __name__ == "__main__":
    sys.exit(main())
