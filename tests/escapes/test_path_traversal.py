"""Ids, hashes, names and links lead nowhere: nothing outside is read, written or deleted (F23)."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cli.case_support import CaseBench
from escapes.conftest import Asked
from escapes.hostile_project import reseal
from escapes.test_control_sequences import signed

from memcli.cli.environment import process_environment
from memcli.errors import MemcliError
from memcli.evaluation.rankings import VARIANTS
from memcli.facade import Memcli, Surroundings
from memcli.facade.case_access import ExportFormat

LEADING_OUT = (
    "../../victim.md", "/etc/passwd", "..", "../", "./../x", "~/victim.md", "a/../../victim.md",
    "C:\\victim.md", "..\\..\\victim.md", "%2e%2e%2fvictim.md", "con", "-rf", "--help", "a\u2215b",
)  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path) -> CaseBench:
    return CaseBench(tmp_path)


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A folder beside the project; it is as it was at the end of the test."""
    folder = tmp_path / "victim"
    folder.mkdir()
    (folder / "secret.md").write_text("# Secret\n\nThe password is tulip.\n")
    (folder / "victim.md").write_text("mine\n")
    before = state_of(folder)
    yield folder
    assert state_of(folder) == before


def state_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(each.relative_to(folder)): (each.lstat().st_mode, each.read_bytes())
        for each in sorted(folder.rglob("*"))
        if each.is_file()
    }


def made_below(folder: Path) -> set[str]:
    return {str(each.relative_to(folder)) for each in folder.rglob("*")}


# Ids and names in notes


def test_ids_that_look_like_paths_are_only_names(
    write_notes: Callable[[Mapping[str, str]], Path],
    open_project: Callable[..., Memcli],
    victim: Path,
    tmp_path: Path,
) -> None:
    notes = {
        f"note{at}.md": f"---\nid: {json.dumps(name)}\n---\n# Tulips {at}\n\nTulips grow, {at}.\n"
        for at, name in enumerate(LEADING_OUT)
    }
    root = write_notes(notes)
    memcli = open_project(root)
    memcli.build_index()
    answer = memcli.activate_memory("tulips grow")
    assert {each.resource_id for each in answer.activation.fragments} <= set(LEADING_OUT)
    case = memcli.create_evaluation_case()
    memcli.resolve_evaluation_case(case.case_id, expected_version=1, evidence=["rank:1"])
    around = made_below(tmp_path) - {"out", "central", "config"}
    for form in ("json", "trec", "beir"):
        memcli.export_evaluation_set(tmp_path / "out" / form, form=ExportFormat(form))
    written = {name for name in made_below(tmp_path) - around if not name.startswith("out")}
    assert {name.partition("/")[0] for name in written} <= {"central", "config", "project"}
    assert made_below(tmp_path / "out") == {
        "json", "json/fixture.json", "json/report.json",
        "trec", "trec/qrels.txt",
        *(f"trec/{name}.run" for name in VARIANTS),
        "beir", "beir/corpus.jsonl", "beir/queries.jsonl", "beir/qrels.tsv",
    }  # fmt: skip
    # To open a fragment goes by the file that was read, never by the id.
    for fragment in answer.activation.fragments:
        file = memcli.file_of(fragment.resource_id, fragment.scope, fragment.path, None)
        assert file.parent == root


@pytest.mark.parametrize(
    "value", ['"a\\u0000b"', '"\\u001b[2J"', '"a\\nb"', "x" * 600, '"\\u202e"']
)
def test_ids_with_control_characters_or_without_end_are_not_taken(
    write_notes: Callable[[Mapping[str, str]], Path],
    open_project: Callable[..., Memcli],
    value: str,
) -> None:
    memcli = open_project(write_notes({"a.md": f"---\nid: {value}\n---\ntext\n"}))
    (resource,) = memcli.effective_memory().memory.resources
    assert resource.resource_id in ("a.md", "a b")


def test_a_fixture_names_no_file(asked: Asked, tmp_path: Path, victim: Path) -> None:
    text = Path(asked.words["fixture"]).read_text(encoding="utf-8")
    document = json.loads(text)
    for case in document["cases"]:
        case["case_id"] = "../../victim/victim"
        case["run"]["run_id"] = "/etc/passwd"
    fixture = tmp_path / "sent.json"
    fixture.write_bytes(signed(document))
    before = made_below(tmp_path)
    done = asked.ground.memcli("report", str(fixture), "--html", str(tmp_path / "r.html"))
    assert done.status == 0, done.err
    assert made_below(tmp_path) - before == {"r.html"}


# Rows of a store


@pytest.mark.parametrize(
    "name", ["../../../../victim/secret.md", "/etc/passwd", "ab" * 31, "A" * 64]
)
def test_a_row_that_names_another_file_as_a_body_reads_and_deletes_nothing(
    bench: CaseBench, victim: Path, name: str
) -> None:
    case_id, run_id = bench.ready(), bench.asked("another question")
    with sqlite3.connect(bench.store.path) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        for table, column in (
            ("retrieval_run_resources", "body_sha256"),
            ("evaluation_corpus_resources", "body_sha256"),
        ):
            connection.execute(f"UPDATE {table} SET {column} = ?", (name,))
        connection.execute("UPDATE OR REPLACE retrieval_corpus_blobs SET sha256 = ?", (name,))
    connection.close()
    for arguments in (
        ("runs", "show", run_id), ("runs", "show", run_id, "--candidate", "1"),
        ("case", "show", case_id), ("case", "show", case_id, "--search", "password tulip"),
        ("export", "--out", str(bench.base / "out")), ("report",), ("case", "create", run_id),
        ("runs", "delete", run_id, "--yes"), ("clear", "--yes"), ("doctor",), ("forget", "--yes"),
    ):  # fmt: skip
        done = bench.run(*arguments)
        assert "tulip" not in done.out + done.err.replace("password tulip", "")
        assert "internal_error" not in done.err
        assert "Traceback" not in done.err


def test_clear_deletes_nothing_behind_a_link_in_the_store(
    bench: CaseBench, victim: Path, tmp_path: Path
) -> None:
    bench.asked()
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / ("ab" * 32)).write_text("not ours\n")
    blobs = bench.store.blobs.blobs
    (blobs / "zz").symlink_to(outside)
    own = next(each for each in blobs.glob("??/*") if each.parent.name != "zz")
    own.unlink()
    own.symlink_to(victim / "victim.md")
    assert bench.run("clear", "--yes").status == 0
    assert (outside / ("ab" * 32)).exists()


@pytest.mark.parametrize(
    "reference", ["%", "_", "*", "%%", "____", "' OR 1=1 --", "\0", "", "last%"]
)
def test_a_wildcard_is_the_beginning_of_no_id(bench: CaseBench, reference: str) -> None:
    bench.ready()
    for command in (("runs", "show"), ("case", "show"), ("runs", "delete"), ("case", "delete")):
        done = bench.run(*command, reference, "--yes")
        assert done.status == 1
        assert "not_found]" in done.err
    assert len(bench.run("runs", "list", "--json").document["runs"]) == 1


# An index, a project


def test_a_revisions_id_in_a_clones_index_is_no_path(
    write_notes: Callable[[Mapping[str, str]], Path],
    open_project: Callable[..., Memcli],
    victim: Path,
) -> None:
    root = write_notes({"a.md": "Tulips grow.\n"})
    open_project(root).build_index()
    evil = "x/../../../victim/secret"
    for name in ("vectors-x", "lexicon-x"):
        (root / ".memcli" / name).mkdir()
    with sqlite3.connect(root / ".memcli/search-index.sqlite") as connection:
        for table in ("search_revisions", "search_resources", "search_units", "search_units_fts"):
            connection.execute(f"UPDATE {table} SET revision_id = ?", (evil,))
        connection.execute("UPDATE search_heads SET head = ?", (evil,))
        reseal(connection)
    connection.close()
    memcli = open_project(root)
    with pytest.raises(MemcliError) as caught:
        memcli.activate_memory("tulips")
    assert caught.value.code == "index_damaged"
    for attempt in (memcli.show_head, memcli.swap_head, memcli.build_index):
        with contextlib.suppress(MemcliError):
            attempt()
    for derived in (memcli.storage.vectors, memcli.storage.lexicon):
        with pytest.raises(MemcliError, match="index_damaged"):
            derived(evil)


@pytest.mark.parametrize("name", ["../..", "/etc", "..%", "%", "*", "", "\0"])
def test_a_revision_is_named_by_its_id_alone(
    write_notes: Callable[[Mapping[str, str]], Path],
    open_project: Callable[..., Memcli],
    name: str,
) -> None:
    memcli = open_project(write_notes({"a.md": "Tulips grow.\n"}))
    head = memcli.build_index().summary.head
    for attempt in (lambda: memcli.keep_revision(name), lambda: memcli.swap_head(name or "\0")):
        with pytest.raises(MemcliError):
            attempt()
    assert memcli.show_head().revision.revision_id == head


@pytest.mark.parametrize(
    "link",
    ["memcli.toml", ".memcli", ".memcli.local", ".memcli/project-id", ".gitignore", "docs", "a.md"],
)
def test_no_link_that_a_clone_brings_is_followed_out_of_it(
    tmp_path: Path, homes: dict[str, str], victim: Path, link: str
) -> None:
    root = tmp_path / "project"
    (root / ".memcli").mkdir(parents=True)
    (root / "b.md").write_text("Roses grow.\n")
    if link != "memcli.toml":
        (root / "memcli.toml").touch()
    targets = {
        "memcli.toml": 'id = "stolen"\n', ".gitignore": "tulip-rule*\n",
        ".memcli/project-id": "stolen-word\n", "a.md": "tulip\n",
    }  # fmt: skip
    target = tmp_path / "target"
    if link in targets:
        target.write_text(targets[link])
    else:
        target.mkdir()
        (target / "c.md").write_text("A tulip.\n")
    before = state_of(target) if target.is_dir() else {"": (0, target.read_bytes())}
    place = root / link
    if link == ".memcli":
        place.rmdir()
    place.symlink_to(target)
    commands = (
        ("status",), ("memory", "list"), ("index", "build"), ("activate", "tulip"),
        ("init", "--dry-run"), ("models", "use", "bundled", "--in-project"), ("doctor",),
    )  # fmt: skip
    for arguments in commands:
        done = run_in(root, homes, *arguments)
        # What `init` would take over of a linked file is shown, and is a word of that file's.
        assert "stolen" not in done or arguments[0] == "init"
        assert "A tulip" not in done
        assert "tulip-rule" not in done
        assert "internal_error" not in done
    after = state_of(target) if target.is_dir() else {"": (0, target.read_bytes())}
    assert after == before
    if target.is_dir():
        assert made_below(target) == {"c.md"}


def run_in(root: Path, environ: Mapping[str, str], *arguments: str) -> str:
    """What a command shows on both streams."""
    import io
    from dataclasses import replace

    from memcli.cli.ladder import run

    out = io.BytesIO()
    environment = replace(
        process_environment(), stdin=io.BytesIO(), stdout=out, stderr=out, environ=environ,
        stdin_is_terminal=False, stdout_is_terminal=False, stderr_is_terminal=False,
        working_directory=root,
    )  # fmt: skip
    run(list(arguments), environment)
    return out.getvalue().decode()


def test_the_users_own_links_are_followed(
    tmp_path: Path, homes: dict[str, str], write_notes: Callable[[Mapping[str, str]], Path]
) -> None:
    """A home on another disk, a config folder from a repository: their owner put them there."""
    root = write_notes({"a.md": "Roses grow.\n"})
    for name in ("central", "config"):
        (tmp_path / f"real-{name}").mkdir()
        (tmp_path / name).symlink_to(tmp_path / f"real-{name}")
    with Memcli.open(root, project=root, surroundings=Surroundings(environ=homes)) as memcli:
        memcli.build_index()
        assert memcli.activate_memory("roses").run_id
    assert (tmp_path / "real-central/local.db").is_file()


# Exports


@pytest.mark.parametrize("form", ["json", "trec", "beir"])
def test_an_export_replaces_links_of_its_names_and_not_what_they_lead_to(
    bench: CaseBench, victim: Path, form: str
) -> None:
    bench.ready()
    first = bench.base / "first"
    assert bench.run("export", "--out", str(first), "--format", form).status == 0
    out = bench.base / "out"
    out.mkdir()
    for each in first.iterdir():
        (out / each.name).symlink_to(victim / "victim.md")
    assert bench.run("export", "--out", str(out), "--format", form).status == 0
    for each in first.iterdir():
        assert not (out / each.name).is_symlink()
        assert (out / each.name).read_bytes() == each.read_bytes()
    for option in ("--html", "--csv"):
        page = bench.base / f"report{option}"
        page.symlink_to(victim / "victim.md")
        assert bench.run("report", option, str(page)).status == 0
        assert not page.is_symlink()


def test_a_state_replaces_a_link_and_not_what_it_leads_to(
    write_notes: Callable[[Mapping[str, str]], Path],
    open_project: Callable[..., Memcli],
    tmp_path: Path,
    victim: Path,
) -> None:
    memcli = open_project(write_notes({"a.md": "Roses grow.\n"}))
    memcli.build_index()
    place = tmp_path / "state.json"
    place.symlink_to(victim / "victim.md")
    memcli.write_state(memcli.activate_memory("roses"), place)
    assert not place.is_symlink()


# Models


@pytest.mark.parametrize(
    "name", ["../x", "/x", "a/b", "..", ".", ".x", "", "a\0b", "a\nb", "x.gguf", "con:", "x" * 200]
)
def test_a_models_name_is_no_path(
    open_project: Callable[..., Memcli],
    write_notes: Callable[[Mapping[str, str]], Path],
    tmp_path: Path,
    victim: Path,
    name: str,
) -> None:
    memcli = open_project(write_notes({}))
    file = tmp_path / "some.gguf"
    file.write_bytes(b"GGUF")
    before = made_below(tmp_path)
    attempts: tuple[Callable[[], Any], ...] = (
        lambda: memcli.add_model(name, file, copy=True),
        lambda: memcli.pull_model(name, url="http://127.0.0.1:9/x"),
        lambda: memcli.use_model(name),
    )
    for attempt in attempts:
        with pytest.raises(MemcliError):
            attempt()
    assert made_below(tmp_path) - before == set()


def test_a_redirect_to_a_file_is_not_followed(tmp_path: Path, victim: Path) -> None:
    from memcli.models.web_address import check_address, web_opener

    for address in ("file:///etc/passwd", "ftp://h/x", "data:,x", "//h/x", "gopher://h", ""):
        with pytest.raises(MemcliError):
            check_address(address)
    with pytest.raises(OSError, match="unknown url type"):
        web_opener({}).open((victim / "secret.md").as_uri())


# A race


def test_a_note_that_became_a_link_after_the_walk_is_not_read(tmp_path: Path, victim: Path) -> None:
    """The walk saw a file; what is opened is never a link."""
    from memcli.memory.decoding import Unreadable, read_document

    note = tmp_path / "a.md"
    note.symlink_to(victim / "secret.md")
    document, _ = read_document(str(note), "a.md", 1000)
    assert isinstance(document, Unreadable)
    os.unlink(note)
