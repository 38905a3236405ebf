"""A report as text: scores with bars, recorded times, each Case, each Case left out and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memcli.cli.display import Display
from memcli.cli.figure_tables import counted, milliseconds, notes_lines, table_lines
from memcli.cli.safe_text import safe_line

QUALITY = ("recall_at_20", "ndcg_at_10", "mrr_at_10")
SHARES = ("resource_diversity_at_20", "scope_violation_at_20", "stale_result_at_20")
SHORT = {
    "recall_at_20": "recall@20",
    "ndcg_at_10": "nDCG@10",
    "mrr_at_10": "MRR@10",
    "resource_diversity_at_20": "diversity",
    "scope_violation_at_20": "scope violation",
    "stale_result_at_20": "stale",
}
NAME = 17
FIGURE = 6
GAP = 2
LONGEST_BAR = 24
EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def report_lines(display: Display, report: Mapping[str, Any]) -> Iterator[str]:
    """The whole report; on a terminal no line is longer than it, elsewhere tables are TSV."""
    counts = report["counts"]
    cases = counted(report["cases"], "case")
    yield display.style(f"report on {cases}", "strong") + f", {counts['excluded']} left out"
    fragments = counted(counts["unit_evidence"], "fragment")
    notes = counted(counts["resource_evidence"], "whole note")
    yield f"{counted(counts['evidence'], 'piece')} of evidence: {fragments}, {notes}"
    yield ""
    yield from _quality(display, report)
    yield ""
    yield from _shares(display, report)
    yield ""
    if report["cases"] == 1:
        yield from _evidence(display, report["per_case"][0])
    else:
        yield from _cases(display, report["per_case"])
    if report["excluded"]:
        yield ""
        yield from _excluded(display, report["excluded"])
    yield ""
    yield from notes_lines(display, report["notes"])


def bar(share: float, cells: int) -> str:
    """A bar for a share in 0..1, to an eighth of a cell; nothing only for nothing."""
    eighths = round(share * cells * 8)
    if share > 0:
        eighths = max(1, eighths)
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8]


def _quality(display: Display, report: Mapping[str, Any]) -> Iterator[str]:
    if not display.environment.stdout_is_terminal:
        yield from _values(report, QUALITY)
        return
    room = (display.environment.columns - NAME) // len(QUALITY)
    cells = min(LONGEST_BAR, room - FIGURE - GAP)
    heads = "".join(f"{SHORT[name]:<{max(room, 10)}}" for name in QUALITY)
    if cells >= 4:
        heads = "".join(f"{SHORT[name]:<{FIGURE + cells + GAP}}" for name in QUALITY)
    yield display.style(f"{'ranking':<{NAME}}{heads}".rstrip(), "strong")
    for variant, means in _in_order(report):
        line = f"{variant:<{NAME}}"
        for name in QUALITY:
            if cells < 4:
                line += f"{means[name]:<{max(room, 10)}.3f}"
                continue
            drawn = bar(means[name], cells)
            blank = " " * (cells - len(drawn) + GAP)
            line += f"{means[name]:<{FIGURE}.3f}{display.style(drawn, 'number')}{blank}"
        yield line.rstrip()


def _shares(display: Display, report: Mapping[str, Any]) -> Iterator[str]:
    names = (*SHARES, "warm_p50_us", "warm_p95_us")
    if not display.environment.stdout_is_terminal:
        yield from _values(report, names)
        return
    rows = [["ranking", *(SHORT[name] for name in SHARES), "p50", "p95", "empty"]]
    for variant, means in _in_order(report):
        shares = [f"{means[name]:.3f}" for name in SHARES]
        times = [milliseconds(means[name]) for name in ("warm_p50_us", "warm_p95_us")]
        empty = str(report["counts"]["empty_rankings"][variant])
        rows.append([f"{variant:<{NAME - GAP}}", *shares, *times, empty])
    yield from table_lines(display, rows, elastic=(), right=range(1, 7))


def _values(report: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    yield "\t".join(("ranking", *names))
    for variant, means in _in_order(report):
        values = ("" if means[name] is None else str(means[name]) for name in names)
        yield "\t".join((variant, *values))


def _evidence(display: Display, case: Mapping[str, Any]) -> Iterator[str]:
    """Where each piece of evidence of the only Case was found."""
    yield _heading(display, safe_line(f"case {case['case_id']}: {case['query']}"))
    variants = sorted(case["variants"].items())
    rows = [[*(name.split("_")[0] for name, _ in variants), "evidence, at its place in each"]]
    for at, item in enumerate(case["evidence"]):
        places = [score["places"][at] for _, score in variants]
        name = item["unit_key"] or f"{item['resource_id']} (whole note)"
        rows.append([*("-" if place is None else str(place) for place in places), name])
    yield from table_lines(display, rows, elastic=(4,), right=range(4))


def _cases(display: Display, cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield _heading(display, f"cases ({len(cases)}), nDCG@10 of each ranking")
    short = [name.split("_")[0] for name in sorted(cases[0]["variants"])]
    rows = [["case", "evidence", *short, "query"]]
    for case in cases:
        scores = (score["ndcg_at_10"] for _, score in sorted(case["variants"].items()))
        pieces = str(len(case["evidence"]))
        figures = [f"{score:.3f}" for score in scores]
        rows.append([case["case_id"], pieces, *figures, case["query"]])
    yield from table_lines(display, rows, elastic=(6,), right=range(1, 6))


def _excluded(display: Display, excluded: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield _heading(display, f"left out ({len(excluded)})")
    rows = [["case", "status", "reason"]]
    rows += [[case["case_id"], case["status"], case["reason"]] for case in excluded]
    yield from table_lines(display, rows, elastic=(2,), right=())


def _in_order(report: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The four rankings; their names sort in the order of the chain."""
    return sorted(report["variants"].items())


def _heading(display: Display, text: str) -> str:
    from memcli.cli.safe_text import clipped

    if display.environment.stdout_is_terminal:
        text = clipped(text, display.environment.columns)
    return display.style(text, "heading")
