"""The story of a note as text: memory, head, then each unit stage by stage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memcli.cli.display import Display
from memcli.cli.safe_text import safe_line

if TYPE_CHECKING:
    from memcli.retrieval.explanation import Story, UnitStory

_HEAD = {
    "current": "holds it as it is on disk",
    "older": "holds an older version of it",
    "absent": "does not hold it",
    "removed": "still holds it, though the memory does not",
}


def story_lines(display: Display, story: Story) -> Iterator[str]:
    """The verdict first, then the facts behind it."""
    from memcli.retrieval.explanation import OUTCOMES

    yield display.style(safe_line(f"{story.path or story.asked}: {story.verdict}"), "strong")
    memory = story.memory
    if story.memory_reason:
        memory += f" ({story.memory_reason})"
    if story.memory_detail:
        memory += f": {story.memory_detail}"
    if story.other_file:
        memory += f" [{story.other_file}]"
    yield f"memory  {safe_line(memory)}"
    yield f"head    {story.revision_id} {_HEAD[story.head]}"
    for near in story.near:
        yield f"near    {safe_line(near)}"
    for unit in story.units:
        yield ""
        yield from _unit_lines(display, story, unit, OUTCOMES[unit.outcome])


def _unit_lines(display: Display, story: Story, unit: UnitStory, outcome: str) -> Iterator[str]:
    yield display.style(safe_line(unit.unit_key), "path")
    if unit.heading_path:
        yield f"  heading {safe_line(' > '.join(unit.heading_path))}"
    yield f"  line    {unit.locator.start_line}-{unit.locator.end_line}, {unit.token_count} tokens"
    if unit.exact_rank:
        yield f"  name    place {unit.exact_rank}: the query is (the start of) its name"
    if unit.bm25_place is None:
        yield "  bm25    no term of the query occurs in it"
    else:
        score = f", score {unit.bm25_score:.3f}" if unit.bm25_score is not None else ""
        yield f"  bm25    place {unit.bm25_place} of all{score}"
    yield f"  vector  place {unit.vector_place} of all, cosine {unit.vector_score:.4f}"
    if unit.rrf_rank:
        yield f"  fusion  place {unit.rrf_rank}"
    if unit.rerank_rank and unit.rerank_score is not None and unit.relevance is not None:
        yield (
            f"  rerank  place {unit.rerank_rank}, score {unit.rerank_score:.4f}, relevance "
            f"{unit.relevance:.2f} (floor {story.relevance_floor:g})"
        )
    yield f"  outcome {unit.outcome}: {outcome}"
