"""The curve behind the built-in reranker's relevance floor.

    python benchmarks/calibrate_floor.py --evals DIR --work DIR [--set ray-docs-dev]

For each floor on the raw score: the share of relevant reranked candidates that
would be lost, and how many off-topic queries would come back empty. Uses the
index that benchmarks/quality.py left in the work folder.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from eval_sets import SETS, opened, read_set, write_project


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--set", default="ray-docs-dev", choices=SETS)
    arguments = parser.parse_args()
    chosen = read_set(arguments.evals, arguments.set)
    root = write_project(chosen, arguments.work / chosen.name)
    relevant: list[float] = []
    best_real: list[float] = []
    off_topic: list[tuple[float, str]] = []
    with opened(root, arguments.work / ".memcli-home") as memcli:
        memcli.build_index()
        for query, text in chosen.queries.items():
            activation = memcli.activate_memory(text).activation
            wanted = chosen.relevant.get(query, frozenset())
            scored = [each for each in activation.candidates if each.rerank_score is not None]
            best_real.append(max(each.rerank_score or 0.0 for each in scored))
            relevant += [
                each.rerank_score or 0.0
                for each in scored
                if each.path.removesuffix(".md") in wanted
            ]
        for line in (arguments.evals / "off-topic.txt").read_text(encoding="utf-8").splitlines():
            if line.strip():
                activation = memcli.activate_memory(line).activation
                scored = [each for each in activation.candidates if each.rerank_score is not None]
                off_topic.append((max(each.rerank_score or 0.0 for each in scored), line))
    relevant.sort()
    best_real.sort()
    print(f"{chosen.name}: {len(relevant)} relevant candidates, {len(best_real)} questions")
    for share in (0.01, 0.05, 0.25, 0.5, 0.75):
        print(
            f"  {share:>4.0%}  relevant {relevant[int(share * len(relevant))]:.4f}"
            f"  best of a question {best_real[int(share * len(best_real))]:.4f}"
        )
    for score, line in sorted(off_topic):
        print(f"  off-topic {score:.4f}  {line}")
    print("  floor   relevant lost   questions empty   off-topic empty")
    for step in range(40):
        floor = 0.786 + step * 0.002
        lost = sum(score < floor for score in relevant) / len(relevant)
        empty = sum(score < floor for score in best_real) / len(best_real)
        blank = sum(score < floor for score, _ in off_topic)
        print(f"  {floor:.4f}   {lost:>10.1%}   {empty:>14.1%}   {blank:>10} of {len(off_topic)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
