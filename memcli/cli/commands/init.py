"""Show what memory this project has, then write a commented memcli.toml for it.

\b
Examples:
  memcli init
  memcli init --dry-run
  memcli init --yes -C ~/code/harbor

memcli works without the file; it keeps the project's id and holds its settings.
One that is there already is only replaced when you say so; its id stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memcli.cli.options import Invocation
from memcli.errors import InvalidInput

if TYPE_CHECKING:
    from memcli.facade.initializing import InitPlan


def command(
    invocation: Invocation,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show the file that would be written.")
    ] = False,
) -> None:
    from memcli.cli.safe_text import safe, safe_line
    from memcli.facade.initializing import plan_init

    display = invocation.display
    plan = plan_init(
        invocation.environment.working_directory,
        invocation.options.project,
        invocation.options.yes,
        invocation.surroundings(),
    )
    if not display.json:
        _show(invocation, plan)
    written = not dry_run and not plan.is_as_written
    if written:
        if plan.exists and not _may_replace(invocation, plan):
            display.message("nothing was changed")
            raise typer.Exit(1)
        plan.write(replace=plan.exists)
    if display.json:
        display.document(plan.document(written=written))
    elif dry_run:
        display.raw(safe(f"\n{plan.text}"))
    else:
        done = "wrote" if written else "already as it would be written:"
        display.lines([safe_line(f"{done} {plan.file} (id {plan.project_id})")])
        display.hint("next: memcli index build")


def _show(invocation: Invocation, plan: InitPlan) -> None:
    from memcli.cli.safe_text import display_width, safe_line

    display = invocation.display
    display.lines(
        [
            f"project {safe_line(str(plan.project.root))} (found by {plan.project.found_by})",
            display.style("found", "heading"),
        ]
    )
    if not plan.found:
        display.lines(["  no notes yet: .md, .markdown, .mdx and .mdc files are indexed"])
    names = [safe_line(each.place) for each in plan.found]
    width = max(map(display_width, names), default=0)
    for name, each in zip(names, plan.found, strict=True):
        pad = " " * (width - display_width(name))
        display.lines([f"  {name}{pad}  {each.count:>5}  {each.what}".rstrip()])
    if len(plan.found) > 1:
        display.lines([f"  {'in all':<{width}}  {sum(each.count for each in plan.found):>5}"])
    for place, reason in plan.not_indexed:
        display.message(f"not indexed: {place}: {reason}")


def _may_replace(invocation: Invocation, plan: InitPlan) -> bool:
    from memcli.cli.display import confirm

    display, options = invocation.display, invocation.options
    state = f" (it cannot be used: {plan.problem})" if plan.problem else ""
    if options.yes:
        return True
    question = f"{plan.file} is there already{state}. Replace it, keeping only the id?"
    answer = confirm(display, question, no_input=options.no_input)
    if answer is None:
        raise InvalidInput(
            "usage",
            f"{plan.file} is there already{state}, and there is no terminal to ask at",
            "Add --yes to replace it, or --dry-run to see what would be written.",
        )
    return answer
