"""A failed activation records what is known of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from memcli.errors import Failure, NotReady
from memcli.facade import Memcli, Surroundings


def test_without_an_index_the_run_is_failed_with_its_code_and_no_corpus(
    write_notes: Callable[[Mapping[str, str]], Path], open_project: Callable[..., Memcli]
) -> None:
    memcli = open_project(write_notes({"a.md": "text"}))
    with pytest.raises(NotReady):
        memcli.activate_memory("anything")
    document: dict[str, Any] = memcli.get_retrieval_run("last").document()
    run = document["run"]
    assert run["status"] == "failed"
    assert run["error"]["stage"] == "open"
    assert run["error"]["code"] == "index_not_ready"
    assert document["resources"] == []


def test_a_deadline_after_loading_records_revision_models_and_counts(
    write_notes: Callable[[Mapping[str, str]], Path],
    open_project: Callable[..., Memcli],
    homes: dict[str, str],
) -> None:
    root = write_notes({"a.md": "some text about deploys"})
    open_project(root).build_index()
    ticks = itertools.chain([0.0] * 8, itertools.count(61.0))
    around = Surroundings(environ=homes, clock=lambda: float(next(ticks)))
    with (
        Memcli.open(root, project=root, surroundings=around) as memcli,
        pytest.raises(Failure) as caught,
    ):
        memcli.activate_memory("deploys")
    assert caught.value.code == "activation_deadline"
    run = open_project(root).get_retrieval_run("last").document()["run"]
    assert run["error"]["code"] == "activation_deadline"
    assert run["revision_id"]
    assert run["effective_hash"]
    assert run["counts"]["units"] == 1
