"""Two Runs side by side: what they have in common, and each unit that changed its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from memcli.cli.display import Display
from memcli.cli.fitted_table import show_table
from memcli.cli.moments import local_time
from memcli.cli.safe_text import safe_line

if TYPE_CHECKING:
    from memcli.facade.run_views import RunComparison
    from memcli.history.diff import CandidateDifference, Difference, RunDiff
    from memcli.history.runs import RunRecord

STAGES = ("final", "exact", "bm25", "vector", "rrf", "rerank")
PRESENCE = {"added": "only in b", "vanished": "only in a"}
MOST_RESOURCES = 10
LABEL = 9


def print_comparison(display: Display, comparison: RunComparison) -> None:
    """The two Runs, what differs around them, then the table of changed units."""
    diff = comparison.diff
    display.lines(_summary(display, diff))
    if not diff.candidates:
        display.lines(["", "every candidate has the same places and the same reason"])
        return
    every = {each.unit_key for side in (diff.a, diff.b) for each in side.candidates}
    title = f"candidates ({len(diff.candidates)} of {len(every)} differ)"
    display.lines(["", display.style(title, "heading")])
    shown = [stage for stage in STAGES if any(_changed(each, stage) for each in diff.candidates)]
    show_table(
        display,
        [*shown, "what", "unit"],
        [
            [
                *(_change(_changed(each, stage)) for stage in shown),
                _what(diff, each),
                each.unit_key,
            ]
            for each in sorted(diff.candidates, key=_weight)
        ],
        elastic=("what", "unit"),
    )


def _summary(display: Display, diff: RunDiff) -> Iterator[str]:
    for name, run in (("a", diff.a.run), ("b", diff.b.run)):
        yield display.style(f"{name}  run {run.run_id}", "strong") + f" {_ended(run)}"
        yield f"   {safe_line(run.query)}"
    yield ""
    yield _line("query", "the same" if diff.same_query else "differs: ranks say little then")
    yield from _differences("index", diff.index)
    yield from _memory(diff)
    yield from _differences("models", diff.models)
    yield from _differences("limits", diff.limits)
    yield from _returned(diff)


def _returned(diff: RunDiff) -> Iterator[str]:
    """The fragments of one Run only; a change of order is in the table."""
    before, after = (
        {each.unit_key for each in side.candidates if each.final_rank is not None}
        for side in (diff.a, diff.b)
    )
    if before == after:
        yield _line("returned", f"the same {len(after)} fragments")
        return
    yield _line("returned", f"{len(after - before)} only in b, {len(before - after)} only in a")
    for sign, keys in (("+", after - before), ("-", before - after)):
        yield from (_line("", f"{sign} {safe_line(key)}") for key in sorted(keys))


def _ended(run: RunRecord) -> str:
    code = f" ({run.error.code})" if run.error else ""
    project = run.project_name or run.project_id
    return safe_line(f"{run.status}{code}, {local_time(run.created_at)}, project {project}")


def _line(name: str, value: str) -> str:
    return f"{name:<{LABEL}}{value}"


def _differences(name: str, differences: Sequence[Difference]) -> Iterator[str]:
    if not differences:
        yield _line(name, "the same")
    for at, each in enumerate(differences):
        # Both values below each other: digests of 64 digits do not fit side by side.
        yield _line("" if at else name, safe_line(each.name))
        yield _line("", f"  a {_value(each.a)}")
        yield _line("", f"  b {_value(each.b)}")


def _value(value: Any) -> str:
    return "-" if value is None else safe_line(str(value))


def _memory(diff: RunDiff) -> Iterator[str]:
    memory = diff.memory
    if not memory.known:
        yield _line("memory", "not known: one of them stored no corpus")
        return
    changes = [
        (sign, resource_id)
        for sign, ids in (("+", memory.added), ("-", memory.removed), ("~", memory.changed))
        for resource_id in ids
    ]
    if not changes:
        yield _line("memory", "the same")
        return
    counts = f"{len(memory.added)} added, {len(memory.removed)} removed"
    yield _line("memory", f"{counts}, {len(memory.changed)} changed")
    for sign, resource_id in changes[:MOST_RESOURCES]:
        yield _line("", f"{sign} {safe_line(resource_id)}")
    if len(changes) > MOST_RESOURCES:
        yield _line("", f"... and {len(changes) - MOST_RESOURCES} more (--json lists all)")


def _weight(candidate: CandidateDifference) -> int:
    """What changed the answer comes first, then what the reranker placed otherwise."""
    changed = {each.name for each in candidate.ranks}
    return 0 if "final" in changed else 1 if "rerank" in changed else 2


def _changed(candidate: CandidateDifference, stage: str) -> Difference | None:
    return next((each for each in candidate.ranks if each.name == stage), None)


def _change(difference: Difference | None) -> str:
    if difference is None:
        return ""
    before, after = ("-" if each is None else each for each in (difference.a, difference.b))
    return f"{before} → {after}"


def _what(diff: RunDiff, candidate: CandidateDifference) -> str:
    """In words: which Run recalled it, whether its text is another, how its reason changed."""
    parts = []
    if candidate.presence in PRESENCE:
        parts.append(PRESENCE[candidate.presence])
    if candidate.content_changed:
        parts.append("text changed")
    reason = candidate.exclusion_reason
    if reason is not None and candidate.presence == "both":
        parts.append(f"{reason.a or 'returned'} → {reason.b or 'returned'}")
    elif candidate.presence in PRESENCE:
        side = diff.b if candidate.presence == "added" else diff.a
        one = next(each for each in side.candidates if each.unit_key == candidate.unit_key)
        parts.append(one.exclusion_reason or "returned")
    return ", ".join(parts)
