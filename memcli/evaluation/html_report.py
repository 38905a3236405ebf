"""A report as one HTML page: tables and plots, nothing loaded, no script, light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from memcli.evaluation import svg_plots
from memcli.evaluation.rankings import VARIANTS

TITLES = {
    "recall_at_20": "Recall@20",
    "ndcg_at_10": "nDCG@10",
    "mrr_at_10": "MRR@10",
    "resource_diversity_at_20": "Resource diversity@20",
    "scope_violation_at_20": "Scope violation@20",
    "stale_result_at_20": "Stale result@20",
}
QUALITY = ("recall_at_20", "ndcg_at_10", "mrr_at_10")
SHARES = ("resource_diversity_at_20", "scope_violation_at_20", "stale_result_at_20")
# What HTML forbids, and marks that reorder what a reader sees; a page shows a box instead.
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
# Okabe and Ito's palette, which colour-blind readers tell apart; lighter ones in the dark.
LIGHT = ("#0072b2", "#d55e00", "#009e73", "#a8438a")
DARK = ("#56b4e9", "#f0954a", "#2fd0a0", "#dd8fc6")
STYLE = f"""
:root{{color-scheme:light dark;--text:#1b1f24;--dim:#5d6670;--back:#fff;--line:#d8dde3;
--soft:#f2f4f7}}
{svg_plots.style_of_variants(LIGHT)}
@media(prefers-color-scheme:dark){{
:root{{--text:#e6e9ee;--dim:#9aa5b1;--back:#14171b;--line:#343b44;--soft:#1e2329}}
{svg_plots.style_of_variants(DARK)}}}
body{{margin:0 auto;padding:2rem 1.25rem 4rem;max-width:72rem;background:var(--back);
color:var(--text);font:16px/1.5 system-ui,sans-serif}}
h1{{font-size:1.6rem;margin:0}}h2{{font-size:1.15rem;margin:2.5rem 0 .75rem}}
h3{{font-size:.95rem;margin:0 0 .5rem}}p{{margin:.3rem 0}}.dim{{color:var(--dim)}}
.notes{{background:var(--soft);border-radius:8px;padding:.75rem 1rem;margin:1rem 0 0}}
.plots{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(20rem,100%),1fr));gap:1.5rem}}
svg{{display:block;width:100%;height:auto;font:13px system-ui,sans-serif}}
svg text{{fill:var(--text)}}svg .value,svg .small{{fill:var(--dim)}}svg .small{{font-size:10px}}
svg .end{{text-anchor:end}}svg .middle{{text-anchor:middle}}
.track{{fill:var(--line)}}.fill{{fill:var(--c)}}.grid{{stroke:var(--line)}}
.curve{{fill:none;stroke:var(--c);stroke-width:2.5}}
.key{{display:inline-block;width:.8em;height:.8em;border-radius:2px;background:var(--c);
margin:0 .35em 0 1em}}
.wide{{overflow-x:auto}}table{{border-collapse:collapse;font-size:.875rem;width:100%}}
th,td{{text-align:left;padding:.35rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}}
th{{color:var(--dim);font-weight:600}}.n{{text-align:right;font-variant-numeric:tabular-nums}}
.four{{grid-template-columns:repeat(auto-fit,minmax(min(13rem,100%),1fr))}}
td.query{{overflow-wrap:anywhere;min-width:13rem}}.id{{white-space:nowrap}}
td.keys{{overflow-wrap:anywhere;min-width:12rem}}code{{font-size:.85em}}
""".strip()


def html_report(report: Mapping[str, Any]) -> bytes:
    """UTF-8; the same report gives the same bytes. Every text of it is escaped."""
    cases = report["cases"]
    title = f"Retrieval report on {cases} {'case' if cases == 1 else 'cases'}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        # No script, no image, no font, no connection: whatever a query holds, nothing runs.
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
        *_head(report),
        *_quality(report),
        *_depth(report),
        *_spread(report),
        *_shares(report),
        *_times(report),
        *_per_case(report),
        *_excluded(report),
        "</body></html>",
    ]
    return ("\n".join(parts) + "\n").encode("utf-8")


def _head(report: Mapping[str, Any]) -> Iterator[str]:
    counts = report["counts"]
    yield (
        f'<p class="dim">{counts["selected"]} cases selected, {counts["scored"]} scored, '
        f"{counts['excluded']} left out; {counts['evidence']} pieces of evidence "
        f"({counts['unit_evidence']} fragments, {counts['resource_evidence']} whole notes)</p>"
    )
    yield '<div class="notes">'
    yield from (f"<p>{_safe(note)}</p>" for note in report["notes"])
    yield "</div>"


def _quality(report: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Quality</h2>"
    yield from _plots(
        (TITLES[name], svg_plots.bars(TITLES[name], _by_variant(report, name))) for name in QUALITY
    )
    empty = {name: count for name, count in report["counts"]["empty_rankings"].items() if count}
    for name, count in empty.items():
        yield f'<p class="dim">{name} is empty in {count}: each counts as 0.</p>'


def _depth(report: Mapping[str, Any]) -> Iterator[str]:
    places = {
        variant: [case["variants"][variant]["places"] for case in report["per_case"]]
        for variant in VARIANTS
    }
    yield "<h2>Evidence found by depth</h2>"
    keys = " ".join(
        f'<span class="id"><span class="key {name}"></span>{name}</span>' for name in VARIANTS
    )
    yield f'<p class="dim">Mean recall in the first places of each ranking. {keys}</p>'
    yield svg_plots.depth_curves("Mean recall by depth, 1 to 20", places)


def _spread(report: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Spread over cases</h2>"
    yield '<p class="dim">How many cases have which nDCG@10.</p>'
    yield from _plots(
        (
            (
                f'<span class="key {variant}" style="margin-left:0"></span>{variant}',
                f'<div class="{variant}">'
                + svg_plots.spread(
                    f"nDCG@10 under {variant}",
                    [case["variants"][variant]["ndcg_at_10"] for case in report["per_case"]],
                )
                + "</div>",
            )
            for variant in VARIANTS
        ),
        kind="plots four",
    )


def _shares(report: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>What the rankings hold</h2>"
    yield from _plots(
        (TITLES[name], svg_plots.bars(TITLES[name], _by_variant(report, name))) for name in SHARES
    )


def _times(report: Mapping[str, Any]) -> Iterator[str]:
    times = {
        variant: (means["warm_p50_us"], means["warm_p95_us"])
        for variant, means in sorted(report["variants"].items())
    }
    yield "<h2>Recorded times</h2>"
    yield (
        '<p class="dim">Median (bar) and 95th percentile (line) of the stage times recorded in '
        "these runs; no controlled benchmark.</p>"
    )
    yield svg_plots.time_bars("Median and 95th percentile", times)


def _per_case(report: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Cases</h2>"
    yield (
        '<p class="dim">nDCG@10, and the places where the evidence was found '
        "(&ndash; for nowhere).</p>"
    )
    head = ["case", "query", "evidence", *VARIANTS]
    rows = (
        [
            f"<code>{_safe(case['case_id'])}</code>",
            f"<bdi>{_safe(case['query'])}</bdi>",
            "<br>".join(f"<code>{_evidence(item)}</code>" for item in case["evidence"]),
            *(_score(case["variants"][variant]) for variant in VARIANTS),
        ]
        for case in report["per_case"]
    )
    yield from _table(head, rows, ("id", "query", "keys", "n", "n", "n", "n"))


def _excluded(report: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Left out</h2>"
    if not report["excluded"]:
        yield '<p class="dim">No case was left out.</p>'
        return
    rows = (
        [f"<code>{_safe(case['case_id'])}</code>", _safe(case["status"]), _safe(case["reason"])]
        for case in report["excluded"]
    )
    yield from _table(["case", "status", "reason"], rows, ("id", "id", "query"))


def _plots(plots: Iterable[tuple[str, str]], kind: str = "plots") -> Iterator[str]:
    yield f'<div class="{kind}">'
    yield from (f"<div><h3>{title}</h3>{drawing}</div>" for title, drawing in plots)
    yield "</div>"


def _table(
    head: Sequence[str], rows: Iterable[Sequence[str]], kinds: Sequence[str]
) -> Iterator[str]:
    """Cells are HTML already."""
    yield '<div class="wide"><table><thead><tr>'
    yield "".join(f"<th{_class(kind)}>{name}</th>" for name, kind in zip(head, kinds, strict=True))
    yield "</tr></thead><tbody>"
    for row in rows:
        cells = (f"<td{_class(kind)}>{cell}</td>" for cell, kind in zip(row, kinds, strict=True))
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _by_variant(report: Mapping[str, Any], metric: str) -> dict[str, float]:
    return {variant: report["variants"][variant][metric] for variant in VARIANTS}


def _score(score: Mapping[str, Any]) -> str:
    places = ", ".join("&ndash;" if at is None else str(at) for at in score["places"])
    return f'{score["ndcg_at_10"]:.3f}<br><span class="dim">{places}</span>'


def _evidence(item: Mapping[str, str | None]) -> str:
    return _safe(item["unit_key"] or f"{item['resource_id']} (whole note)")


def _safe(text: str) -> str:
    """Escaped for elements and attributes alike."""
    return escape(FORBIDDEN.sub("\ufffd", text))
