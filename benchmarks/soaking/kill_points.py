"""SIGKILL at chosen file changes of nine operations, and whether every promise holds then."""

from __future__ import annotations

from soaking.fault_layer import KILLS, Call
from soaking.promises import Expected, broken_promises
from soaking.sweep import at_points, over_operations, struck
from soaking.tally import Fault, Plan, Tally
from soaking.trials import Stage

PROMISE = "killed at any moment: nothing half done, nothing lost, nothing left behind"
KILLED = -9
_TEARABLE = ("write", "pwrite", "writev", "pwritev", "sendfile", "copy_file_range")


def soak(plan: Plan) -> Tally:
    """Kill each operation at its share of ``plan.count`` points, evenly spread over it."""
    return over_operations(plan, PROMISE, kill)


def kill(tally: Tally, plan: Plan, stage: Stage, it: Expected, count: int) -> None:
    """Kill one operation ``count`` times."""

    def once(at: int, turn: int) -> None:
        kill_once(tally, stage, it, _mode(stage.calls[at - 1], turn), at)

    at_points(tally, plan, stage, "kills", count, once)


def _mode(call: Call, turn: int) -> str:
    """The kinds of death in turn; only what writes bytes can be torn."""
    modes = KILLS if call.name in _TEARABLE else KILLS[:2]
    return modes[turn % len(modes)]


def kill_once(tally: Tally, stage: Stage, it: Expected, mode: str, at: int) -> None:
    """One trial: the operation dies at its file change ``at``."""
    name = stage.operation.name
    trial = f"{name}, {mode} {stage.calls[at - 1]}"
    if (ended := struck(tally, stage, trial, mode, at)) is None:
        return
    if ended.status not in (KILLED, 0):
        tally.add(name, fault=Fault("not killed", trial, ended.err.decode()))
        return
    problems = list(broken_promises(stage, it, ended))
    tally.add(name, "killed" if ended.status else "ended before its death")
    tally.faults += [Fault(kind, trial, seen) for kind, seen in problems]
