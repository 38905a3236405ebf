"""The program, warm: a process with everything imported that answers one command after another.

Commands run in that process or in forks of it, never in the caller, so that a
crash is seen as a signal; and yet they start in milliseconds. The process is a
script of its own: the caller may have loaded llama.cpp, whose threads would not
live through a fork.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

sys.path.insert(0, str(Path(__file__).parent.parent))

from soaking.ground import Ended, Ground

TIMED_OUT = -signal.SIGALRM
TRACEBACK = 70


class WarmProgram:
    """Runs commands one after the other, each in a fork of a process that never loads a model.

    With ``keep_models`` one process runs them all and keeps a loaded embedder,
    which is most of the time of a short command; if a command kills it, the
    next one gets another. ``close`` ends the process behind it.
    """

    def __init__(self, *, keep_models: bool = False) -> None:
        self._mode = "kept" if keep_models else "forked"
        self._folder = tempfile.TemporaryDirectory(prefix="memcli-warm-")
        self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, __file__, self._mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # What forks must not have become many threads.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )

    def __enter__(self) -> WarmProgram:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._folder.cleanup()

    def run(self, ground: Ground, *arguments: str, given: bytes = b"", seconds: int = 240) -> Ended:
        """One command in the project, as ``Ground.memcli``; ``TIMED_OUT`` after ``seconds``."""
        folder = Path(self._folder.name)
        (folder / "in").write_bytes(given)
        request = {
            "arguments": arguments,
            "directory": str(ground.root),
            "environ": dict(ground.environ),
            "streams": str(folder),
            "seconds": seconds,
        }
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(orjson.dumps(request) + b"\n")
        process.stdin.flush()
        if line := process.stdout.readline():
            status = int(line)
        else:
            status = process.wait(timeout=60)
            self._process = self._started()
        return Ended(status, (folder / "out").read_bytes(), (folder / "err").read_bytes())


def _serve(mode: str) -> None:
    _import_everything()
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Where a command hangs is seen in what it leaves on standard error.
    faulthandler.register(signal.SIGALRM, file=2, chain=True)
    if mode == "kept":
        _keep_models()
    for line in requests:
        request = orjson.loads(line)
        if mode == "kept":
            status = _answer(request)
        else:
            child = os.fork()
            if child == 0:
                os._exit(_answer(request))
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        answers.write(b"%d\n" % status)
        answers.flush()


def _answer(request: dict[str, Any]) -> int:
    """Run the command as if it were the process; its exit status."""
    streams = request["streams"]
    for number, name in enumerate(("in", "out", "err")):
        flags = os.O_RDONLY if name == "in" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        descriptor = os.open(f"{streams}/{name}", flags, 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
    os.environ.clear()
    os.environ.update(request["environ"])
    os.chdir(request["directory"])
    signal.alarm(request["seconds"])
    from memcli.cli.main import main

    try:
        status = main(request["arguments"])
    except SystemExit as stop:
        status = int(stop.code or 0)
    except BaseException:
        import traceback

        os.write(2, traceback.format_exc().encode())
        status = TRACEBACK
    signal.alarm(0)
    return status


def _keep_models() -> None:
    """Give an embedder that is loaded to whoever asks for the same profile again."""
    from memcli.models import embedder, loading, model_shelf, verifying

    load: Any = loading.load_embedder
    kept: dict[Any, Any] = {}

    def loaded(profile: Any, *rest: Any) -> Any:
        if profile not in kept:
            kept[profile] = load(profile, *rest)
        return kept[profile]

    for module in (model_shelf, verifying):
        vars(module)["load_embedder"] = loaded
    # The class's own dictionary cannot be written, and mypy forbids to assign a method.
    type.__setattr__(embedder.GgufEmbedder, "close", lambda self: None)


def _import_everything() -> None:
    from importlib import import_module

    import memcli
    from memcli.cli.command_table import COMMANDS

    assert memcli.__file__ is not None
    package = Path(memcli.__file__).parent
    for part in ("facade", "history", "index", "evaluation", "models", "memory", "retrieval"):
        for module in sorted((package / part).glob("[!_]*.py")):
            import_module(f"memcli.{part}.{module.stem}")
    for name in ("numpy", "sqlite_utils", "llama_cpp", "typer", "rich.table", "pathspec", "yaml"):
        import_module(name)
    for command in COMMANDS:
        import_module(f"memcli.cli.commands.{'_'.join(command.words)}")


if __name__ == "__main__":
    _serve(sys.argv[1])
