"""Runs every command that creates anything under a umask, and tells the modes seen on the way.

    python mode_tour.py UMASK FOLDER

An audit hook looks at everything below FOLDER before each operation on a file
there, so that temporary files and SQLite's sidecars are seen while they live.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import stat
import sys
from pathlib import Path
from types import FrameType
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

# A program of its own: its folder has to be on the path before these can be found.
from model_server import serving  # noqa: E402 - see above
from tiny_gguf import write_tiny_bert  # noqa: E402 - see above

from memcli.cli.environment import Environment  # noqa: E402 - see above
from memcli.cli.ladder import run  # noqa: E402 - see above

NOTES = {
    "a.md": "# Deploys\n\nRoll back a bad deploy with shipctl.\n",
    "b.md": "# Pager\n\nThe pager is handed over on Tuesday.\n",
}
EMBEDDER_SEED, PULLED_SEED = 1, 0
PULLED = "mxbai-embed-large-v1"
WATCHED = ("open", "os.mkdir", "os.rename", "os.chmod", "os.remove", "sqlite3.connect", "os.rmdir")


class Witness:
    """Every path that was made below ``base``, with each mode that it was seen to have."""

    def __init__(self, base: Path) -> None:
        self.base = str(base)
        self.given: set[str] = set()
        self.seen: dict[str, set[int]] = {}
        self.looking = False

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in WATCHED and not self.looking and self.base in str(arguments[0]):
            self.look()

    def look(self) -> None:
        self.looking = True
        try:
            pending = [self.base]
            while pending:
                for each in os.scandir(pending.pop()):
                    try:
                        status = each.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    if stat.S_ISDIR(status.st_mode):
                        pending.append(each.path)
                    if each.path not in self.given:
                        name = each.path[len(self.base) + 1 :]
                        self.seen.setdefault(name, set()).add(status.st_mode & 0o7777)
        finally:
            self.looking = False


class Tour:
    """Commands in this process, in a project below ``base``."""

    def __init__(self, base: Path, environ: dict[str, str], name: str = "project") -> None:
        self.root = base / name
        self.base = base
        self.environ = environ

    def run(self, *arguments: str, fails: bool = False) -> str:
        out, err = io.BytesIO(), io.BytesIO()
        environment = Environment(
            stdin=io.BytesIO(),
            stdout=out,
            stderr=err,
            stdin_is_terminal=False,
            stdout_is_terminal=False,
            stderr_is_terminal=False,
            environ=self.environ,
            working_directory=self.root,
        )
        status = int(run(list(arguments), environment))
        if bool(status) != fails:
            raise SystemExit(f"{arguments}: {status} {err.getvalue().decode()}")
        return out.getvalue().decode()


def tour(base: Path, served: str, gguf: Path) -> None:
    """Everything that leaves a file, each command at least once."""
    environ = {
        "MEMCLI_HOME": str(base / "data/home"),
        "MEMCLI_CONFIG": str(base / "settings/config"),
        "HOME": str(base),
        "MEMCLI_THREADS": "1",
        "MEMCLI_EMBEDDER": str(gguf),
    }
    here = Tour(base, environ)
    here.run("init")
    here.run("index", "build")
    here.run("index", "build", "--force", "--keep")
    asked = json.loads(here.run("activate", "roll back", "--state-out", "state.json", "--json"))
    here.run("activate", "roll back", "--state", "state.json", "--state-out", "state.json")
    made = json.loads(here.run("case", "create", asked["run_id"], "--json"))
    case = made["created"][0]["case"]["case_id"]
    here.run("case", "resolve", case, "--expected-version", "1", "--evidence", "rank:1")
    here.run("report", "--html", "out/pages/r.html", "--csv", "out/tables/r.csv")
    for form in ("json", "trec", "beir"):
        here.run("export", "--out", f"out/{form}", "--format", form)
    here.run("rerun", "--rounds", "1", "--csv", "out/rerun.csv")
    here.run("models", "add", "mine", str(gguf), "--copy")
    here.run("models", "pull", PULLED, "--url", served)
    here.run("models", "use", "late_interaction")
    here.run("models", "use", "late_interaction", "--in-project")
    here.run("runs", "pin", "last")
    here.run("runs", "unpin", "last")
    here.run("head", "swap", "--previous")
    here.run("init", "--yes")
    watch(here)
    here.run("activate", "the pager")
    here.run("runs", "delete", "last", "--yes")
    here.run("case", "delete", case, "--yes")
    here.run("clear", "--yes")
    other = Tour(base, {**environ, "MEMCLI_HOME": str(base / "old/home")})
    older_store(base / "old/home")
    other.run("activate", "a question for a migrated store")
    broken = Tour(base, {**environ, "MEMCLI_HOME": str(base / "full/home")})
    broken.run("activate", "a question")
    os.chmod(base / "full/home/local.db", 0o600)
    Path(base / "full/home/local.db").write_bytes(b"damaged" * 1000)
    broken.run("activate", "a question that is not recorded")
    # A project without an id in its settings keeps it in a file.
    Tour(base, environ, "plain").run("activate", "a question", fails=True)
    here.run("forget", "--yes")


def watch(here: Tour) -> None:
    """A watch that sees one change and is ended as by Ctrl-C."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    note = here.root / "a.md"
    os.utime(note, ns=(1, 1))
    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, 1.5)
    try:
        here.run("index", "build", "--watch", fails=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def older_store(home: Path) -> None:
    """A store of the layout before this one, as its owner has it: private already."""
    for directory in (home.parent, home):
        directory.mkdir(mode=0o700)
        directory.chmod(0o700)
    path = home / "local.db"
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    path.chmod(0o600)
    layout = (TESTS / "history/data/local-41.sql").read_text(encoding="utf-8")
    with sqlite3.connect(path) as connection:
        connection.executescript(layout)
    connection.close()


def main() -> None:
    umask, folder = int(sys.argv[1], 8), Path(sys.argv[2])
    base = folder / "base"
    (base / "project/.memcli.local").mkdir(parents=True)
    (base / "plain").mkdir()
    for name, text in NOTES.items():
        (base / "project" / name).write_text(text)
    gguf = write_tiny_bert(folder / "own.gguf", head=False, seed=EMBEDDER_SEED)
    pulled = write_tiny_bert(folder / "served.gguf", head=False, seed=PULLED_SEED).read_bytes()
    witness = Witness(base)
    witness.given = {str(each) for each in base.rglob("*")}
    os.umask(umask)
    sys.addaudithook(witness.hook)
    with serving(pulled) as served:
        tour(base, served.url, gguf)
    witness.look()
    seen = {name: sorted(modes) for name, modes in sorted(witness.seen.items())}
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
