"""Why there is no head to answer from, in the words that help."""

from __future__ import annotations

from collections.abc import Sequence

from memcli.errors import NotReady
from memcli.index.locking import running_build
from memcli.index.revisions import FAILED, READY, RevisionInfo
from memcli.index.storage import IndexStorage


def nothing_ready(storage: IndexStorage, revisions: Sequence[RevisionInfo]) -> NotReady:
    """``index_preparing``, ``index_build_failed`` or ``index_not_ready``, with what to do."""
    holder = running_build(storage)
    if holder is not None:
        return NotReady(
            "index_preparing",
            f"the first index is being built by {holder}",
            "Ask again when it is done; `memcli status` shows whether it is still running.",
        )
    if any(each.status == READY for each in revisions):
        return NotReady(
            "index_not_ready",
            "a revision is ready, but none is the head",
            "Run `memcli head swap` to use the newest.",
        )
    if revisions and revisions[-1].status == FAILED:
        return NotReady(
            "index_build_failed",
            f"the last build failed: {revisions[-1].error}",
            "Remove the cause and run `memcli index build`.",
        )
    return NotReady(
        "index_not_ready", "no index has been built yet", "Run `memcli index build` first."
    )
