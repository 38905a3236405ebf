"""One trial: an operation on a copy of its ground, with a fault at one of its file changes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from soaking.fault_layer import COUNT, Call, FaultLayer
from soaking.ground import Ended, Ground, fill
from soaking.operations import OPERATIONS, Command, Operation
from soaking.warm_program import WarmProgram

LONGEST_SECONDS = 120


@dataclass(frozen=True, slots=True)
class QuickGround(Ground):
    """A ground whose commands are run by a warm program: for what is not itself on trial."""

    program: WarmProgram

    def memcli(
        self,
        *arguments: str,
        given: bytes = b"",
        environ: Mapping[str, str] | None = None,
        seconds: float = LONGEST_SECONDS,
    ) -> Ended:
        return self.program.run(self, *arguments, given=given, seconds=int(seconds))


@dataclass(frozen=True, slots=True)
class Stage:
    """An operation that can be tried: ``kept`` is the ground before it, ``calls`` what it changes.

    Every trial takes place under the same path as the preparation, ``ground``,
    so that nothing has moved for the program.
    """

    operation: Operation
    command: Command
    kept: Path
    ground: QuickGround
    layer: FaultLayer
    calls: tuple[Call, ...] = ()

    def set(self) -> None:
        """Put a fresh copy of the kept ground in the place of the one before."""
        _replace(self.ground.base)
        Ground(self.kept).copied_to(self.ground.base)

    def go_wrong(self, mode: str, at: int) -> Ended:
        """Run the operation in a process of its own; ``mode`` strikes at file change ``at``.

        Raises:
            subprocess.TimeoutExpired: it did not end.
        """
        base = self.ground.base
        return Ground(base).memcli(
            *self.command.arguments,
            given=self.command.given,
            # The sums of one thread and of several differ in their last bits.
            environ={**self.layer.environ(mode, at, [base]), "OPENBLAS_NUM_THREADS": "1"},
            seconds=LONGEST_SECONDS,
        )

    def go_well(self) -> Ended:
        """Run the operation without a fault."""
        return self.ground.memcli(*self.command.arguments, given=self.command.given)


def make_stages(
    folder: Path,
    layer: FaultLayer,
    program: WarmProgram,
    operations: Sequence[Operation] = OPERATIONS,
) -> Iterator[Stage]:
    """Prepare each operation in turn, from one ground for all, and count what it changes.

    Raises:
        RuntimeError: it does not even go well without a fault.
    """
    ground = QuickGround(folder / "ground", program)
    common = Ground(folder / "common")
    fill(ground)
    ground.base.rename(common.base)
    for operation in operations:
        _replace(ground.base)
        common.copied_to(ground.base)
        command = operation.prepare(ground)
        kept = folder / f"kept {operation.name}"
        ground.base.rename(kept)
        stage = Stage(operation, command, kept, ground, layer)
        stage.set()
        counted = stage.go_wrong(COUNT, 0)
        if counted.status:
            raise RuntimeError(f"{operation.name}: {counted.err.decode()}")
        calls = tuple(layer.calls())
        if not calls:
            raise RuntimeError(f"{operation.name}: the layer saw no change of {ground.base}")
        yield Stage(operation, command, kept, ground, layer, calls)


def _replace(base: Path) -> None:
    with suppress(FileNotFoundError):
        rmtree(base)


def shares(count: int) -> list[int]:
    """``count`` trials dealt out to the operations."""
    operations = len(OPERATIONS)
    return [count * (at + 1) // operations - count * at // operations for at in range(operations)]


def spread(points: int, count: int, generator: random.Random) -> list[int]:
    """``count`` numbers from 1 to ``points``, evenly spread; all of them before any twice."""
    if not points:
        return []
    chosen = list(range(1, points + 1)) * (count // points)
    rest = count - len(chosen)
    return chosen + [
        min(points, 1 + int((each + generator.random()) * points / rest)) for each in range(rest)
    ]
