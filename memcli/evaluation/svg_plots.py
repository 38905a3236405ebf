"""Plots of a report as inline SVG: bars, recall by depth, spread over Cases, recorded times.

Colours come from the page's style sheet, so that one drawing serves light and dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from memcli.evaluation.rankings import VARIANTS

LABEL = 116
BAR = 190
VALUE = 62
ROW = 26
BINS = 10
DEPTH = 20


def bars(title: str, values: Mapping[str, float]) -> str:
    """One bar a variant; ``values`` lie in 0..1."""
    parts = []
    for at, (name, value) in enumerate(values.items()):
        top = at * ROW
        parts.append(_label(name, top))
        parts.append(_box("track", LABEL, top + 4, BAR, 16))
        parts.append(_box(f"fill {name}", LABEL, top + 4, BAR * value, 16))
        parts.append(_text(LABEL + BAR + 8, top + 17, f"{value:.3f}", "value"))
    said = ", ".join(f"{name} {value:.3f}" for name, value in values.items())
    return _svg(f"{title}: {said}", LABEL + BAR + VALUE, ROW * len(values), parts)


def time_bars(title: str, times: Mapping[str, tuple[int | None, int | None]]) -> str:
    """Median as a bar and 95th percentile as a line behind it, in microseconds, on one scale."""
    longest = max([slow for _, slow in times.values() if slow is not None], default=0) or 1
    parts, said = [], []
    for at, (name, (median, slow)) in enumerate(times.items()):
        top = at * ROW
        parts.append(_label(name, top))
        if median is None or slow is None:
            parts.append(_text(LABEL, top + 17, "not recorded", "value"))
            said.append(f"{name} not recorded")
            continue
        parts.append(_box("track", LABEL, top + 10, BAR * slow / longest, 4))
        parts.append(_box(f"fill {name}", LABEL, top + 4, BAR * median / longest, 16))
        figures = f"{milliseconds(median)} / {milliseconds(slow)}"
        parts.append(_text(LABEL + BAR + 8, top + 17, figures, "value"))
        said.append(f"{name} {figures}")
    width = LABEL + BAR + 2 * VALUE
    return _svg(f"{title}: {', '.join(said)}", width, ROW * len(times), parts)


def depth_curves(title: str, places: Mapping[str, Sequence[Sequence[int | None]]]) -> str:
    """Mean recall over Cases at every depth from 1 to 20; ``places`` by variant, then by Case."""
    left, top, width, height = 40, 10, 420, 200
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = top + height * (1 - share)
        parts.append(_line("grid", left, y, left + width, y))
        parts.append(_text(left - 6, y + 4, f"{share:g}", "value end"))
    for depth in (1, 5, 10, 15, DEPTH):
        x = left + width * (depth - 1) / (DEPTH - 1)
        parts.append(_text(x, top + height + 18, str(depth), "value middle"))
    parts.append(_text(left + width / 2, top + height + 36, "depth", "value middle"))
    for name, cases in places.items():
        points = " ".join(
            f"{_number(left + width * at / (DEPTH - 1))},{_number(top + height * (1 - recall))}"
            for at, recall in enumerate(_recall_by_depth(cases))
        )
        parts.append(f'<polyline class="curve {name}" points="{points}"/>')
    return _svg(title, left + width + 14, top + height + 44, parts)


def spread(title: str, values: Sequence[float]) -> str:
    """How many Cases score how much: ten equal bins over 0..1, the last one with its end."""
    width, height, top = 220, 70, 16
    counts = [0] * BINS
    for value in values:
        counts[min(BINS - 1, int(value * BINS))] += 1
    most = max(counts, default=0) or 1
    parts = []
    for at, count in enumerate(counts):
        x = at * width / BINS
        tall = height * count / most
        parts.append(_box("fill", x + 1, top + height - tall, width / BINS - 2, tall))
        if count:
            middle = x + width / BINS / 2
            parts.append(_text(middle, top + height - tall - 3, str(count), "small middle"))
    parts.append(_line("grid", 0, top + height, width, top + height))
    for share in (0, 0.5, 1):
        anchor = {0: "", 0.5: "middle", 1: "end"}[share]
        parts.append(_text(width * share, top + height + 14, f"{share:g}", f"small {anchor}"))
    said = ", ".join(f"{count} from {at / BINS:g}" for at, count in enumerate(counts) if count)
    return _svg(f"{title}: {said}", width, top + height + 18, parts)


def style_of_variants(colors: Sequence[str]) -> str:
    """Style rules that give each variant one of four colours."""
    return "".join(f".{name}{{--c:{color}}}" for name, color in zip(VARIANTS, colors, strict=True))


def milliseconds(microseconds: int) -> str:
    return f"{microseconds / 1000:.1f} ms"


def _recall_by_depth(cases: Sequence[Sequence[int | None]]) -> list[float]:
    recalls = []
    for depth in range(1, DEPTH + 1):
        shares = [
            sum(place is not None and place <= depth for place in places) / len(places)
            for places in cases
        ]
        recalls.append(sum(shares) / len(shares))
    return recalls


def _svg(said: str, width: float, height: float, parts: Iterable[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_number(width)} {_number(height)}" role="img" '
        f'style="max-width:{_number(width * 1.25)}px" aria-label="{escape(said)}">'
        f"<title>{escape(said)}</title>{''.join(parts)}</svg>"
    )


def _label(name: str, top: float) -> str:
    return _text(0, top + 17, name, "label")


def _text(x: float, y: float, text: str, kind: str) -> str:
    place = f'x="{_number(x)}" y="{_number(y)}"'
    return f'<text {place} class="{kind.strip()}">{escape(text)}</text>'


def _box(kind: str, x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect class="{kind}" x="{_number(x)}" y="{_number(y)}" '
        f'width="{_number(width)}" height="{_number(height)}" rx="2"/>'
    )


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    ends = " ".join(
        f'{name}="{_number(value)}"'
        for name, value in (("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2))
    )
    return f'<line class="{kind}" {ends}/>'


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
