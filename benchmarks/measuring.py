"""Small tools for timing side by side in one run: these machines are noisy, so ratios count."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator


def alternated(
    first: Callable[[], object], second: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """Median seconds of each, run in turn so that both meet the same noise."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for function, into in zip((first, second), times, strict=True):
            started = time.perf_counter()
            function()
            into.append(time.perf_counter() - started)
    return statistics.median(times[0]), statistics.median(times[1])


def median_of(function: Callable[[], object], rounds: int) -> float:
    """Median seconds of a few runs."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def report(label: str, value: str, target: str, good: bool) -> bool:
    """One line a figure, with the target beside it."""
    print(f"{'ok  ' if good else 'FAIL'} {label}: {value} (target {target})", flush=True)
    return good


def chunks(items: list[int], size: int) -> Iterator[list[int]]:
    """Consecutive slices of ``size``."""
    for at in range(0, len(items), size):
        yield items[at : at + size]
