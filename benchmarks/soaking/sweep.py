"""Takes each operation to its share of the points at which something may strike it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from soaking.fault_layer import compiled
from soaking.ground import Ended
from soaking.promises import Expected, expected
from soaking.tally import Fault, Plan, Tally
from soaking.trials import Stage, make_stages, shares, spread
from soaking.warm_program import WarmProgram

Strike = Callable[[Tally, Plan, Stage, Expected, int], None]


def over_operations(plan: Plan, promise: str, strike: Strike) -> Tally:
    """Let ``strike`` try every operation its share of ``plan.count`` times."""
    tally = Tally(promise, plan.count)
    with WarmProgram(keep_models=True) as program:
        stages = make_stages(plan.folder, compiled(plan.folder), program)
        for stage, share in zip(stages, shares(plan.count), strict=True):
            strike(tally, plan, stage, expected(stage), share)
    return tally


def at_points(
    tally: Tally, plan: Plan, stage: Stage, part: str, count: int, once: Callable[[int, int], None]
) -> None:
    """Call ``once`` with ``count`` points (from 1), evenly spread, and a turn that grows by one.

    The first turn is random, so that other seeds try other ways at the same points.
    """
    name = stage.operation.name
    generator = plan.generator(part, name)
    points = spread(len(stage.calls), count, generator)
    first = generator.randrange(1000)
    for turn, at in enumerate(points, first):
        if plan.is_over:
            break
        once(at, turn)
    tried = len(set(points[: tally.tried[name]]))
    tally.figures[f"points of {name}"] = f"{tried} of {len(stage.calls)}"


def struck(tally: Tally, stage: Stage, trial: str, mode: str, at: int) -> Ended | None:
    """How the operation ended when ``mode`` struck at its change ``at``; a hang is a fault."""
    stage.set()
    try:
        return stage.go_wrong(mode, at)
    except subprocess.TimeoutExpired as error:
        tally.add(stage.operation.name, fault=Fault("hang", trial, str(error)))
        return None
