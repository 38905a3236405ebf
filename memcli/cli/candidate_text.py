"""The candidates of a Run as text: the table of all with every rank and score, the story of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memcli.cli.display import Display
from memcli.cli.fitted_table import aligned, column_widths, fitted
from memcli.cli.run_text import text_lines
from memcli.cli.safe_text import safe_line

if TYPE_CHECKING:
    from memcli.facade.run_views import RunView
    from memcli.history.traces import RecordedCandidate

REASONS = {
    "below_relevance": "below the relevance floor",
    "overlap": "overlaps a fragment that ranks higher",
    "resource_limit": "its resource already gave as many fragments as it may",
    "token_budget": "the token budget was spent",
    "fragment_limit": "the fragment limit was reached",
    "not_reranked": "fused, but not among the first to be reranked",
}
# Piped, the columns have the names of `--json` and its values in full.
PIPED = (
    "final_rank", "exact_rank", "exact_tier", "bm25_rank", "bm25_score", "vector_rank",
    "vector_score", "rrf_rank", "rrf_score", "rerank_rank", "rerank_score", "relevance",
    "exclusion_reason", "action", "unit_key",
)  # fmt: skip
WIDE = (
    "final", "exact", "tier", "bm25", "score", "vector", "cosine", "rrf", "score", "rerank",
    "score", "relevance", "reason", "unit",
)  # fmt: skip
NARROW = (
    ("final", "exact", "bm25", "vector", "rrf", "rerank", "unit"),
    ("score", "tier", "score", "cosine", "score", "score", "relevance, reason, line"),
)
WIDE_UNIT_CELLS = 30


def candidate_lines(display: Display, view: RunView) -> Iterator[str]:
    """Every candidate, returned ones first, then by rerank and RRF place.

    One line each where the terminal is wide enough, else two: ranks above
    scores. Tab-separated where stdout is no terminal.
    """
    candidates = sorted(view.detail.candidates, key=_shown_order)
    yield ""
    yield display.style(f"candidates ({len(candidates)})", "heading")
    if not candidates:
        yield "none were recorded"
    elif not display.environment.stdout_is_terminal:
        yield "\t".join(PIPED)
        yield from ("\t".join(_piped(each)) for each in candidates)
    else:
        yield from _table(display, candidates)


def _shown_order(candidate: RecordedCandidate) -> tuple[float, float, float]:
    never = float("inf")
    return (
        candidate.final_rank or never,
        candidate.rerank_rank or never,
        candidate.rrf_rank or never,
    )


def _piped(candidate: RecordedCandidate) -> Iterator[str]:
    for name in PIPED:
        value = getattr(candidate, name)
        yield "" if value is None else safe_line(str(value))


def _table(display: Display, candidates: Sequence[RecordedCandidate]) -> Iterator[str]:
    cells = display.environment.columns
    wide = [list(WIDE), *(_wide(each) for each in candidates)]
    widths = column_widths([row[:-1] for row in wide])
    if sum(widths) + 2 * len(widths) + WIDE_UNIT_CELLS <= cells:
        yield from _styled(display, fitted(wide, cells, {len(WIDE) - 1}), candidates, 1)
        return
    narrow = [list(row) for row in NARROW]
    for each in candidates:
        narrow += _narrow(each)
    yield from _styled(display, fitted(narrow, cells, {len(NARROW[0]) - 1}), candidates, 2)


def _styled(
    display: Display,
    rows: Sequence[Sequence[str]],
    candidates: Sequence[RecordedCandidate],
    lines_each: int,
) -> Iterator[str]:
    """Header lines, then ``lines_each`` lines for each candidate; returned ones stand out."""
    widths = column_widths(rows)
    right = {at for at in range(len(widths) - 1) if rows[0][at] != "reason"}
    lines = [aligned(row, widths, right) for row in rows]
    yield from (display.style(line, "strong") for line in lines[:lines_each])
    for at, candidate in enumerate(candidates, 1):
        for line in lines[at * lines_each : (at + 1) * lines_each]:
            yield display.style(line, "good") if candidate.final_rank else line


def _wide(candidate: RecordedCandidate) -> list[str]:
    return [
        _whole(candidate.final_rank),
        _whole(candidate.exact_rank),
        _whole(candidate.exact_tier),
        _whole(candidate.bm25_rank),
        _score(candidate.bm25_score, 3),
        _whole(candidate.vector_rank),
        _score(candidate.vector_score, 4),
        _whole(candidate.rrf_rank),
        _score(candidate.rrf_score, 5),
        _whole(candidate.rerank_rank),
        _score(candidate.rerank_score, 4),
        _score(candidate.relevance, 2),
        outcome(candidate),
        candidate.unit_key,
    ]


def _narrow(candidate: RecordedCandidate) -> list[list[str]]:
    reason = f"{outcome(candidate)}, {candidate.locator.start_line}"
    if candidate.relevance is not None:
        reason = f"{candidate.relevance:.2f}, {reason}"
    return [
        [
            _whole(candidate.final_rank),
            _whole(candidate.exact_rank),
            _whole(candidate.bm25_rank),
            _whole(candidate.vector_rank),
            _whole(candidate.rrf_rank),
            _whole(candidate.rerank_rank),
            candidate.unit_key,
        ],
        [
            _score(candidate.final_score, 2),
            _whole(candidate.exact_tier),
            _score(candidate.bm25_score, 2),
            _score(candidate.vector_score, 3),
            _score(candidate.rrf_score, 4),
            _score(candidate.rerank_score, 3),
            reason,
        ],
    ]


def outcome(candidate: RecordedCandidate) -> str:
    """The one reason, or that it was returned and how."""
    return candidate.exclusion_reason or f"returned ({candidate.action})"


def _whole(rank: int | None) -> str:
    return "-" if rank is None else str(rank)


def _score(score: float | None, digits: int) -> str:
    return "-" if score is None else f"{score:.{digits}f}"


def candidate_story(display: Display, view: RunView, candidate: RecordedCandidate) -> Iterator[str]:
    """One candidate stage by stage, what became of it, and its whole text."""
    yield display.style(safe_line(candidate.unit_key), "path")
    yield _line("query", safe_line(view.run.query))
    yield _line("run", view.run.run_id)
    locator = candidate.locator
    lines = f"lines {locator.start_line}-{locator.end_line}"
    yield _line("place", safe_line(f"{candidate.path}, {lines}, {candidate.token_count} tokens"))
    if candidate.heading_path:
        yield _line("heading", safe_line(" > ".join(candidate.heading_path)))
    yield _line(
        "resource", safe_line(f"{candidate.resource_id} ({candidate.scope}, {candidate.kind})")
    )
    yield _line("content", candidate.content_hash)
    yield ""
    if candidate.exact_rank is not None:
        yield _line("name", f"place {candidate.exact_rank}, tier {candidate.exact_tier}")
    yield _line("bm25", _stage(candidate.bm25_rank, candidate.bm25_score, 4))
    yield _line("vector", _stage(candidate.vector_rank, candidate.vector_score, 4))
    yield _line("fusion", _stage(candidate.rrf_rank, candidate.rrf_score, 5))
    reranked = _stage(candidate.rerank_rank, candidate.rerank_score, 4)
    if candidate.relevance is not None:
        floor = (view.run.limits or {}).get("relevance_floor")
        reranked += f", relevance {candidate.relevance:.4f}"
        reranked += f" (floor {floor:g})" if isinstance(floor, float) else ""
    if candidate.rerank_truncated:
        reranked += ", its end was cut to fit the model"
    yield _line("rerank", reranked)
    reason = candidate.exclusion_reason
    if reason is None:
        yield _line("outcome", f"returned at place {candidate.final_rank} ({candidate.action})")
    else:
        yield _line("outcome", f"{reason}: {REASONS.get(reason, 'not returned')}")
    yield ""
    yield from text_lines(view, candidate)


def _line(name: str, value: str) -> str:
    return f"{name:<9}{value}"


def _stage(rank: int | None, score: float | None, digits: int) -> str:
    if rank is None:
        return "not among those it gave"
    return f"place {rank}" + ("" if score is None else f", score {score:.{digits}f}")
