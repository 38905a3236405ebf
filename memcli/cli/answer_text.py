"""An answer as text for a person: fragments, the budget line, and the table of candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.cli.display import Display
from memcli.cli.links import linked
from memcli.cli.safe_text import safe, safe_line

if TYPE_CHECKING:
    from memcli.facade import Answer
    from memcli.retrieval.activation import Activation, Candidate


def fragment_lines(
    display: Display, answer: Answer, files: Mapping[str, Path] | None = None
) -> Iterator[str]:
    """Each fragment with path:line, heading path, score and tokens, then its text.

    ``files``, by resource id, are linked to where the terminal knows links.
    """
    activation = answer.activation
    for fragment in activation.fragments:
        yield _heading(display, fragment, (files or {}).get(fragment.resource_id))
        if fragment.action != "reuse":
            yield from (f"   {line}".rstrip() for line in safe(fragment.text).split("\n"))
        yield ""
    for key in activation.removed:
        yield display.style(f"remove {safe_line(key)}", "warn")
    yield budget_line(display, activation)


def _heading(display: Display, fragment: Candidate, file: Path | None) -> str:
    place = f"{fragment.path}:{fragment.locator.start_line}"
    parts = [
        display.style(f"{fragment.final_rank}.", "strong"),
        linked(display, display.style(safe_line(place), "path"), file),
    ]
    if fragment.heading_path:
        parts.append(display.style(safe_line(" > ".join(fragment.heading_path)), "strong"))
    score = f"{fragment.final_score:.2f}" if fragment.final_score is not None else "-"
    facts = [f"score {score}", f"{fragment.token_count} tokens"]
    if fragment.action and fragment.action != "add":
        facts.append(fragment.action)
    parts.append(display.style(f"({', '.join(facts)})", "dim"))
    return " ".join(parts)


def budget_line(display: Display, activation: Activation) -> str:
    """What the answer cost of what it may cost; an empty one says what that means."""
    counts, limits = activation.counts, activation.limits
    if not activation.fragments:
        return display.style(
            f"No fragments: none of {counts.candidates} candidates in {counts.units} units "
            "is relevant enough.",
            "warn",
        )
    return display.style(
        f"{counts.fragments} of {limits.fragments} fragments, "
        f"{counts.tokens} of {limits.tokens} tokens, "
        f"from {counts.units} units in {counts.resources} resources",
        "dim",
    )


def explained_lines(display: Display, activation: Activation) -> Iterator[str]:
    """Every candidate in rank order: returned first, then by rerank and RRF place."""
    yield ""
    terms = ", ".join(activation.lexical_terms) or "none"
    skipped = ", ".join(activation.lexical_skipped)
    yield safe_line(
        f"lexical terms: {terms}" + (f"; skipped (too short): {skipped}" if skipped else "")
    )
    yield f"relevance floor: {activation.relevance_floor:g}"
    yield display.style(
        f"{'final':>5} {'exact':>5} {'bm25':>4} {'vec':>4} {'rrf':>4} {'rer':>4} "
        f"{'score':>7} {'relev':>5}  {'reason':<16} unit",
        "strong",
    )
    for each in sorted(activation.candidates, key=_explained_order):
        reason = each.exclusion_reason or f"returned ({each.action})"
        row = (
            f"{_rank(each.final_rank):>5} {_rank(each.exact_rank):>5} {_rank(each.bm25_rank):>4} "
            f"{_rank(each.vector_rank):>4} {each.rrf_rank:>4} {_rank(each.rerank_rank):>4} "
            f"{_score(each.rerank_score, 4):>7} {_score(each.relevance, 2):>5}  {reason:<16} "
            f"{safe_line(each.unit_key)}"
        )
        yield display.style(row, "good") if each.final_rank else row


def _explained_order(candidate: Candidate) -> tuple[float, float, int]:
    return (
        candidate.final_rank or float("inf"),
        candidate.rerank_rank or float("inf"),
        candidate.rrf_rank,
    )


def _rank(rank: int | None) -> str:
    return "-" if rank is None else str(rank)


def _score(score: float | None, digits: int) -> str:
    return "-" if score is None else f"{score:.{digits}f}"
