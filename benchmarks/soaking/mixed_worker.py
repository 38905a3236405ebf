"""One of the processes of the mixed load: does one operation after the other and logs each.

    python mixed_worker.py BASE NUMBER SEED LOG HANDS

``HANDS`` is ``inside`` (commands run in this process, with models loaded once)
or ``outside`` (each is a process of its own). It says ``ready``, is told on
stdin until which moment of the monotonic clock to go on, and ends.
"""

from __future__ import annotations

import faulthandler
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from memcli.index import fts
from soaking.mixed_ground import PROJECTS, QUERIES, Shared, edit_note
from soaking.mixed_program import Program

LONGEST_SECONDS = 60.0
"""Whatever an operation waits for, it ends within this."""

LEAST_OPERATIONS = 5
"""However slow the machine is."""

Document = Any


@dataclass(slots=True)
class Worker:
    """``own`` is a folder that no other worker writes to."""

    places: list[Shared]
    random: Random
    number: int
    own: Path
    log: BinaryIO
    answers: dict[str, bytes] = field(default_factory=dict)

    def tell(
        self,
        place: Shared,
        kind: str,
        *arguments: str,
        expected: Collection[str] = (),
        given: bytes = b"",
        facts: Callable[[Document], dict[str, Any]] = lambda document: {},
        **known: Any,
    ) -> Document:
        """Run one command, log what came of it, and give its document, ``None`` for an error."""
        faulthandler.dump_traceback_later(4 * LONGEST_SECONDS)
        started = time.monotonic()
        done = place.memcli(*arguments, "--json", "--yes", given=given)
        ended = time.monotonic()
        faulthandler.cancel_dump_traceback_later()
        row: dict[str, Any] = {
            "kind": kind,
            "project": place.project,
            "worker": self.number,
            "started": started,
            "ended": ended,
            "status": done.status,
            "code": done.code,
            "is_expected": done.status == 0 or done.code in expected,
            "is_graceful": done.is_graceful,
            "said": done.err.decode(errors="replace")[-2000:],
            **known,
        }
        document = orjson.loads(done.out) if done.status == 0 else None
        if document is not None:
            row |= facts(document)
        self.log.write(orjson.dumps(row) + b"\n")
        self.log.flush()
        return document

    def one(self) -> None:
        """One operation, chosen by weight."""
        names, weights = zip(*((each, weight) for each, weight in OPERATIONS), strict=True)
        (operation,) = self.random.choices(names, weights)
        operation(self, self.random.choice(self.places))


def activate(worker: Worker, place: Shared) -> None:
    query = worker.random.choice(QUERIES)
    document = worker.tell(place, "activate", "activate", query, facts=_answer)
    worker.answers[place.project] = orjson.dumps(document)


def activate_with_state(worker: Worker, place: Shared) -> None:
    """The second turn of a conversation: the state of an answer of an older head, as a rule."""
    earlier = worker.answers.get(place.project)
    if earlier is None:
        return
    state = worker.own / f"{place.project}.state.json"
    state.write_bytes(earlier)
    query = worker.random.choice(QUERIES)
    arguments = ("activate", query, "--state", str(state))
    document = worker.tell(place, "activate with state", *arguments, facts=_answer)
    if document is not None:
        worker.answers[place.project] = orjson.dumps(document)


def _answer(document: Document) -> dict[str, Any]:
    returned = [[it["unit_key"], it["content_hash"]] for it in document["fragments"]]
    return {"run": document["run_id"], "returned": returned}


def build(worker: Worker, place: Shared) -> None:
    for _ in range(worker.random.randrange(3)):
        edit_note(place.root, worker.random, f"{worker.number}")
    options = [each for each in ("--no-swap", "--force") if worker.random.random() < 0.2]
    worker.tell(place, "build", "index", "build", *options)


def build_without_waiting(worker: Worker, place: Shared) -> None:
    edit_note(place.root, worker.random, f"{worker.number}")
    arguments = ("index", "build", "--no-wait")
    worker.tell(place, "build --no-wait", *arguments, expected=["busy"])


def swap(worker: Worker, place: Shared) -> None:
    listing = worker.tell(place, "index list", "index", "list")
    ready = [it["revision_id"] for it in listing["revisions"] if it["status"] == "ready"]
    arguments = ("head", "swap", worker.random.choice(ready))
    # Another worker's build may have pruned it since.
    worker.tell(place, "head swap", *arguments, expected=["revision_not_found"])


def swap_back(worker: Worker, place: Shared) -> None:
    worker.tell(place, "head swap --previous", "head", "swap", "--previous")


def list_runs(worker: Worker, place: Shared) -> None:
    worker.tell(place, "runs list", "runs", "list")


def show_run(worker: Worker, place: Shared) -> None:
    if run := _some_run(worker, place):
        worker.tell(place, "runs show", "runs", "show", run, expected=["run_not_found"])


def pin(worker: Worker, place: Shared) -> None:
    if run := _some_run(worker, place):
        worker.tell(place, "runs pin", "runs", "pin", run, expected=["run_not_found"], run=run)


def unpin(worker: Worker, place: Shared) -> None:
    if run := _some_run(worker, place, pinned=True):
        expected = ["run_not_found", "evaluation_case_conflict"]
        worker.tell(place, "runs unpin", "runs", "unpin", run, expected=expected, run=run)


def delete_run(worker: Worker, place: Shared) -> None:
    if run := _some_run(worker, place):
        # `busy`: it was chosen while it was running, and is still.
        expected = ["run_not_found", "evaluation_case_conflict", "busy"]
        worker.tell(place, "runs delete", "runs", "delete", run, expected=expected, run=run)


def _some_run(worker: Worker, place: Shared, *, pinned: bool = False) -> str | None:
    listing = worker.tell(place, "runs list", "runs", "list")
    runs = [it["run_id"] for it in listing["runs"] if it["pinned"] or not pinned]
    return worker.random.choice(runs) if runs else None


def create_case(worker: Worker, place: Shared) -> None:
    run = _some_run(worker, place)
    if run is None:
        return
    worker.tell(
        place,
        "case create",
        *("case", "create", run),
        # It was cleared meanwhile, or is still running.
        expected=["run_not_found", "run_not_evaluable"],
        facts=lambda document: {
            "case": document["created"][0]["case"]["case_id"],
            "is_new": document["created"][0]["is_new"],
        },
        run=run,
    )


def resolve_case(worker: Worker, place: Shared) -> None:
    """Read a version, then resolve that version: another worker may have been quicker."""
    cases = worker.tell(place, "case list", "case", "list")["cases"]
    if not cases:
        return
    case = worker.random.choice(cases[:4])["case_id"]
    shown = worker.tell(place, "case show", "case", "show", case, expected=["case_not_found"])
    if shown is None:
        return
    ids = [it["resource_id"] for it in shown["resources"]]
    chosen = worker.random.sample(ids, worker.random.randrange(min(4, len(ids) + 1)))
    asked = {
        "expected_version": shown["case"]["version"],
        "none_matched": not chosen,
        "evidence": [{"resource_id": each} for each in chosen],
    }
    worker.tell(
        place,
        "case resolve",
        *("case", "resolve", case, "-"),
        expected=["evaluation_case_conflict", "case_not_found"],
        given=orjson.dumps(asked),
        facts=lambda document: {"version": document["case"]["version"]},
        case=case,
        evidence=sorted(chosen),
    )


def delete_case(worker: Worker, place: Shared) -> None:
    cases = worker.tell(place, "case list", "case", "list")["cases"]
    if len(cases) > 4:
        case = worker.random.choice(cases)["case_id"]
        arguments = ("case", "delete", case)
        worker.tell(place, "case delete", *arguments, expected=["case_not_found"], case=case)


def report(worker: Worker, place: Shared) -> None:
    worker.tell(place, "report", "report", expected=["case_not_ready"])


def export(worker: Worker, place: Shared) -> None:
    """Into the worker's own folder; what was written must be whole."""
    out = worker.own / f"{place.project}-export"
    arguments = ("export", "--out", str(out))
    written = worker.tell(place, "export", *arguments, expected=["case_not_ready"])
    if written is not None:
        worker.tell(place, "report FIXTURE", "report", str(out / "fixture.json"))


def clear(worker: Worker, place: Shared) -> None:
    worker.tell(place, "clear", "clear")


def clear_all(worker: Worker, place: Shared) -> None:
    worker.tell(place, "clear --all-projects", "clear", "--all-projects")


def status(worker: Worker, place: Shared) -> None:
    worker.tell(place, "status", "status")


def doctor(worker: Worker, place: Shared) -> None:
    worker.tell(
        place,
        "doctor",
        "doctor",
        facts=lambda document: {
            "findings": [it["message"] for it in document["findings"] if it["state"] != "ok"]
        },
    )


def models(worker: Worker, place: Shared) -> None:
    worker.tell(place, "models list", "models", "list")


OPERATIONS: tuple[tuple[Callable[[Worker, Shared], None], float], ...] = (
    (activate, 30),
    (activate_with_state, 8),
    (build, 2.5),
    (build_without_waiting, 4),
    (swap, 3),
    (swap_back, 3),
    (list_runs, 4),
    (show_run, 5),
    (pin, 4),
    (unpin, 3),
    (delete_run, 3),
    (create_case, 5),
    (resolve_case, 14),
    (delete_case, 2),
    (report, 3),
    (export, 2),
    (clear, 1.5),
    (clear_all, 0.5),
    (status, 3),
    (doctor, 1),
    (models, 2),
)


def main(base: str, number: str, seed: str, log: str, hands: str) -> None:
    faulthandler.enable()
    program = Program() if hands == "inside" else None
    if int(number) % 2:
        # These put few rows beside as if they were many: both ways of a swap meet so.
        fts.MANY = 4
    own = Path(base) / f"worker-{number}"
    own.mkdir()
    with open(log, "xb") as stream:
        places = [Shared(Path(base), name, program) for name in PROJECTS]
        worker = Worker(places, Random(f"{seed}:{number}"), int(number), own, stream)
        if program is not None:
            places[0].must("activate", QUERIES[0], "--no-record")
        print("ready", flush=True)
        until = float(sys.stdin.readline())
        done = 0
        while time.monotonic() < until or done < LEAST_OPERATIONS:
            worker.one()
            done += 1
    if program is not None:
        program.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
