"""A report as CSV: one row for each mean, each Case under each variant, each Case left out."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from memcli.evaluation.scoring import METRICS

COLUMNS = (
    "kind", "variant", "cases", "case_id", "run_id", "project_id", "version", "query", "evidence",
    "places", "candidates", *METRICS, "warm_us", "warm_p50_us", "warm_p95_us", "status", "reason",
)  # fmt: skip
# What a spreadsheet takes for the beginning of a formula, and would run; East Asian ones take
# the full-width signs too, and all skip white space before them.
FORMULA_SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")


def csv_report(report: Mapping[str, Any]) -> bytes:
    """UTF-8 with a header; the same report gives the same bytes.

    ``kind`` is ``mean``, ``case`` or ``excluded``; what a kind does not have is
    empty. ``places`` says where each piece of evidence was found, ``none`` for
    nowhere. A query that a spreadsheet would run gets an apostrophe before it.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for row in _rows(report):
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return text.getvalue().encode("utf-8", "backslashreplace")


def _rows(report: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for variant, means in report["variants"].items():
        yield {"kind": "mean", "variant": variant, "cases": report["cases"], **means}
    for case in report["per_case"]:
        for variant, score in case["variants"].items():
            yield {
                "kind": "case",
                "variant": variant,
                **{name: case[name] for name in ("case_id", "run_id", "project_id", "version")},
                "query": case["query"],
                "evidence": len(case["evidence"]),
                **score,
                "places": " ".join("none" if at is None else str(at) for at in score["places"]),
            }
    for case in report["excluded"]:
        yield {"kind": "excluded", **case}


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    if not isinstance(value, str):
        return value
    # A bare carriage return is not quoted by the writer, and ends a row for a reader.
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text
