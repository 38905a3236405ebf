"""A process of its own for trials of hostile input: it forks, which a loaded model forbids.

    python hostile_program.py soak COUNT SCALE | shapes NAME... | bad

Prints one JSON document: what was tried, and each fault as its kind, trial and what was seen.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from soaking.fuzz_shapes import shapes
from soaking.fuzz_targets import Broken
from soaking.hostile_input import Trial, at_size, run_trials, soak
from soaking.tally import Plan


def main(action: str, *given: str) -> None:
    with tempfile.TemporaryDirectory(prefix="memcli-hostile-") as name:
        folder = Path(name)
        if action == "soak":
            tally = soak(Plan(folder, int(given[0])), float(given[1]))
            faults = [[it.kind, it.trial, it.seen] for it in tally.faults]
            tried = dict(tally.tried)
        else:
            if action == "bad":
                trials = (Trial(name, name, lambda: b"x", 0.2) for name in BAD)
                ended = list(run_trials(trials, folder, lambda _: BAD, silent_seconds=3.0))
            else:
                ended = list(run_trials(_shapes(given), folder))
            faults = [[it.kind, it.name, it.seen] for it in ended if it.kind]
            tried = dict(Counter(it.target for it in ended))
    print(json.dumps({"tried": tried, "faults": faults}))


def _shapes(names: tuple[str, ...]) -> Iterator[Trial]:
    known = {f"{shape.target}: {shape.name}": shape for shape in shapes()}
    return (at_size(known[name], 1.0) for name in names)


# Readers that do everything a reader must not, and one that does its work


def hang(_: bytes) -> str:
    while True:
        pass


def swell(_: bytes) -> str:
    return "x" * (1 << 40)


def die(_: bytes) -> str:
    os._exit(9)


def wait(_: bytes) -> str:
    time.sleep(3600)
    return ""


def recurse(data: bytes) -> str:
    return recurse(data)


def mistake(_: bytes) -> str:
    raise Broken("a character is in no unit")


def work(_: bytes) -> str:
    return "accepted"


BAD = {each.__name__: each for each in (hang, swell, die, wait, recurse, mistake, work)}

if __name__ == "__main__":
    main(*sys.argv[1:])
