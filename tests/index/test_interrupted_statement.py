"""Ctrl-C while SQLite computes digests in Python is an interrupt, and no damaged index."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

STATEMENT = """
import os, signal, sqlite3, sys, threading, time
from memcli.index.row_digests import define_digests
from memcli.interrupts import called_by_sqlite, raise_interrupts

raise_interrupts()
connection = sqlite3.connect(":memory:")
define_digests(connection)
connection.set_progress_handler(called_by_sqlite(lambda: False), 1000)
strike = lambda: (time.sleep(0.02), os.kill(os.getpid(), int(sys.argv[1])))
threading.Thread(target=strike).start()
try:
    connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
        " SELECT count(row_digest(i, 'a note', text_sha256('a note'))) FROM n"
    ).fetchone()
    time.sleep(60)
except KeyboardInterrupt:
    sys.exit(7)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_among_digests_is_no_damage(number: signal.Signals) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STATEMENT, str(int(number))], capture_output=True, timeout=120
    )
    assert (ended.returncode, ended.stderr) == (7, b"")
