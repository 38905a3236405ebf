"""An Evaluation Case as text: the question, its evidence, what can be evidence, what was frozen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memcli.cli.display import Display
from memcli.cli.fitted_table import aligned, column_widths, fitted
from memcli.cli.moments import age, local_time
from memcli.cli.safe_text import safe, safe_line

if TYPE_CHECKING:
    from memcli.evaluation.cases import Case, ConfirmedEvidence
    from memcli.facade.case_views import CaseView, FrozenSearchView
    from memcli.history.traces import RecordedCandidate

LABEL = 11
STYLES = {"ready": "good", "draft": "warn", "needs_evidence": "warn"}
PIPED = ("rank", "suggested", "evidence", "unit_key", "path", "start_line", "heading_path")
SHOWN = ("rank", "", "place", "heading", "found by")
# Narrower, what found a candidate stands on a line of its own.
WIDE = 120


def case_lines(display: Display, view: CaseView) -> Iterator[str]:
    """Everything of a Case but the frozen manifest."""
    case, detail = view.case, view.detail
    yield display.style(f"case {case.case_id}", "strong") + " " + status_text(display, case)
    first, *more = safe(case.query).split("\n")
    yield f"{'query':<{LABEL}}{first}"
    yield from (" " * LABEL + line for line in more)
    now = display.environment.now()
    yield f"{'run':<{LABEL}}{case.run_id}, asked {local_time(detail.run.created_at)}"
    yield f"{'changed':<{LABEL}}{local_time(case.updated_at)} ({age(case.updated_at, now)} ago)"
    if view.other_project:
        yield f"{'project':<{LABEL}}{safe_line(view.other_project)}: another project than this one"
    yield f"{'corpus':<{LABEL}}{len(detail.resources)} resources, {case.corpus_hash[:12]}"
    yield ""
    yield display.style(f"evidence ({len(detail.evidence)})", "heading")
    if not detail.evidence:
        none = {
            "draft": "none yet: nobody has resolved this case",
            "needs_evidence": "none matched",
        }
        yield none.get(case.status, "none")
    for evidence in detail.evidence:
        yield from _evidence(display, evidence)
    yield from _candidates(display, view)


def status_text(display: Display, case: Case) -> str:
    """``ready, version 2`` with the status in its colour."""
    return display.style(case.status, STYLES.get(case.status, "dim")) + f", version {case.version}"


def _evidence(display: Display, evidence: ConfirmedEvidence) -> Iterator[str]:
    yield display.style(safe_line(evidence.item.spelling), "path")
    where = " > ".join((evidence.path, *evidence.heading_path))
    yield "   " + display.style(safe_line(where), "strong")
    excerpt = evidence.excerpt
    if excerpt is None:
        excerpt = "[its text cannot be read any more]"
    yield from (f"   {line}".rstrip() for line in safe(excerpt).rstrip("\n").split("\n"))


def _candidates(display: Display, view: CaseView) -> Iterator[str]:
    from memcli.evaluation.rankings import labelling_order, suggestions

    candidates = labelling_order(view.detail.candidates)
    suggested = {each.unit_key for each in suggestions(candidates)}
    chosen = {each.item.unit_key for each in view.detail.evidence}
    yield ""
    yield display.style(f"candidates ({len(candidates)})", "heading")
    if not candidates:
        yield "none: no stage found anything"
    elif not display.environment.stdout_is_terminal:
        yield "\t".join(PIPED)
        for rank, each in enumerate(candidates, 1):
            is_evidence = str(int(each.unit_key in chosen))
            cells = [str(rank), str(int(each.unit_key in suggested)), is_evidence]
            cells += [each.unit_key, each.path, str(each.locator.start_line)]
            yield "\t".join(safe_line(cell) for cell in [*cells, " > ".join(each.heading_path)])
    else:
        yield from _table(display, candidates, suggested, chosen)


def _table(
    display: Display,
    candidates: Sequence[RecordedCandidate],
    suggested: set[str],
    chosen: set[str | None],
) -> Iterator[str]:
    beside = display.environment.columns >= WIDE
    rows: list[list[str]] = [list(SHOWN)]
    for rank, each in enumerate(candidates, 1):
        mark = "x" if each.unit_key in chosen else "*" if each.unit_key in suggested else ""
        place = f"{each.path}:{each.locator.start_line}"
        rows.append([str(rank), mark, place, " > ".join(each.heading_path), found_by(each)])
    shown = fitted(
        [row if beside else row[:-1] for row in rows], display.environment.columns, {2, 3}
    )
    widths = column_widths(shown)
    for at, row in enumerate(shown):
        line = aligned(row, widths, {0})
        style = "strong" if at == 0 else {"x": "good", "*": "number"}.get(rows[at][1])
        yield display.style(line, style) if style else line
        if not beside:
            yield display.style(" " * (sum(widths[:2]) + 4) + rows[at][-1], "dim")
    yield display.style("x evidence   * suggested: returned, or the best of a stage", "dim")


def found_by(candidate: RecordedCandidate) -> str:
    """The stages that found it, with the place each gave it: ``answer 1, bm25 2, vector 5``."""
    places = {
        "answer": candidate.final_rank,
        "name": candidate.exact_rank,
        "bm25": candidate.bm25_rank,
        "vector": candidate.vector_rank,
        "rerank": candidate.rerank_rank,
    }
    return " ".join(f"{name} {place}" for name, place in places.items() if place is not None)


def search_lines(display: Display, found: FrozenSearchView) -> Iterator[str]:
    """Hits of a search in the frozen corpus, each with the spelling that makes it evidence."""
    search = found.search
    for path in search.unreadable:
        yield f"[the frozen body of {safe_line(path)} cannot be read any more]"
    for hit in search.hits:
        line = "" if hit.body_line is None else f", body line {hit.body_line}"
        spelling = safe_line(f"resource:{hit.resource.resource_id}")
        yield f"{display.style(spelling, 'path')} ({hit.words} of the words{line})"
        yield f"   {display.style(safe_line(hit.resource.title), 'strong')}"
        yield f"   {safe_line(hit.excerpt)}".rstrip()
        yield from (f"   {safe_line(f'unit:{key}')}" for key in hit.unit_keys)
    if search.total > len(search.hits):
        yield f"and {search.total - len(search.hits)} more"
