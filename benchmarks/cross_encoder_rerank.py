"""A cross-encoder's rerank of 24 pairs against a bare llama.cpp loop over the same pairs.

    python benchmarks/cross_encoder_rerank.py [--model FILE.gguf]

Without a model a BERT with random weights is written (12 layers of 384, like
the small rerankers), for which the ``gguf`` package is needed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "tests")]

from bare_llama import BareModel
from measuring import alternated, report
from synthetic import Texts

from memcli.index.embedding import PassageInput
from memcli.models.cross_encoder import CrossEncoder
from memcli.models.devices import choose_device, usable_cores
from memcli.models.loaded_model import LoadedModel, never
from memcli.models.profile import find_reranker, verified

RANK_POOLING = 4


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = arguments.model or random_model(Path(folder))
        profile = find_reranker(str(model), {})
        assert profile is not None
        # Not through the golden pair: random weights prefer nothing, and only time counts.
        reranker = CrossEncoder(LoadedModel(verified(profile), choose_device("off", 0)))
        passages = [PassageInput(f"docs/{n}.md", ("Part",), text) for n, text in enumerate(texts())]
        query = "how do we deploy the service without an error"
        pairs, _ = reranker._pairs(query, passages)
        bare = BareModel(model, 512, usable_cores(), RANK_POOLING)
        ordered = sorted(pairs, key=len, reverse=True)

        def bare_loop() -> list[float]:
            scores = []
            batch: list[list[int]] = []
            for pair in [*ordered, None]:
                if batch and (pair is None or sum(map(len, batch)) + len(pair) > 384):
                    bare.run(batch)
                    scores += [bare.sequence_output(at) for at in range(len(batch))]
                    batch = []
                if pair is not None:
                    batch.append(pair)
            return scores

        ours, theirs = alternated(
            lambda: reranker.score_texts(query, passages, never), bare_loop, 5
        )
    ratio = theirs / ours
    value = f"{ratio:.3f} ({ours:.2f} s, bare {theirs:.2f} s, {sum(map(len, pairs))} tokens)"
    return 0 if report("rerank of 24 pairs over bare loop", value, ">= 0.85", ratio >= 0.85) else 1


def texts() -> list[str]:
    return [Texts(20 + 4 * number, seed=number).one() for number in range(24)]


def random_model(folder: Path) -> Path:
    from tiny_gguf import write_tiny_bert

    return write_tiny_bert(folder / "random.gguf", width=384, layers=12, heads=12, scale=0.1)


if __name__ == "__main__":
    sys.exit(main())
