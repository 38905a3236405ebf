"""SIGKILL at chosen file changes of nine operations, and whether every promise holds then."""

from __future__ import annotations

import subprocess

from soaking.fault_layer import KILLS, Call, compiled
from soaking.promises import Expected, broken_promises, expected
from soaking.tally import Fault, Plan, Tally
from soaking.trials import Stage, make_stages, shares, spread
from soaking.warm_program import WarmProgram

PROMISE = "killed at any moment: nothing half done, nothing lost, nothing left behind"
KILLED = -9
_TEARABLE = ("write", "pwrite", "writev", "pwritev", "sendfile", "copy_file_range")


def soak(plan: Plan) -> Tally:
    """Kill each operation at its share of ``plan.count`` points, evenly spread over it."""
    tally = Tally(PROMISE, plan.count)
    with WarmProgram(keep_models=True) as program:
        stages = make_stages(plan.folder, compiled(plan.folder), program)
        for stage, share in zip(stages, shares(plan.count), strict=True):
            kill(tally, plan, stage, expected(stage), share)
    return tally


def kill(tally: Tally, plan: Plan, stage: Stage, it: Expected, count: int) -> None:
    """Kill one operation ``count`` times."""
    name = stage.operation.name
    generator = plan.generator("kills", name)
    points = spread(len(stage.calls), count, generator)
    first = generator.randrange(len(KILLS))
    for turn, at in enumerate(points):
        if plan.is_over:
            break
        kill_once(tally, stage, it, _mode(stage.calls[at - 1], first + turn), at)
    tried = len(set(points[: tally.tried[name]]))
    tally.figures[f"points of {name}"] = f"{tried} of {len(stage.calls)}"


def _mode(call: Call, turn: int) -> str:
    """The kinds of death in turn; only what writes bytes can be torn."""
    modes = KILLS if call.name in _TEARABLE else KILLS[:2]
    return modes[turn % len(modes)]


def kill_once(tally: Tally, stage: Stage, it: Expected, mode: str, at: int) -> None:
    """One trial: the operation dies at its file change ``at``."""
    stage.set()
    name = stage.operation.name
    trial = f"{name}, {mode} {stage.calls[at - 1]}"
    try:
        ended = stage.go_wrong(mode, at)
    except subprocess.TimeoutExpired as error:
        tally.add(name, fault=Fault("hang", trial, str(error)))
        return
    if ended.status not in (KILLED, 0):
        tally.add(name, fault=Fault("not killed", trial, ended.err.decode()))
        return
    problems = list(broken_promises(stage, it, ended))
    tally.add(name, "killed" if ended.status else "ended before its death")
    tally.faults += [Fault(kind, trial, seen) for kind, seen in problems]
