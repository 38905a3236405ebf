"""Export: fixture and report side by side, for their owner alone, complete or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest
from evaluation.factory import PROJECT, corpus, make_case

from memcli.errors import Conflict, Failure, InvalidInput, NotReady
from memcli.evaluation.cases import delete_case
from memcli.evaluation.export import ExportSummary, ExportTargets, export_set, export_targets
from memcli.evaluation.fixture_reader import report_from_fixture
from memcli.evaluation.report import report_bytes
from memcli.evaluation.resolve import resolve_case
from memcli.evaluation.stored_set import stored_set
from memcli.history.clearing import clear_runs
from memcli.history.store import HistoryStore


@pytest.fixture
def filled(store: HistoryStore) -> HistoryStore:
    for _ in range(2):
        case = make_case(store)
        resolve_case(
            store, case.case_id, project_id=PROJECT, expected_version=1, evidence=["rank:2"]
        )
    make_case(store)
    return store


def export(store: HistoryStore, targets: ExportTargets) -> ExportSummary:
    with stored_set(store, project_id=PROJECT) as source:
        return export_set(source, targets)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


def test_an_export_writes_two_siblings_and_the_report_is_the_one_of_the_fixture(
    filled: HistoryStore, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "out"
    summary = export(filled, export_targets(out))
    assert summary == ExportSummary((out / "fixture.json", out / "report.json"), 2, 1)
    assert modes(out) == {"fixture.json": 0o600, "report.json": 0o600}
    assert out.stat().st_mode & 0o777 == 0o700
    written = (out / "report.json").read_bytes()
    assert written == report_bytes(report_from_fixture(out / "fixture.json"))
    assert orjson.loads(written)["cases"] == 2


def test_files_are_for_their_owner_alone_whatever_the_umask_and_the_old_mode(
    filled: HistoryStore, tmp_path: Path
) -> None:
    target = tmp_path / "set.json"
    target.write_text("old")
    target.chmod(0o644)
    before = os.umask(0)
    try:
        export(filled, export_targets(target))
    finally:
        os.umask(before)
    found = modes(tmp_path)
    assert found["set.json"] == found["set.report.json"] == 0o600


def test_what_out_means(tmp_path: Path) -> None:
    folder, file = tmp_path / "out", tmp_path / "set.json"
    assert export_targets(folder) == ExportTargets(folder / "fixture.json", folder / "report.json")
    assert export_targets(file) == ExportTargets(file, tmp_path / "set.report.json")
    assert export_targets(file, report=False) == ExportTargets(file, None)
    assert export_targets(file, fixture=False) == ExportTargets(None, file)
    assert export_targets(folder, fixture=False) == ExportTargets(None, folder / "report.json")
    file.mkdir()
    assert export_targets(file).fixture == file / "fixture.json"
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(InvalidInput, match="is a file"):
        export_targets(tmp_path / "notes")
    with pytest.raises(InvalidInput, match="neither"):
        export_targets(folder, fixture=False, report=False)


@pytest.mark.parametrize(("fixture", "report"), [(True, False), (False, True)])
def test_either_can_be_written_alone_with_the_same_bytes(
    filled: HistoryStore, tmp_path: Path, fixture: bool, report: bool
) -> None:
    both, one = tmp_path / "both", tmp_path / "one"
    export(filled, export_targets(both))
    summary = export(filled, export_targets(one, fixture=fixture, report=report))
    (path,) = summary.files
    assert list(one.iterdir()) == [path]
    assert path.read_bytes() == (both / path.name).read_bytes()


def test_exporting_again_gives_the_same_bytes(filled: HistoryStore, tmp_path: Path) -> None:
    for name in ("one", "two"):
        export(filled, export_targets(tmp_path / name))
    for name in ("fixture.json", "report.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_without_a_ready_case_nothing_is_written_and_old_files_stay(
    store: HistoryStore, tmp_path: Path
) -> None:
    make_case(store)
    (tmp_path / "fixture.json").write_text("old")
    with pytest.raises(NotReady) as caught:
        export(store, export_targets(tmp_path))
    assert caught.value.code == "case_not_ready"
    assert (tmp_path / "fixture.json").read_text() == "old"
    assert not (tmp_path / "report.json").exists()


def test_a_target_that_cannot_be_written_is_a_failure_that_names_it(
    filled: HistoryStore, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(Failure, match="file") as caught:
        export(filled, export_targets(tmp_path / "file" / "below"))
    assert caught.value.code == "export_failed"


def test_a_body_that_is_collected_while_it_is_exported_stops_the_export_whole(
    store: HistoryStore, tmp_path: Path
) -> None:
    case = make_case(store, corpus(own="only here"))
    resolve_case(store, case.case_id, project_id=PROJECT, expected_version=1, evidence=["rank:1"])
    with stored_set(store, project_id=PROJECT) as source:
        delete_case(store, case.case_id, project_id=PROJECT)
        clear_runs(store, project_id=None)
        with pytest.raises(Conflict) as caught:
            export_set(source, export_targets(tmp_path / "out"))
    assert caught.value.code == "busy"
    assert list((tmp_path / "out").iterdir()) == []
