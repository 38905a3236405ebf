"""A rerun and a gate as text: the new scores beside the recorded ones, and each rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memcli.cli.display import Display
from memcli.cli.figure_tables import counted, milliseconds, notes_lines, table_lines
from memcli.cli.report_text import QUALITY, SHORT
from memcli.cli.safe_text import safe_line

# Below this a difference of means is only rounding in the way it is shown.
SHOWN = 0.0005


def rerun_lines(display: Display, document: Mapping[str, Any]) -> Iterator[str]:
    """Means of each ranking, now and recorded, then each Case whose reranked score changed."""
    settings = document["settings"]["models"]
    cases = counted(document["cases"], "case")
    yield display.style(f"rerun of {cases}", "strong") + (
        f", {len(document['excluded'])} left out; embedder {_name(settings['embedder'])}, "
        f"reranker {_name(settings['reranker'])}"
    )
    yield ""
    rows = [["ranking", *(f"{SHORT[name]} (recorded)" for name in QUALITY), "p50", "p95"]]
    for variant, now in sorted(document["variants"].items()):
        before = document["recorded"][variant]
        figures = [f"{now[name]:.3f} ({before[name]:.3f})" for name in QUALITY]
        rows.append([variant, *figures, *(milliseconds(now[t]) for t in _TIMES)])
    yield from table_lines(display, rows, elastic=(), right=range(1, 6))
    changed = [each for each in document["per_case"] if abs(_change(each)) >= SHOWN]
    yield ""
    if not changed:
        yield f"nDCG@10 of {_RERANKED} is the same for every case"
    else:
        yield display.style(
            f"cases whose nDCG@10 of {_RERANKED} changed ({len(changed)})", "strong"
        )
        rows = [["case", "recorded", "now", "query"]]
        for each in sorted(changed, key=_change):
            before, now = _scores(each)
            rows.append([each["case_id"], f"{before:.3f}", f"{now:.3f}", each["query"]])
        yield from table_lines(display, rows, elastic=(3,), right=(1, 2))
    for each in document["excluded"]:
        yield safe_line(f"left out: {each['case_id']} ({each['status']}): {each['reason']}")
    yield ""
    yield from notes_lines(display, document["notes"])


def gate_lines(display: Display, document: Mapping[str, Any]) -> Iterator[str]:
    """The verdict, then each rule with the figure it was held against."""
    verdict = "the gate holds" if document["passed"] else "the gate does not hold"
    yield display.style(verdict, "strong") + f" over {counted(document['cases'], 'case')}"
    rows = [["", "rule", "figure"]]
    for each in document["rules"]:
        value = "none" if each["value"] is None else f"{each['value']:.6g}"
        rows.append(["ok" if each["held"] else "FAIL", each["rule"], value])
    yield from table_lines(display, rows, elastic=(1,), right=(2,))
    for case_id in document["lost"]:
        yield safe_line(f"FAIL case {case_id} was resolved and cannot be scored")
    yield from notes_lines(display, document["notes"])


_RERANKED = "b4_reranked"
_TIMES = ("warm_p50_us", "warm_p95_us")


def _scores(case: Mapping[str, Any]) -> tuple[float, float]:
    before: float = case["recorded"][_RERANKED]["ndcg_at_10"]
    now: float = case["variants"][_RERANKED]["ndcg_at_10"]
    return before, now


def _change(case: Mapping[str, Any]) -> float:
    before, now = _scores(case)
    return now - before


def _name(model: Mapping[str, Any]) -> str:
    return safe_line(str(model["profile"]))
