"""Runs a program whose n-th change to its files goes wrong: see ``fault_layer.c``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("fault_layer.c")
COMPILER = "cc"

COUNT = "count"
KILLS = ("kill-before", "kill-after", "kill-torn")
FAULTS = ("full", "error", "short", "error-once", "full-once")


@dataclass(frozen=True, slots=True)
class Call:
    """One change to a watched file, as the layer logged it; ``struck`` by the fault or not."""

    number: int
    struck: bool
    name: str
    path: str

    def __str__(self) -> str:
        return f"{self.number} {self.name} {self.path}"


@dataclass(frozen=True, slots=True)
class FaultLayer:
    """The compiled library; ``log`` is the file that tells the calls of the last run."""

    library: Path
    log: Path

    def environ(self, mode: str, at: int, folders: Sequence[Path]) -> dict[str, str]:
        """Variables for one run, whose log begins empty; ``at`` counts from 1."""
        self.log.unlink(missing_ok=True)
        return {
            "LD_PRELOAD": str(self.library),
            "FAULT_MODE": mode,
            "FAULT_AT": str(at),
            "FAULT_FOLDERS": ":".join(str(each) for each in folders),
            "FAULT_LOG": str(self.log),
        }

    def calls(self) -> list[Call]:
        """What the last run changed, in order."""
        if not self.log.exists():
            return []
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        parts = [line.split(" ", 2) for line in lines]
        return [
            Call(int(number.rstrip("!")), number.endswith("!"), name, path)
            for number, name, path in parts
        ]


def why_unavailable() -> str:
    """Why the layer cannot be used here; "" where it can."""
    if not sys.platform.startswith("linux"):
        return "the fault layer needs Linux"
    if shutil.which(COMPILER) is None:
        return f"there is no C compiler ({COMPILER})"
    return ""


def compiled(folder: Path) -> FaultLayer:
    """Compile the layer into ``folder``.

    Raises:
        RuntimeError: there is no compiler, or it refused.
    """
    if reason := why_unavailable():
        raise RuntimeError(reason)
    library = folder / "fault_layer.so"
    command = [COMPILER, "-shared", "-fPIC", "-O2", "-o", str(library), str(SOURCE), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{SOURCE.name} cannot be compiled: {done.stderr}")
    return FaultLayer(library, folder / "calls.log")
