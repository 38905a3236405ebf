"""Flipped, cut and exchanged bytes in everything that memcli stores, and what is answered then.

Each trial damages one file of a copy of the ground in one seeded way and asks
every command that reads it. Every command must end by itself with the answer of
the undamaged ground or with a clear error; the repair that the error names must
then give the undamaged answers again, and history must be as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soaking.damage_ground import (
    TARGETS,
    Answer,
    Stage,
    Target,
    make_stage,
)
from soaking.damages import WAYS, Surroundings, damaged
from soaking.ground import Ended, Ground
from soaking.questions import (
    ASK,
    BUILD,
    Question,
    answered,
    errors_of,
    is_rebuilt,
    is_told,
    questions_of,
)
from soaking.tally import Fault, Plan, Tally
from soaking.warm_program import TIMED_OUT, WarmProgram

PROMISE = "damage ends in the right answer or in a clear error with a repair"
# What a person can act on. Any other code, for a file that was whole before, misleads.
CLEAR = frozenset(
    (
        "index_damaged", "index_not_ready", "store_damaged", "store_too_new", "model_not_ready",
        "model_unsuitable", "fixture_invalid", "fixture_too_new", "run_not_evaluable",
        "case_not_ready", "project_id_invalid", "configuration_invalid", "storage_unreadable",
        "history_write_failed",
    )
)  # fmt: skip


@dataclass(slots=True)
class Trial:
    """One damaged file: where, how, and what was seen."""

    name: str
    target: Target
    way: str
    file: str = ""
    outcomes: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    healthy: bool | None = None
    """What ``doctor`` said about the damaged ground."""
    has_answered: bool = False

    def fault(self, kind: str, seen: str) -> None:
        self.faults.append(Fault(f"{self.target.name}: {kind}", self.name, seen[:1500]))


def soak(plan: Plan) -> Tally:
    """Damage ``plan.count`` copies of the ground, each in one file and way."""
    tally = Tally(PROMISE, plan.count)
    unseen = 0
    for trial in trials(plan):
        outcome = "fault" if trial.faults else (trial.outcomes or ["correct answer"])[0]
        tally.add(trial.target.name, outcome)
        tally.faults += trial.faults[:1]
        unseen += bool(trial.faults) and trial.healthy is True
    tally.figures["faults that doctor does not see"] = str(unseen)
    return tally


def trials(plan: Plan, targets: Sequence[Target] = TARGETS) -> Iterator[Trial]:
    """The trials one by one; those of a target share one staged ground."""
    whole = sum(target.share for target in targets)
    done = 0
    with WarmProgram() as cold, WarmProgram(keep_models=True) as warm:
        for target in targets:
            share = round(plan.count * target.share / whole)
            count = plan.count - done if target is targets[-1] else share
            done += count
            if not count:
                continue
            # Where the models themselves are damaged, none may be kept.
            program = cold if target.kind == "models" else warm
            stage = make_stage(plan.folder / target.stage, program, target.stage)
            for number in range(count):
                if plan.is_over:
                    return
                random = plan.generator(target.name, number)
                way = WAYS[(number + random.randrange(3) * 7) % len(WAYS)]
                trial = Trial(f"{target.name} {number}, {way}", target, way)
                yield _tried(trial, stage, program, random.random())


def _tried(trial: Trial, stage: Stage, program: WarmProgram, chance: float) -> Trial:
    from random import Random

    random = Random(chance)
    ground = stage.restored()
    file = random.choice(trial.target.files(ground))
    trial.file = str(file.relative_to(ground.base))
    trial.name = f"{trial.name}, {trial.file}"
    older = stage.older_version_of(file)
    foreign = random.choice([it for it in stage.foreign(ground) if it != file]).read_bytes()
    before = file.read_bytes()
    changed = damaged(trial.way, before, Surroundings(foreign, older), random)
    # Beside and renamed: what shares its content with the staged ground stays whole.
    temporary = file.with_name(f"{file.name}.damaged")
    temporary.write_bytes(changed)
    temporary.chmod(0o600)
    os.replace(temporary, file)
    if changed == before:
        trial.outcomes.append("no damage to be had")
        return trial
    answers = stage.older_answers if changed == older else {}
    for question in questions_of(trial.target.kind, stage.ids):
        if question.follows_an_answer and not trial.has_answered:
            continue
        _ask(trial, stage, program, question, answers)
    _repair(trial, stage, program, ground)
    return trial


def _ask(
    trial: Trial,
    stage: Stage,
    program: WarmProgram,
    question: Question,
    older_answers: Mapping[str, Answer],
) -> None:
    ground = stage.ground
    before = _bytes_of(ground.home / "local.db")
    ended = program.run(ground, *question.arguments, given=question.given)
    if not _is_graceful(trial, question, ended):
        return
    if question.name == "doctor":
        trial.healthy = ended.status == 0
        return
    expected = stage.answers[question.name]
    if question.reads_only and _bytes_of(ground.home / "local.db") != before:
        trial.fault("a reader changed history", question.name)
    older = older_answers.get(question.name)
    errors = errors_of(question, ended, expected.status)
    if errors and older is not None and older.code == errors[0]["code"]:
        trial.outcomes.append("correct answer")
        return
    for error in errors:
        _judge_error(trial, question, error)
    if errors:
        return
    trial.has_answered |= question is ASK and b'"run_id":null' not in ended.out
    document = answered(question, ended)
    known = (expected.document, older.document if older else None)
    if document in known or (trial.target.is_rebuilt and is_rebuilt(expected.document, document)):
        trial.outcomes.append("correct answer")
    elif is_told(question, expected.document, document, ended):
        trial.outcomes.insert(0, "correct as far as it goes, and told")
    elif trial.way == "older_version" and question.name == "status":
        # It tells of both stores, and only one of them is older.
        trial.outcomes.append("correct answer")
    elif trial.target.name == "journal":
        # A journal ends at its first bad checksum: SQLite takes what follows for a torn write.
        trial.outcomes.insert(0, "as of an earlier commit")
    else:
        trial.fault("wrong answer", f"{question.name}: {_difference(expected.document, document)}")


def _judge_error(trial: Trial, question: Question, error: dict[str, str]) -> None:
    code, seen = error["code"], f"{question.name}: {error['message']} ({error['hint']})"
    if trial.target.name == "journal" and code == "run_not_found":
        trial.outcomes.insert(0, "as of an earlier commit")
    elif code not in CLEAR:
        trial.fault(f"misleading error {code}", seen)
    elif not error["hint"]:
        trial.fault(f"{code} without a hint", seen)
    elif trial.target.kind == "store" and question.asks:
        trial.fault("no answer without history", seen)
    else:
        trial.outcomes.insert(0, code)


def _repair(trial: Trial, stage: Stage, program: WarmProgram, ground: Ground) -> None:
    """``index build``, without a flag, gives the undamaged answers and leaves history alone."""
    if trial.target.kind != "index":
        return
    home = _contents(ground.home)
    ended = program.run(ground, *BUILD.arguments)
    if ended.code == "store_too_new":  # the hint: delete the file
        for path in ground.index.glob("search-index.sqlite*"):
            path.unlink()
        ended = program.run(ground, *BUILD.arguments)
    if not _is_graceful(trial, BUILD, ended) or ended.status:
        trial.fault("build fails", ended.err.decode()[-250:])
        return
    # The registry remembers where a project lies; nothing else may have moved.
    if _contents(ground.home) != home:
        trial.fault("a build changed history", "index build")
    again = program.run(ground, *ASK.arguments, given=ASK.given)
    if not again.status and not is_rebuilt(stage.answers[ASK.name].document, answered(ASK, again)):
        difference = _difference(stage.answers[ASK.name].document, answered(ASK, again))
        trial.fault("not repaired by index build", difference)
    for error in errors_of(ASK, again, 0):
        trial.fault("not repaired by index build", str(error))
    ended = program.run(ground, "doctor", "--json")
    if ended.status:
        broken = [it for it in ended.document["findings"] if it["state"] == "broken"]
        trial.fault("doctor is not content after the build", str(broken))


def _is_graceful(trial: Trial, question: Question, ended: Ended) -> bool:
    if ended.status == TIMED_OUT:
        trial.fault("hangs", f"{question.name}: {ended.err.decode()[:1400]}")
    elif not ended.is_graceful:
        trial.fault("crash", f"{question.name}: {ended.status} {ended.err.decode()[-250:]}")
    else:
        return True
    return False


def _difference(expected: Any, found: Any, where: str = "") -> str:
    """Where two documents differ first, by more than a rebuild makes them differ if they do."""
    if isinstance(expected, dict) and isinstance(found, dict):
        keys = sorted(expected.keys() | found.keys())
        differing = [key for key in keys if expected.get(key) != found.get(key)]
        telling = [key for key in differing if not is_rebuilt(expected.get(key), found.get(key))]
        for key in [key for key in telling if key != "revision_id"] or differing:
            return _difference(expected.get(key), found.get(key), f"{where}.{key}")
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = list(enumerate(zip(expected, found, strict=True)))
        differing = [at for at, (one, other) in pairs if one != other]
        telling = [at for at in differing if not is_rebuilt(expected[at], found[at])]
        for at in telling or differing:
            return _difference(expected[at], found[at], f"{where}[{at}]")
    return f"{where}: {str(expected)[:90]!r} became {str(found)[:90]!r}"


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _contents(directory: Path) -> dict[str, bytes]:
    """Everything below, but for SQLite's shared memory and empty journals."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not path.name.endswith("-shm") and path.stat().st_size
    }
