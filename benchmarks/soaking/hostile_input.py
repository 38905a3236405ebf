"""Hostile input for the seven readers: no crash, no hang, no swelling, no wrong result.

Cases run in worker processes of limited memory, each case with a limit of
processor time, so that whatever a reader does, it is counted and told. A
worker that dies or never answers is replaced, and the case it was at is the
fault. The shapes run before the cases, each at half and at its whole size.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

from soaking.fuzz_inputs import GENERATORS
from soaking.fuzz_shapes import Shape, shapes
from soaking.fuzz_targets import Broken, Target, targets
from soaking.tally import Fault, Plan, Tally

MEMORY = 4 << 30
CASE_SECONDS = 10.0
# A process that waits, rather than computes, for so long hangs as well.
SILENT_SECONDS = 180.0
CASES_A_WORKER = 5_000
# Doubling an input that takes long enough to be measured may not take this much longer.
STEEPEST = 3.3
MEASURABLE_SECONDS = 2.0
LEAST_SECONDS = 0.5
PROMISE = "hostile input ends in an answer or a clear refusal, in bounded time and memory"


@dataclass(frozen=True, slots=True)
class Trial:
    """One input for one reader: seed and number make it again, or the shape and its size."""

    target: str
    name: str
    make: Callable[[], bytes]
    seconds: float = CASE_SECONDS


@dataclass(frozen=True, slots=True)
class Ended:
    """How a trial went: its outcome, or the fault's kind and what was seen."""

    name: str
    target: str
    outcome: str
    kind: str
    seen: str
    seconds: float
    peak_bytes: int


def soak(plan: Plan, scale: float = 1.0) -> Tally:
    """All shapes once, then ``plan.count`` cases shared out evenly among the readers.

    ``scale`` is the part of their sizes at which the shapes are tried.
    """
    _import_readers(plan.folder)
    tally = Tally(PROMISE, plan.count)
    slowest: dict[str, tuple[float, str]] = {}
    peaks: dict[str, int] = {}

    def note(ended: Ended, group: str) -> None:
        fault = Fault(ended.kind, ended.name, ended.seen) if ended.kind else None
        tally.add(group, f"{ended.target}: {ended.outcome}" if ended.outcome else "", fault)
        slowest[group] = max(slowest.get(group, (0.0, "")), (ended.seconds, ended.name))
        peaks[group] = max(peaks.get(group, 0), ended.peak_bytes)

    steepest = _soak_shapes(plan, scale, tally, note)
    for target in GENERATORS:
        for ended in run_trials(_cases(plan, target), plan.folder):
            note(ended, target)
            if plan.is_over:
                break
    for group, (seconds, name) in slowest.items():
        peak = peaks[group] / (1 << 20)
        tally.figures[group] = f"slowest {seconds:.2f} s ({name}), peak memory {peak:,.0f} MB"
    tally.figures["steepest"] = ", ".join(
        f"{ratio:.1f} times for twice {name}" for ratio, name in sorted(steepest, reverse=True)[:5]
    )
    return tally


def _cases(plan: Plan, target: str) -> Iterator[Trial]:
    for number in range(plan.count // len(GENERATORS)):
        yield case(plan, target, number)


def case(plan: Plan, target: str, number: int) -> Trial:
    """The trial of that number; the same for the same seed, whatever was tried before."""

    def make() -> bytes:
        return GENERATORS[target](plan.generator(target, number))

    return Trial(target, f"{target} {number}, seed {plan.seed}", make)


def at_size(shape: Shape, part: float) -> Trial:
    """The shape at a part of its largest size."""
    size = int(shape.most * part)
    name = f"{shape.target}, {shape.name}, {size:,} bytes"
    return Trial(shape.target, name, lambda: shape.make(size), shape.seconds)


def _soak_shapes(
    plan: Plan, scale: float, tally: Tally, note: Callable[[Ended, str], None]
) -> list[tuple[float, str]]:
    """How much longer the whole of each shape took than its half, where that can be measured."""
    steepest = []
    for shape, half, whole in _shapes_tried(plan, scale):
        for ended in (half, whole):
            note(ended, f"{shape.target} shapes")
        if whole.seconds < LEAST_SECONDS or half.kind or whole.kind:
            continue
        ratio = whole.seconds / half.seconds
        steepest.append((ratio, f"{shape.target}, {shape.name}"))
        if ratio > STEEPEST and whole.seconds > MEASURABLE_SECONDS:
            seen = f"{half.seconds:.1f} s, then {whole.seconds:.1f} s"
            tally.faults.append(Fault("grows faster than its input", whole.name, seen))
    return steepest


def _shapes_tried(plan: Plan, scale: float) -> Iterator[tuple[Shape, Ended, Ended]]:
    """At their whole size in a process each, whose peak memory is that of one shape alone."""
    chosen = list(shapes())
    apart = scale == 1.0
    for group in [[shape] for shape in chosen] if apart else [chosen]:
        trials = (at_size(shape, part) for shape in group for part in (scale / 2, scale))
        ended = run_trials(trials, plan.folder)
        for shape, half, whole in zip(group, ended, ended, strict=False):
            yield shape, half, whole
            if plan.is_over:
                return


# Workers


def run_trials(
    trials: Iterator[Trial],
    folder: Path,
    readers: Callable[[Path], Mapping[str, Target]] = targets,
    silent_seconds: float = SILENT_SECONDS,
) -> Iterator[Ended]:
    """Run ``trials`` in worker processes, some thousand each, and tell how each went."""
    following = next(trials, None)
    while following is not None:
        batch = [following]
        for trial in trials:
            if len(batch) == CASES_A_WORKER:
                following = trial
                break
            batch.append(trial)
        else:
            following = None
        while batch:
            done = 0
            for ended in _in_a_worker(batch, folder, readers, silent_seconds):
                done += 1
                yield ended
            batch = batch[done:]


def _in_a_worker(
    batch: list[Trial],
    folder: Path,
    readers: Callable[[Path], Mapping[str, Target]],
    silent_seconds: float,
) -> Iterator[Ended]:
    """Run trials in a process of their own; where it is lost, the trial it was at is the last."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    worker = context.Process(target=_work, args=(batch, folder, readers, sending), daemon=True)
    worker.start()
    sending.close()
    done = 0
    try:
        for ended in _told(receiving, silent_seconds):
            done += 1
            yield ended
        worker.join(0 if done == len(batch) else 5)
        status = worker.exitcode
    finally:
        worker.kill()
        worker.join()
        receiving.close()
    if done < len(batch):
        lost = batch[done]
        why = "no answer" if status is None else f"the process ended with {status}"
        yield Ended(lost.name, lost.target, "", "a process lost", why, 0.0, 0)


def _told(receiving: Connection, silent_seconds: float) -> Iterator[Ended]:
    """What a worker tells until it ends, dies or is silent for too long."""
    while receiving.poll(silent_seconds):
        try:
            yield receiving.recv()
        except EOFError:
            return


def _import_readers(folder: Path) -> None:
    """Once for all workers, which are forked from here; the model is left to each of them."""
    for read in targets(folder / "imports").values():
        read(b"x")


def _work(
    batch: list[Trial],
    folder: Path,
    readers: Callable[[Path], Mapping[str, Target]],
    sending: Connection,
) -> None:
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, _out_of_time)
    by_name = readers(folder / multiprocessing.current_process().name)
    for trial in batch:
        sending.send(_tried(trial, by_name[trial.target]))


class _OutOfTime(BaseException):
    """The processor time of a case is used up."""


def _out_of_time(_signal: int, _frame: FrameType | None) -> None:
    raise _OutOfTime


def _tried(trial: Trial, read: Target) -> Ended:
    data = trial.make()
    outcome = kind = seen = ""
    started = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, trial.seconds)
    try:
        outcome = read(data)
    except _OutOfTime as late:
        kind, seen = "a hang", _place(late)
    except Broken as broken:
        kind, seen = "a wrong result", str(broken)
    except BaseException as fault:
        kind, seen = f"a crash ({type(fault).__name__})", f"{str(fault)[:200]} {_place(fault)}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return Ended(trial.name, trial.target, outcome, kind, seen, seconds, peak)


def _place(fault: BaseException) -> str:
    frames = traceback.extract_tb(fault.__traceback__)
    own = [frame for frame in frames if "/memcli/" in frame.filename] or frames
    return f"at {Path(own[-1].filename).name}:{own[-1].lineno}"
