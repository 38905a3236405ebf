"""Tell the whole story of one note for one query.

\b
Examples:
  memcli why "how do we roll back" docs/runbooks/rollback.md
  memcli why 部署 docs/部署手册.md --json

It says whether the note is in Effective Memory, whether the head holds it, how
each stage placed its units, and what kept them out. Nothing is recorded.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli.model_options import RerankerOption, model_settings
from memcli.cli.options import Invocation


def command(
    invocation: Invocation,
    query: Annotated[str, typer.Argument(help="The question.")],
    path: Annotated[str, typer.Argument(help="The note: its path, file or resource id.")],
    reranker: RerankerOption = None,
) -> None:
    from memcli.cli.story_text import story_lines

    with invocation.open(**model_settings(reranker=reranker)) as memcli:
        story = memcli.explain_note(query, path)
    if invocation.display.json:
        invocation.display.document(story.document())
        return
    invocation.display.lines(story_lines(invocation.display, story))
