"""Full disks and I/O errors at the file changes of nine operations, and what they end in."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from soaking.fault_layer import FAULTS
from soaking.ground import Ended
from soaking.promises import Expected, Problem, broken_promises
from soaking.sweep import at_points, over_operations, struck
from soaking.tally import Fault, Plan, Tally
from soaking.trials import Stage

PROMISE = "a full disk or I/O errors at any write: a clear end, nothing half done, nothing lost"
# A disk that is full is no damage, and no fault of the program's.
_WRONG_CODES = ("internal_error", "index_damaged", "store_damaged")


def soak(plan: Plan) -> Tally:
    """Let each operation meet its share of ``plan.count`` faults, evenly spread over it."""
    return over_operations(plan, PROMISE, fail)


def fail(tally: Tally, plan: Plan, stage: Stage, it: Expected, count: int) -> None:
    """Let one operation meet ``count`` faults."""

    def once(at: int, turn: int) -> None:
        # The number of points may be a multiple of the number of modes.
        mode = FAULTS[(turn + turn // len(stage.calls)) % len(FAULTS)]
        fail_once(tally, stage, it, mode, at)

    at_points(tally, plan, stage, "disk", count, once)


def fail_once(tally: Tally, stage: Stage, it: Expected, mode: str, at: int) -> None:
    """One trial: ``mode`` strikes at the operation's file change ``at``."""
    name = stage.operation.name
    trial = f"{name}, {mode} at {stage.calls[at - 1]}"
    if (ended := struck(tally, stage, trial, mode, at)) is None:
        return
    problems = [*_unclear_end(ended), *broken_promises(stage, it, ended)]
    tally.add(name, ended.code or ("done" if not ended.status else "no code"))
    tally.faults += [Fault(kind, trial, seen) for kind, seen in problems]


def _unclear_end(ended: Ended) -> Iterator[Problem]:
    """By itself, and either well or with an error that says what to do."""
    if not ended.is_graceful:
        yield "crash", f"status {ended.status}: {ended.err.decode()[-500:]}"
        return
    if not ended.status:
        if not ended.out.strip():
            yield "silence", "status 0 and no document"
        return
    if not ended.code:
        yield "unclear error", ended.err.decode()[-500:]
        return
    [document] = [line for line in ended.err.splitlines() if line.startswith(b'{"error"')]
    error = orjson.loads(document)["error"]
    if not (error["message"] and error["hint"]):
        yield "no hint", document.decode()
    if error["code"] in _WRONG_CODES:
        yield "wrong cause", document.decode()
    if ended.out.strip():
        yield "two ends", f"{ended.out[:200]!r} and {document.decode()}"
