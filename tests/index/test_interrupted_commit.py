"""An interrupt right behind the commit of a swap leaves the new head as it is."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import os, signal, sqlite3, sys, time
from datetime import datetime, timezone
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from stand_in import StandInEmbedder
from memcli.configuration import resolve_configuration
from memcli.index import builder
from memcli.index.storage import IndexStorage
from memcli.memory.synthesis import effective_memory

root = Path(sys.argv[1])


class Impatient:  # the real connection, whose user presses Ctrl-C while COMMIT works

    def __init__(self, connection):
        self.connection, self.armed = connection, False

    def __getattr__(self, name):
        return getattr(self.connection, name)

    def execute(self, statement, *arguments):
        result = self.connection.execute(statement, *arguments)
        self.armed = self.armed or "search_heads" in statement and "SELECT" not in statement
        if statement == "COMMIT" and self.armed:
            self.armed = False
            os.kill(os.getpid(), signal.SIGINT)
        return result


real = builder.open_index
builder.open_index = lambda path: Impatient(real(path))
environ = {"HOME": str(root.parent), "MEMCLI_CONFIG": str(root.parent / "config")}
configuration = resolve_configuration(root, environ, {})
builder.build_index(
    IndexStorage(root.parent / "index"),
    lambda known: effective_memory(configuration, environ, known),
    StandInEmbedder(),
    now=lambda: datetime(2026, 1, 1, tzinfo=timezone.utc),
    clock=time.monotonic,
    new_revision_id=lambda: "first",
)
"""


def test_an_interrupt_at_the_commit_of_a_swap_does_not_destroy_the_new_head(
    tmp_path: Path,
) -> None:
    from memcli.index.reader import open_head
    from memcli.index.storage import IndexStorage

    root = tmp_path / "project"
    root.mkdir()
    (root / "a.md").write_text("# A\n\nsome text\n")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(root), str(Path(__file__).parent.parent)],
        capture_output=True,
        text=True,
    )
    assert done.returncode in (1, -signal.SIGINT), done.stderr
    assert "KeyboardInterrupt" in done.stderr
    with open_head(IndexStorage(tmp_path / "index")) as reader:
        assert reader.revision.revision_id == "first"
        assert reader.revision.status == "ready"
        assert reader.unit_count == 1
