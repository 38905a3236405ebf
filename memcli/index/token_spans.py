"""Token counts of spans of a body, and the longest span that keeps within a limit.

A tokenizer gives counts only, and they are not exactly additive: every search
here ends at a span whose own text was counted.
"""

from __future__ import annotations

from collections.abc import Callable


class SpanTokens:
    """Counts ``body[start:end]`` with ``count_tokens``, each span once."""

    def __init__(self, body: str, count_tokens: Callable[[str], int]) -> None:
        self.body = body
        self._count_tokens = count_tokens
        self._known: dict[tuple[int, int], int] = {}

    def __call__(self, start: int, end: int) -> int:
        known = self._known.get((start, end))
        if known is None:
            known = self._count_tokens(self.body[start:end])
            self._known[start, end] = known
        return known


def trimmed(body: str, start: int, end: int) -> tuple[int, int]:
    """The span without the white space at both its ends; ``(start, start)`` where all is blank."""
    text = body[start:end]
    kept = text.lstrip()
    if not kept:
        return start, start
    start += len(text) - len(kept)
    return start, start + len(kept.rstrip())


def longest_length(
    count: Callable[[int], int], most: int, limit: int, guess: int, slack: int
) -> int:
    """A length up to ``most`` whose count is at most ``limit``, 0 where not even 1 is.

    ``count(length)`` must grow with the length, but for small dips. A count from
    ``limit - slack`` on is good enough; otherwise the result is the last length
    that fits. A probe reads at most about twice the text of the result or of the
    ``guess``, so the cost does not depend on ``most``.
    """
    low, low_count = 0, 0
    high, high_count = most + 1, 0
    exceeded = False
    width = 0
    probe = most if most <= guess + guess // 4 else max(1, guess)
    while True:
        counted = count(probe)
        if counted <= limit:
            low, low_count = probe, counted
        else:
            high, high_count = probe, counted
            exceeded = True
        if low == most or low_count >= max(1, limit - slack) or high - low <= 1:
            return low
        if not exceeded:
            scaled = low * limit // max(1, low_count)
            probe = min(most, max(low + 1 + low // 8, min(scaled, 2 * low)))
            continue
        halved = width == 0 or 2 * (high - low) <= width
        width = high - low
        if halved:
            aim = low + width * (limit - low_count) // max(1, high_count - low_count)
            margin = max(1, width // 8)
            probe = min(max(aim, low + margin), high - margin)
        else:
            probe = low + width // 2


def last_that_fits(fits: Callable[[int], bool], first: int, last: int, guess: int) -> int:
    """The last of ``first..last`` that fits, looked for from ``guess``; ``first`` always fits."""
    low, high = first, last + 1
    guess = min(max(guess, first), last)
    if guess == first or fits(guess):
        low, step = guess, 1
        while low < last:
            probe = min(last, low + step)
            if not fits(probe):
                high = probe
                break
            low, step = probe, 2 * step
        else:
            return last
    else:
        high, step = guess, 1
        while high - step > low:
            probe = high - step
            if fits(probe):
                low = probe
                break
            high, step = probe, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low
