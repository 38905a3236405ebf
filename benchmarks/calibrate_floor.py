"""The curve behind the built-in reranker's relevance floor.

    python benchmarks/calibrate_floor.py --evals DIR --work DIR [--set ray-docs-dev]

For each middle of the calibration (with the profile's length terms, and once
without them): the share of relevant reranked candidates that would be lost, of
labelled documents whose every candidate would be, of questions left empty, and
how many off-topic queries come back empty. Uses the index that
benchmarks/quality.py left in the work folder.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from eval_sets import SETS, opened, read_set, write_project

from memcli.models.profile import BUNDLED_LATE_INTERACTION, Relevance
from memcli.retrieval.query_terms import split_words

# (words of the query, raw scores by document, documents that are relevant)
Row = tuple[int, list[tuple[str, float]], frozenset[str]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--set", default="ray-docs-dev", choices=SETS)
    arguments = parser.parse_args()
    chosen = read_set(arguments.evals, arguments.set)
    root = write_project(chosen, arguments.work / chosen.name)
    off_topic = (arguments.evals / "off-topic.txt").read_text(encoding="utf-8").splitlines()
    with opened(root, arguments.work / ".memcli-home") as memcli:
        memcli.build_index()

        def asked(query: str, relevant: frozenset[str]) -> Row:
            scored = [
                (each.path.removesuffix(".md"), each.rerank_score)
                for each in memcli.activate_memory(query).activation.candidates
                if each.rerank_score is not None
            ]
            return len(split_words(query)), scored, relevant

        real = [
            asked(text, chosen.relevant.get(query, frozenset()))
            for query, text in chosen.queries.items()
        ]
        other = [asked(line, frozenset()) for line in off_topic if line.strip()]
    print(f"{chosen.name}: {len(real)} questions, {len(other)} off-topic")
    plain = replace(BUNDLED_LATE_INTERACTION, length_slope=0.0, length_cap=0.0)
    for title, profile in (("with length terms", BUNDLED_LATE_INTERACTION), ("without", plain)):
        print(f"{title}\n  middle  relevant lost  documents lost  questions empty  off-topic empty")
        for step in range(22):
            print(line(replace(profile, middle=0.79 + step * 0.0025), real, other))
        print("in force\n" + line(profile, real, other))
    return 0


def line(profile: Relevance, real: list[Row], other: list[Row]) -> str:
    def kept(score: float, words: int) -> bool:
        return profile.of(score, words) >= profile.floor

    candidates, documents = [], []
    for words, scored, relevant in real:
        for document in relevant:
            flags = [kept(score, words) for name, score in scored if name == document]
            candidates += flags
            documents += [any(flags)] if flags else []
    empty = [not any(kept(s, words) for _, s in scored) for words, scored, _ in real]
    blank = sum(not any(kept(s, words) for _, s in scored) for words, scored, _ in other)
    return (
        f"  {profile.middle:.4f} {1 - sum(candidates) / len(candidates):>14.1%} "
        f"{1 - sum(documents) / len(documents):>15.1%} {sum(empty) / len(empty):>16.1%} "
        f"{blank:>12} of {len(other)}"
    )


if __name__ == "__main__":
    sys.exit(main())
