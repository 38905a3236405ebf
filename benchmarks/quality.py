"""How good the four rankings are on sets with human judgements, beside stored baselines.

    python benchmarks/quality.py --evals DIR --work DIR [--sets med cisi] [--queries 80]

The work folder keeps the indexes, so that a second run embeds nothing.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from eval_sets import SETS, opened, rankings, read_set, write_project

# Over whole documents: nDCG@10, RR@10, R@20.
BASELINES = {
    "med": {"bm25": (0.6762, 0.9444, 0.4769), "bm25 trigram": (0.7324, 0.9833, 0.5189)},
    "cisi": {
        "bm25": (0.3422, 0.6191, 0.1712),
        "bm25 stop": (0.3493, 0.6247, 0.1734),
        "bm25 trigram": (0.3166, 0.5336, 0.1753),
    },
    "ray-docs-dev": {"bm25": (0.4618, 0.3990, 0.7438), "bm25 trigram": (0.4292, 0.3720, 0.7438)},
    "cmrc2018-dev": {
        "bm25 jieba": (0.9860, 0.9822, 0.9967),
        "bm25 trigram": (0.9383, 0.9321, 0.9567),
    },
}


def scores(ranking: list[str], relevant: frozenset[str]) -> tuple[float, float, float]:
    """nDCG@10, RR@10 and R@20 of one ranking of documents, binary labels."""
    places = [place for place, document in enumerate(ranking, 1) if document in relevant]
    gain = sum(1 / math.log2(place + 1) for place in places if place <= 10)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(10, len(relevant)) + 1))
    first = next((1 / place for place in places if place <= 10), 0.0)
    return gain / ideal, first, sum(place <= 20 for place in places) / len(relevant)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=SETS)
    parser.add_argument("--queries", type=int, default=0, help="at most so many a set; 0: all")
    parser.add_argument("--embedder")
    parser.add_argument("--reranker")
    arguments = parser.parse_args()
    flags = {
        f"models.{role}": getattr(arguments, role)
        for role in ("embedder", "reranker")
        if getattr(arguments, role)
    }
    means: dict[str, dict[str, float]] = {}
    for name in arguments.sets:
        chosen = read_set(arguments.evals, name)
        root = write_project(chosen, arguments.work / name)
        with opened(root, arguments.work / ".memcli-home", **flags) as memcli:
            started = time.perf_counter()
            summary = memcli.build_index().summary
            built = time.perf_counter() - started
            totals: dict[str, list[tuple[float, float, float]]] = {}
            asked = [query for query in chosen.queries if query in chosen.relevant]
            asked = asked[: arguments.queries or None]
            for query in asked:
                answer = memcli.activate_memory(chosen.queries[query])
                for ranking, documents in rankings(answer.activation).items():
                    row = scores(documents, chosen.relevant[query])
                    totals.setdefault(ranking, []).append(row)
        print(
            f"\n{name}: {summary.resources} documents, {summary.units} units, "
            f"{len(asked)} queries; {summary.embedded} embedded in {built:.1f} s"
        )
        print(f"  {'ranking':<14} {'nDCG@10':>8} {'RR@10':>8} {'R@20':>8}")
        for ranking, rows in totals.items():
            mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
            means.setdefault(name, {})[ranking] = mean[0]
            print(f"  {ranking:<14} {mean[0]:>8.4f} {mean[1]:>8.4f} {mean[2]:>8.4f}", flush=True)
        for system, row in BASELINES[name].items():
            print(f"  {system:<14} {row[0]:>8.4f} {row[1]:>8.4f} {row[2]:>8.4f}")
    return verdict(means)


def verdict(means: dict[str, dict[str, float]]) -> int:
    """Whether b4 >= b3 >= max(b1, b2) on the mean, no set much below, b3 above trigrams."""
    held = True
    print("\nnDCG@10 over the sets")
    mean = {b: sum(row[b] for row in means.values()) / len(means) for b in ("b1", "b2", "b3", "b4")}
    print("  mean  " + "  ".join(f"{name} {value:.4f}" for name, value in mean.items()))
    checks = [("mean: b4 >= b3", mean["b4"] - mean["b3"], 0.0)]
    checks.append(("mean: b3 >= max(b1, b2)", mean["b3"] - max(mean["b1"], mean["b2"]), 0.0))
    for name, row in means.items():
        checks.append((f"{name}: b4 >= b3 - 0.02", row["b4"] - row["b3"], -0.02))
        checks.append(
            (f"{name}: b3 >= max(b1, b2) - 0.02", row["b3"] - max(row["b1"], row["b2"]), -0.02)
        )
        trigram = BASELINES[name]["bm25 trigram"][0]
        checks.append((f"{name}: b3 > trigram baseline", row["b3"] - trigram, 1e-9))
    for label, difference, least in checks:
        good = difference >= least
        held &= good
        print(f"  {'ok  ' if good else 'FAIL'} {label}: {difference:+.4f}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
