"""A Retrieval Run as text: the question, what was searched, where time went, what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from memcli.cli.display import Display
from memcli.cli.moments import age, local_time
from memcli.cli.safe_text import safe, safe_line
from memcli.errors import MemcliError

if TYPE_CHECKING:
    from memcli.facade.run_views import RunView
    from memcli.history.runs import RunRecord
    from memcli.history.traces import RecordedCandidate

STAGES = (
    "open", "load", "lexical", "embed", "vector", "fusion", "rerank", "assembly", "record",
)  # fmt: skip
LONGEST_BAR = 40
EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
LABEL = 11


def heading_lines(display: Display, view: RunView) -> Iterator[str]:
    """Everything of a Run but stage times, candidates and fragments."""
    run = view.run
    ago = age(run.created_at, display.environment.now())
    yield display.style(f"run {run.run_id}", "strong") + f" {_status(display, run)}"
    yield from _fact("query", run.query)
    yield from _fact("asked", f"{local_time(run.created_at)} ({ago} ago)")
    if view.other_project:
        yield from _fact("project", f"{view.other_project}: another project than this one")
    if run.pinned and run.case is None:
        yield from _fact("pinned", "by hand")
    if run.case:
        case = run.case
        yield from _fact("case", f"{case.case_id}, {case.status}, version {case.version}")
    if run.error:
        yield from _fact("error", f"{run.error.code} in stage {run.error.stage}")
        yield from _fact("", run.error.summary)
    for notice in run.notices:
        yield from _fact("note", notice.get("message", ""))
    yield ""
    yield display.style("searched", "heading")
    yield from _searched(run)


def _status(display: Display, run: RunRecord) -> str:
    style = {"succeeded": "good", "failed": "bad"}.get(run.status, "warn")
    return display.style(run.status, style)


def _fact(name: str, value: object) -> Iterator[str]:
    """A name and its value; further lines of the value stand below it."""
    first, *more = safe(str(value)).split("\n")
    yield f"{name:<{LABEL}}{first}".rstrip()
    yield from (" " * LABEL + line for line in more)


def _searched(run: RunRecord) -> Iterator[str]:
    if run.revision_id is None:
        yield "nothing: it ended before a revision was open"
    else:
        yield from _fact("revision", run.revision_id)
        yield from _fact("memory", run.effective_hash)
    if counts := run.counts:
        yield from _fact(
            "size",
            f"{counts.resources} resources, {counts.units} units; {counts.candidates} candidates, "
            f"{counts.reranked} reranked",
        )
        yield from _fact("returned", f"{counts.fragments} fragments, {counts.tokens} tokens")
    yield from _fact("chain", run.chain)
    for role, model in (run.models or {}).items():
        yield from _model(role, model)
    if run.recipe:
        yield from _recipe(run.recipe)
    if run.limits:
        yield from _values("limits", run.limits)
    if run.lexical_terms or run.lexical_skipped:
        yield from _fact("terms", safe_line(", ".join(run.lexical_terms)) or "none")
    if run.lexical_skipped:
        yield from _fact("too short", safe_line(", ".join(run.lexical_skipped)))
    if run.state_fingerprint:
        yield from _fact("state", f"given, fingerprint {run.state_fingerprint}")
    for key in run.removed:
        yield from _fact("removed", safe_line(key))


def _model(role: str, model: Mapping[str, Any]) -> Iterator[str]:
    over = f" over {model['over']}" if "over" in model else ""
    yield from _fact(role, f"{model.get('profile', '?')}{over}")
    yield from _fact("", model.get("sha256", "no digest"))


def _recipe(recipe: Mapping[str, Any]) -> Iterator[str]:
    """The recipe's plain values; the embedder has its own lines already."""
    plain = {name: value for name, value in recipe.items() if not isinstance(value, Mapping)}
    yield from _values("recipe", plain)


def _values(name: str, values: Mapping[str, Any]) -> Iterator[str]:
    """Names and values, as many in a line as stay readable at 80 columns."""
    line = ""
    for key, value in values.items():
        part = f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}"
        if line and len(line) + len(part) > 66:
            yield from _fact(name, line + ";")
            name, line = "", ""
        line += f"; {part}" if line else part
    yield from _fact(name, line)


def time_lines(display: Display, timings_us: Mapping[str, int] | None) -> Iterator[str]:
    """Stage times as bars of one scale, in the order of the chain."""
    if not timings_us:
        return
    stages = [stage for stage in STAGES if stage in timings_us]
    longest = max([timings_us[stage] for stage in stages], default=0)
    columns = display.environment.columns if display.environment.stdout_is_terminal else 80
    room = max(4, min(LONGEST_BAR, columns - LABEL - 14))
    yield ""
    yield display.style("time", "heading")
    for stage in stages:
        bar = display.style(_bar(room * timings_us[stage] / max(longest, 1)), "number")
        yield f"{stage:<{LABEL}}{timings_us[stage] / 1000:>9.1f} ms  {bar}".rstrip()
    if "total" in timings_us:
        yield f"{'total':<{LABEL}}{timings_us['total'] / 1000:>9.1f} ms"


def _bar(cells: float) -> str:
    """A bar of so many cells, to an eighth; the shortest time still shows."""
    whole, eighths = divmod(max(1, round(cells * 8)), 8)
    return "█" * whole + EIGHTHS[eighths]


def fragment_lines(display: Display, view: RunView) -> Iterator[str]:
    """What was returned, with its text from the frozen corpus."""
    returned = sorted(
        (each for each in view.detail.candidates if each.final_rank is not None),
        key=lambda each: each.final_rank or 0,
    )
    if view.run.status != "succeeded":
        return
    yield ""
    yield display.style(f"fragments ({len(returned)})", "heading")
    if not returned:
        yield "none: no candidate was relevant enough"
    for candidate in returned:
        yield ""
        yield _fragment_heading(display, candidate)
        yield from text_lines(view, candidate)


def _fragment_heading(display: Display, candidate: RecordedCandidate) -> str:
    parts = [
        display.style(f"{candidate.final_rank}.", "strong"),
        display.style(safe_line(f"{candidate.path}:{candidate.locator.start_line}"), "path"),
    ]
    if candidate.heading_path:
        parts.append(display.style(safe_line(" > ".join(candidate.heading_path)), "strong"))
    score = "-" if candidate.final_score is None else f"{candidate.final_score:.2f}"
    facts = f"(score {score}, {candidate.token_count} tokens, {candidate.action})"
    return " ".join([*parts, display.style(facts, "dim")])


def text_lines(view: RunView, candidate: RecordedCandidate) -> Iterator[str]:
    """The candidate's text, indented; its excerpt where the stored body is damaged."""
    try:
        text = view.text_of(candidate)
    except MemcliError as error:
        yield f"   [{safe_line(error.message)}; its excerpt:]"
        text = candidate.excerpt
    yield from (f"   {line}".rstrip() for line in safe(text).split("\n"))
