"""What must hold after an operation that was killed or met a full disk, and what broke if not."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

import orjson

from soaking.ground import Ended, Ground
from soaking.stored import SCORES, Answers, Stored, changed, comparable_answer, difference, stored
from soaking.trials import Stage

Problem = tuple[str, str]
"""The kind of promise that is broken, and what was seen."""

SHA256 = re.compile(r"[0-9a-f]{64}")
_REVISION_ID = re.compile(r"\d{8}T\d{6}-[0-9a-f]{6}")
_BACKUP_TIME = re.compile(r"\d{8}T\d{6}\.\d+Z")
_WITHOUT_HEAD = frozenset({"index_not_ready", "index_build_failed"})
# A log of warnings, which a trial may well have left.
_MAY_BE = ("memcli.log",)

_RUNNING = "SELECT run_id FROM retrieval_runs WHERE status = 'running'"
_FTS_CHECK = "INSERT INTO search_units_fts (search_units_fts) VALUES ('integrity-check')"


@dataclass(frozen=True, slots=True)
class Expected:
    """What is stored ``before`` and ``after`` the operation, and the files in the end.

    ``again`` is ``after`` without scores: what another batch computes has other last bits.
    """

    before: Stored
    after: Stored
    again: Stored
    files: Counter[str]


Prepared = Mapping[str, tuple[Stage, Expected]]
"""Operations by name, with what is stored before and after each."""


def expected(stage: Stage) -> Expected:
    """Find out by doing it without a fault.

    Raises:
        RuntimeError: the promises are broken without any fault.
    """
    stage.set()
    before = stored(_copied(stage), stage.ground)
    stage.set()
    ended = stage.go_well()
    copy = _copied(stage)
    after = stored(copy, stage.ground, before.ids)
    again = stored(copy, stage.ground, before.ids, SCORES)
    problems = list(_close(stage))
    if ended.status or problems:
        raise RuntimeError(f"{stage.operation.name}: {ended.err.decode()} {problems}")
    return Expected(before, after, again, _files(stage.ground))


def broken_promises(stage: Stage, it: Expected, ended: Ended) -> Iterator[Problem]:
    """Everything that does not hold now; afterwards the operation is done and tidied up."""
    copy = _copied(stage)
    now = stored(copy, stage.ground, it.before.ids)
    yield from _unsound(copy)
    yield from _half_work(it, now, stage.operation.in_steps)
    yield from _unreadable_exports(stage.ground)
    if ended.out.strip():
        yield from _empty_promise(stage, it, now, ended)
    yield from _listings(stage.ground, _open_runs(copy))
    yield from _again(stage, it)
    yield from _close(stage)
    files = _files(stage.ground)
    if more := files - it.files:
        yield "orphan", ", ".join(sorted(more.elements()))
    if less := it.files - files:
        yield "missing file", ", ".join(sorted(less.elements()))


def _copied(stage: Stage) -> Ground:
    """A copy to be read with SQLite itself, so that the program is the first at the original."""
    base = stage.ground.base.with_name("copy")
    with suppress(FileNotFoundError):
        rmtree(base)
    return Ground(stage.ground.base).copied_to(base)


# What must hold


def _unsound(ground: Ground) -> Iterator[Problem]:
    """Databases that are damaged or contradict themselves, and bodies that rows name in vain."""
    databases = [ground.home / "local.db", *sorted(ground.index.glob("*.sqlite"))]
    for path in databases:
        if not path.exists() or not path.stat().st_size:
            continue
        with closing(sqlite3.connect(path)) as connection:
            verdict = connection.execute("PRAGMA integrity_check").fetchall()
            if verdict != [("ok",)]:
                yield "integrity", f"{path.name}: {verdict}"
            if loose := connection.execute("PRAGMA foreign_key_check").fetchall():
                yield "integrity", f"{path.name}: rows refer to nothing: {loose}"
            if path.name == "search-index.sqlite":
                yield from _full_text(connection)
            if path.name == "local.db":
                yield from _bodies(connection, ground.home / "evaluation-corpora" / "blobs")


def _full_text(connection: sqlite3.Connection) -> Iterator[Problem]:
    try:
        connection.execute(_FTS_CHECK)
    except sqlite3.Error as error:
        yield "integrity", f"full text: {error}"
    head = connection.execute("SELECT head FROM search_heads").fetchone()
    of_head, in_table = (
        [row[0] for row in connection.execute(statement, values)]
        for statement, values in (
            (
                "SELECT unit_rowid FROM search_units WHERE revision_id = ? ORDER BY 1",
                (head[0] if head else None,),
            ),
            ("SELECT rowid FROM search_units_fts ORDER BY 1", ()),
        )
    )
    if of_head != in_table:
        yield "integrity", f"full text holds {in_table}, the head's units are {of_head}"


def _bodies(connection: sqlite3.Connection, blobs: Path) -> Iterator[Problem]:
    for sha256, length in connection.execute("SELECT sha256, length FROM retrieval_corpus_blobs"):
        path = blobs / sha256[:2] / sha256
        if not path.exists():
            yield "lost body", f"{sha256} is named and missing"
            continue
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != sha256 or len(data) != length:
            yield "lost body", f"{sha256} is not what its name says"


def _half_work(it: Expected, now: Stored, in_steps: bool) -> Iterator[Problem]:
    """Work is there wholly or not at all, and what was committed before is as it was."""
    before, after = it.before, it.after
    if not in_steps and now.history not in (before.history, after.history):
        yield "half work", f"between the two in {changed(before, now)}"
    for name, rows in now.history.items():
        if rows and rows not in (before.history.get(name), after.history.get(name)):
            yield "half work", f"{name}: {difference(rows, before.history.get(name, rows))}"
    if now.head not in (before.head, after.head):
        yield "head", f"its content is {now.head}"
    elif now.head is None:
        if not _WITHOUT_HEAD.issuperset(now.answers):
            yield "head answers", f"without a head: {now.answers}"
    elif now.head == before.head:
        if now.answers != before.answers:
            yield "head answers", repr(now.answers)[:500]
    elif _unscored(now.answers) != it.again.answers:
        # Token vectors that are not stored yet are exact, those that are stored are coded.
        yield "head answers", f"of the new head: {repr(now.answers)[:500]}"
    if lost := (before.ready & after.ready) - now.ready:
        yield "lost work", f"ready revisions are gone: {lost}"
    if odd := now.ready - before.ready - after.ready:
        yield "half work", f"ready revisions of other content: {odd}"
    for name, data in now.exports.items():
        if data not in (before.exports.get(name), after.exports.get(name)):
            yield "half work", f"export {name} is neither the old nor the new"
    if gone := before.exports.keys() - now.exports.keys():
        yield "lost work", f"exports are gone: {gone}"


def _unscored(answers: Answers) -> Answers:
    return tuple(
        comparable_answer(each, SCORES) if isinstance(each, dict) else each for each in answers
    )


def _unreadable_exports(ground: Ground) -> Iterator[Problem]:
    fixture = ground.exports / "fixture.json"
    if fixture.exists():
        read = ground.memcli("report", str(fixture), "--json")
        if read.status:
            yield "half work", f"the export cannot be read: {read.err.decode()}"


def is_done(after: Stored, now: Stored, but: Sequence[str] = ()) -> bool:
    """Whether the operation's effect is wholly there, apart from the tables ``but``."""
    missing = set(changed(after, now)).difference(but)
    return not missing and (now.head, now.exports) == (after.head, after.exports)


def _empty_promise(stage: Stage, it: Expected, now: Stored, ended: Ended) -> Iterator[Problem]:
    """What was said to be done is done."""
    try:
        said = orjson.loads(ended.out)
    except orjson.JSONDecodeError:
        yield "half answer", f"standard output is no document: {ended.out[:200]!r}"
        return
    # Registry and history are best effort: what is missing there is said in a warning.
    warned = stage.operation.is_best_effort and b"warning:" in ended.err
    if stage.operation.is_best_effort and said["run_id"] is None:
        if not warned:
            yield "silent loss", "the Run was not recorded, and no warning says so"
        if now.head != it.after.head:
            yield "empty promise", "the head is not the new one"
    elif not is_done(it.after, now, but=("projects",) if warned else ()):
        yield "empty promise", f"{ended.out[:200]!r}, but {_missing(it.after, now)}"


def _missing(after: Stored, now: Stored) -> str:
    missing = [f"history {changed(after, now)}"] if now.history != after.history else []
    missing += ["head"] if now.head != after.head else []
    missing += ["exports"] if now.exports != after.exports else []
    return ", ".join(missing)


def _open_runs(files: Ground) -> list[str]:
    """Runs that the table calls running; nobody is at work any more."""
    path = files.home / "local.db"
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as connection:
        return [run_id for (run_id,) in connection.execute(_RUNNING)]


def _listings(ground: Ground, running: Sequence[str]) -> Iterator[Problem]:
    """Everybody can still read, and a Run whose process is gone is shown as interrupted."""
    listed = ground.memcli("runs", "list", "--all-projects", "--json")
    cases = ground.memcli("case", "list", "--all-projects", "--json")
    for ended in (listed, cases):
        if ended.status:
            yield "listing", ended.err.decode()
            return
    shown = {run["run_id"]: run for run in listed.document["runs"]}
    for run_id in running:
        error = shown[run_id]["error"] if run_id in shown else None
        if error is None or error["code"] != "retrieval_interrupted":
            yield "running Run", f"{run_id} of a dead process is shown as {shown.get(run_id)}"
    for case in cases.document["cases"]:
        if case["project_id"] != "ground":
            continue
        ended = ground.memcli("case", "show", case["case_id"], "--json")
        if ended.status:
            yield "listing", f"case show: {ended.err.decode()}"


def _again(stage: Stage, it: Expected) -> Iterator[Problem]:
    ended = stage.go_well()
    if ended.status and ended.code not in stage.command.refused_again:
        yield "next run fails", ended.err.decode()[:500]
        return
    now = stored(_copied(stage), stage.ground, it.before.ids, SCORES)
    if not is_done(it.again, now):
        yield "next run", f"it ended well, but {_missing(it.again, now)}"
    if now.answers != it.again.answers:
        yield "head answers", f"after the next run: {repr(now.answers)[:500]}"


def _close(stage: Stage) -> Iterator[Problem]:
    """Let the next commands tidy up, as they promise to."""
    for arguments in (("clear", "--all-projects", "--yes"), ("index", "build")):
        ended = stage.ground.memcli(*arguments, "--json")
        if ended.status:
            yield "next run fails", f"{' '.join(arguments)}: {ended.err.decode()[:500]}"
    copy = _copied(stage)
    yield from _unsound(copy)
    yield from _unnamed(copy)
    if not (copy.index / ".gitignore").read_bytes().strip():
        yield "open to git", "the index's folder does not ignore itself"


def _unnamed(ground: Ground) -> Iterator[Problem]:
    """Bodies that no row names, revisions that are not ready, derived files of none."""
    with closing(sqlite3.connect(ground.home / "local.db")) as connection:
        named = {row[0] for row in connection.execute("SELECT sha256 FROM retrieval_corpus_blobs")}
    with closing(sqlite3.connect(ground.index / "search-index.sqlite")) as connection:
        statuses = dict(connection.execute("SELECT revision_id, status FROM search_revisions"))
        ready = {name for name, status in statuses.items() if status == "ready"}
    if statuses.keys() - ready:
        yield "orphan", f"revisions {statuses}"
    blobs = ground.home / "evaluation-corpora" / "blobs"
    for path in blobs.glob("*/*"):
        if path.name not in named:
            yield "orphan", f"body {path.name}"
    for path in ground.index.iterdir():
        found = _REVISION_ID.search(path.name)
        if found and found.group() not in ready:
            yield "orphan", path.name


def _files(ground: Ground) -> Counter[str]:
    """Every file by what it is called apart from ids and times, without bodies by their names."""
    found: Counter[str] = Counter()
    for path in ground.base.rglob("*"):
        if not path.is_file() or path.name in _MAY_BE or SHA256.fullmatch(path.name):
            continue
        if path.name.endswith("-shm") or (path.name.endswith("-wal") and not path.stat().st_size):
            continue
        name = _REVISION_ID.sub("REVISION", str(path.relative_to(ground.base)))
        found[_BACKUP_TIME.sub("TIME", name)] += 1
    return found
