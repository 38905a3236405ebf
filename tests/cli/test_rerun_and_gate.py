"""``rerun`` and ``gate`` with the real model: the same scores again, and statuses for CI."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import orjson
import pytest
from cli.case_support import validate
from conftest_types import Run

QUESTIONS = {
    "how do we roll back a bad deploy?": "docs/rollback.md",
    "who carries the pager": "docs/oncall.md",
    "部署前先通知谁": "docs/部署.md",
}


@pytest.fixture
def labelled(own_memcli: tuple[Run, Path]) -> tuple[Run, Path]:
    """The small project with a ready Case for each question, one of them with a fragment."""
    run, root = own_memcli
    for at, (question, note) in enumerate(QUESTIONS.items()):
        run_id = run("activate", question, "--json").document["run_id"]
        case = run("case", "create", run_id, "--json").document["created"][0]["case"]
        evidence = "rank:1" if at == 0 else f"resource:{note}"
        done = run("case", "resolve", case["case_id"], "--expected-version", "1",
                   "--evidence", evidence)  # fmt: skip
        assert done.status == 0, done.err
    return run, root


def contents(*folders: Path) -> dict[str, str]:
    """Every file's digest, but for what SQLite makes to read: shared memory and an empty log."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith("-shm")
        if path.stat().st_size or not path.name.endswith("-wal")
    }


def test_the_same_models_and_limits_give_the_recorded_scores_again(
    labelled: tuple[Run, Path],
) -> None:
    run, root = labelled
    before = contents(root, root.parent / "central")
    done = run("rerun", "--rounds", "1", "--json")
    assert done.status == 0, done.err
    document: dict[str, Any] = done.document
    validate(document, "memcli.rerun.v1")
    assert document["cases"] == 3
    for variant, now in document["variants"].items():
        for name, value in document["recorded"][variant].items():
            if not name.startswith("warm"):
                assert now[name] == pytest.approx(value, abs=1e-12), (variant, name)
    assert document["counts"]["lost_unit_evidence"] == 0
    assert contents(root, root.parent / "central") == before, "neither index nor history changes"


def test_lower_limits_of_now_are_in_force(labelled: tuple[Run, Path]) -> None:
    run, root = labelled
    with (root / "memcli.toml").open("a") as settings:
        settings.write("[limits]\nreranked = 1\n")
    document = run("rerun", "--rounds", "1", "--json").document
    assert document["settings"]["limits"]["reranked"] == 1
    assert all(case["variants"]["b4_reranked"]["candidates"] == 1 for case in document["per_case"])


def test_a_changed_note_is_not_what_a_rerun_searches(labelled: tuple[Run, Path]) -> None:
    run, root = labelled
    (root / "docs/rollback.md").write_text("# Other\n\nNothing about that any more.\n")
    assert run("index", "build").status == 0
    run_id = run("activate", "who carries the pager", "--json").document["run_id"]
    case_id = run("case", "create", run_id, "--json").document["created"][0]["case"]["case_id"]
    done = run("case", "resolve", case_id, "--expected-version", "1", "--evidence", "rank:1")
    assert done.status == 0, done.err
    document = run("rerun", "--rounds", "1", "--json").document
    assert document["cases"] == 4, "of two corpora"
    assert document["variants"]["b4_reranked"] | {"warm_p50_us": 0, "warm_p95_us": 0} == {
        **document["recorded"]["b4_reranked"], "warm_p50_us": 0, "warm_p95_us": 0,
    }  # fmt: skip
    assert document["variants"]["b4_reranked"]["ndcg_at_10"] == 1.0


def test_a_fixture_is_asked_again_where_there_is_no_history(
    labelled: tuple[Run, Path], tmp_path: Path
) -> None:
    run, _ = labelled
    assert run("export", "--out", str(tmp_path / "out")).status == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "memcli.toml").touch()
    env = {"MEMCLI_HOME": str(tmp_path / "no-home")}
    fixture = str(tmp_path / "out/fixture.json")
    done = run("rerun", fixture, "--rounds", "1", "--csv", "-", cwd=elsewhere, env=env)
    assert done.status == 0, done.err
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["ndcg_at_10"] for row in rows if row["variant"] == "b4_reranked"] == ["1.0"] * 4
    assert sorted(os.listdir(elsewhere)) == ["memcli.toml"], "nothing is built there"
    assert not (tmp_path / "no-home").exists()
    given = Path(fixture).read_bytes()
    done = run("gate", "-", "--require", "cases>=3", "--json", cwd=elsewhere, env=env, given=given)
    assert (done.status, done.document["passed"]) == (0, True)


def test_a_gate_says_on_how_many_cases_it_rests_and_exits_by_its_rules(
    labelled: tuple[Run, Path],
) -> None:
    run, _ = labelled
    rules = ("--require", "b4_reranked.ndcg_at_10>=1", "--require", "b4_reranked.mrr_at_10.drop<=0")
    done = run("gate", *rules, "--json")
    assert done.status == 0, done.err
    validate(done.document, "memcli.gate.v1")
    assert "rests on 3 cases" in done.document["notes"][0]
    failed = run("gate", "--recorded", "--require", "cases>=4", "--json")
    assert (failed.status, failed.error["code"]) == (4, "gate_failed")
    assert failed.document["rules"] == [{"rule": "cases>=4", "value": 3.0, "held": False}]
    assert failed.document["of"] == "memcli.report.v1"
    text = run("gate", "--recorded", "--require", "cases>=4")
    assert "FAIL\tcases>=4\t3" in text.out
    assert text.status == 4


def test_a_resolved_case_that_cannot_be_scored_fails_the_gate(labelled: tuple[Run, Path]) -> None:
    """F30."""
    run, root = labelled
    shutil.rmtree(root.parent / "central/evaluation-corpora")
    done = run("gate", "--recorded", "--require", "cases>=1")
    assert (done.status, "case_not_ready" in done.err) == (3, True)
    assert "Traceback" not in done.err


def test_a_gate_without_a_case_is_not_ready_and_without_a_rule_a_usage_error(
    own_memcli: tuple[Run, Path],
) -> None:
    run, _ = own_memcli
    assert run("gate", "--require", "cases>=1").status == 3
    assert run("rerun").status == 3
    for wrong in ((), ("--require", "quality>=1"), ("--require", "cases>=1", "a.json", "b.json")):
        assert run("gate", *wrong).status == 2
    done = run("gate", "nowhere.json", "--require", "cases>=1", "--json")
    assert (done.status, orjson.loads(done.err)["error"]["code"]) == (1, "fixture_invalid")


def test_a_damaged_case_fails_the_gate_whatever_its_status_says(
    labelled: tuple[Run, Path],
) -> None:
    run, root = labelled
    with sqlite3.connect(root.parent / "central/local.db") as connection:
        connection.execute(
            "UPDATE evaluation_cases SET status = 'draft'"
            " WHERE case_id = (SELECT min(case_id) FROM evaluation_cases)"
        )
    connection.close()
    done = run("gate", "--recorded", "--require", "cases>=1", "--json")
    assert (done.status, done.error["code"], len(done.document["lost"])) == (4, "gate_failed", 1)
    assert run("report").status == 3
