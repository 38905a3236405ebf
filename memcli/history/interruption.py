"""Finds ``running`` Runs whose process is gone, and ends them as ``retrieval_interrupted``."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from memcli.history.clocks import seconds_since
from memcli.history.digests import seal_run
from memcli.history.processes import ProcessMark, is_gone

INTERRUPTED_CODE = "retrieval_interrupted"
INTERRUPTED_STAGE = "process"
INTERRUPTED_SUMMARY = "The process that asked ended before it recorded an answer."

RUNNING = "SELECT run_id, process, created_at FROM retrieval_runs WHERE status = 'running'"
# When it ended is not known: completed_at stays NULL, as every reader showed it before.
SETTLE = """
UPDATE retrieval_runs
SET status = 'failed', error_stage = ?, error_code = ?, error_summary = ?
WHERE run_id = ? AND status = 'running'
"""


def interrupted_runs(connection: sqlite3.Connection, now: datetime) -> frozenset[str]:
    """Ids of ``running`` Runs whose process has certainly ended.

    A reader asks before it opens its snapshot: whatever a process that is gone
    by now has committed is then in that snapshot, and a Run that ended well in
    between is not called interrupted.
    """
    return frozenset(
        run_id
        for run_id, process, created_at in connection.execute(RUNNING)
        if is_gone(ProcessMark.from_json(process), seconds_since(created_at, now))
    )


def settle_interrupted(connection: sqlite3.Connection, now: datetime) -> int:
    """Store what readers show already, in the caller's write transaction; how many there were."""
    gone = interrupted_runs(connection, now)
    connection.executemany(
        SETTLE,
        [(INTERRUPTED_STAGE, INTERRUPTED_CODE, INTERRUPTED_SUMMARY, run_id) for run_id in gone],
    )
    for run_id in gone:
        seal_run(connection, run_id)
    return len(gone)
