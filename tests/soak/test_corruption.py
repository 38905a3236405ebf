"""A seeded part of the soak's damaged files: ``python benchmarks/soak.py --only damage``."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from soaking.corruption import trials
from soaking.damage_ground import TARGETS
from soaking.tally import Plan

COUNT = 30
# The others need models of their own, or a journal.
SHARES = {
    "index": 8, "vectors": 2, "lexicon": 2, "token vectors": 1, "seen files": 1,
    "project id": 2, "history": 8, "bodies": 3, "fixture": 3,
}  # fmt: skip


def test_damage_ends_in_the_right_answer_or_in_a_clear_error_with_a_repair(tmp_path: Path) -> None:
    targets = [replace(it, share=SHARES[it.name]) for it in TARGETS if it.name in SHARES]
    tried: Counter[str] = Counter()
    for trial in trials(Plan(tmp_path, COUNT, seed=6), targets):
        tried[trial.target.name] += 1
        assert not trial.faults, trial.faults
    assert tried == SHARES
