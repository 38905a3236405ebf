"""A user is told what is known: failed records, why a file is no note, what history holds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest
from cli.case_support import CaseBench, validate

from memcli.errors import NotReady
from memcli.facade import Memcli
from memcli.models.profile_store import ProfileStore

Write = Callable[[Mapping[str, str]], Path]
Open = Callable[..., Memcli]
PROFILE = """\
role = "{role}"
file = "/nowhere/{name}.gguf"
sha256 = "{digest}"
size = 1
pooling = "{pooling}"
"""


def run(
    root: Path, env: Mapping[str, str], *arguments: str, given: bytes = b""
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "memcli", *arguments]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, input=given)
    return subprocess.CompletedProcess(
        command, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


# A failed Run that cannot be recorded


@pytest.fixture
def unrecordable(write_notes: Write, homes: dict[str, str]) -> Path:
    """A project without an index, whose history is a file that is no database."""
    root = write_notes({"a.md": "text"})
    home = Path(homes["MEMCLI_HOME"])
    home.mkdir()
    (home / "local.db").write_bytes(b"damaged" * 1000)
    return root


def test_a_failed_run_that_cannot_be_recorded_is_one_warning_before_the_error(
    unrecordable: Path, homes: dict[str, str]
) -> None:
    done = run(unrecordable, homes, "activate", "anything")
    assert done.returncode == 3
    warning, error, *_ = done.stderr.splitlines()
    assert warning.startswith("warning: ")
    assert "local.db" in warning
    assert "[index_not_ready]" in error
    assert done.stderr.count("warning:") == 1


def test_under_json_the_warning_is_beside_the_error(
    unrecordable: Path, homes: dict[str, str]
) -> None:
    done = run(unrecordable, homes, "activate", "anything", "--json")
    document = orjson.loads(done.stderr)
    schema = Path(__file__).parents[2] / "memcli/facade/schemas/memcli.error.v1.json"
    jsonschema.validate(document, orjson.loads(schema.read_bytes()))
    assert document["error"]["code"] == "index_not_ready"
    assert len(document["warnings"]) == 1


def test_many_queries_give_the_warning_once(unrecordable: Path, homes: dict[str, str]) -> None:
    done = run(unrecordable, homes, "activate", "--queries", "-", given=b'"a"\n"b"\n"c"\n')
    assert done.stderr.count("warning:") == 1
    assert done.stdout.count("index_not_ready") == 3


def test_a_run_whose_end_cannot_be_recorded_warns_too(
    write_notes: Write, open_project: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begun, but its failure could not be written."""
    from memcli.history.recording import RunRecorder

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RunRecorder, "fail", full)
    memcli = open_project(write_notes({"a.md": "text"}))
    with pytest.raises(NotReady) as caught:
        memcli.activate_memory("anything")
    (warning,) = caught.value.warnings
    assert warning.startswith("this failure was not recorded: ")
    assert "No space left" in warning


def test_a_failure_that_was_recorded_warns_of_nothing(
    write_notes: Write, open_project: Open
) -> None:
    memcli = open_project(write_notes({"a.md": "text"}))
    with pytest.raises(NotReady) as caught:
        memcli.activate_memory("anything")
    assert caught.value.warnings == ()


# Why a file is no note


@pytest.mark.parametrize(
    ("asked", "reason", "says"),
    [
        ("main.py", "suffix_not_indexed", 'include = ["*.md", "*.py"]'),
        ("Makefile", "suffix_not_indexed", 'include = ["*.md", "Makefile"]'),
        ("node_modules/b.md", "built_in", "never "),
        (".git/c.md", "never_searched", ".git"),
        ("docs", "directory", "name one of the notes in it"),
        ("/etc/passwd", "outside_sources", "none of the folders"),
        ("nope.md", "no_such_file", "there is no such file"),
    ],
)
def test_why_says_what_keeps_a_file_out_and_how_to_take_it_in(
    write_notes: Write,
    open_project: Open,
    one_model: None,
    monkeypatch: pytest.MonkeyPatch,
    asked: str,
    reason: str,
    says: str,
) -> None:
    notes = {"a.md": "text", "main.py": "x", "Makefile": "x", "docs/d.md": "text"}
    root = write_notes({**notes, "node_modules/b.md": "x", ".git/c.md": "x"})
    memcli = open_project(root)
    memcli.build_index()
    monkeypatch.chdir(root)
    story = memcli.explain_note("text", asked)
    assert story.memory_reason == reason
    assert says in story.verdict
    validate(story.document(), "memcli.why.v1")
    from memcli.errors import InvalidInput

    with pytest.raises(InvalidInput) as caught:
        memcli.show_note(asked)
    assert says in caught.value.message


def test_the_include_that_it_names_takes_the_file_in(
    write_notes: Write, open_project: Open
) -> None:
    root = write_notes({"a.md": "text", "main.py": "# a program"})
    (root / "memcli.toml").write_text('[[source]]\ninclude = ["*.md", "*.py"]\n')
    resources = open_project(root).effective_memory().memory.resources
    assert [each.path for each in resources] == ["a.md", "main.py"]


# What history holds


def test_status_counts_runs_and_cases(tmp_path: Path) -> None:
    bench = CaseBench(tmp_path)
    bench.ready()
    bench.draft("another question")
    bench.fail()
    document: Any = bench.run("status", "--json").document
    validate(document, "memcli.status.v1")
    assert document["history"] == {
        "runs": {"succeeded": 2, "failed": 1},
        "pinned": 2,
        "cases": {"ready": 1, "draft": 1},
    }
    shown = bench.run("status").out
    assert "3 (1 failed, 2 succeeded), 2 pinned" in shown
    assert "2 (1 draft, 1 ready)" in shown


def test_status_of_a_damaged_history_says_so_once(tmp_path: Path) -> None:
    bench = CaseBench(tmp_path)
    bench.ready()
    bench.store.path.write_bytes(b"damaged" * 1000)
    done = bench.run("status", "--json")
    assert done.status == 0
    assert done.document["history"] is None
    validate(done.document, "memcli.status.v1")
    assert sum("local.db" in each for each in done.document["warnings"]) == 1


# Model names at a key press


def test_profiles_are_offered_where_a_model_is_named(
    write_notes: Write, homes: dict[str, str]
) -> None:
    from memcli.cli.completion.spec import program_spec
    from memcli.facade.completing import known_words

    root = write_notes({})
    store = ProfileStore(Path(homes["MEMCLI_CONFIG"]))
    store.directory.mkdir(parents=True)
    for name, role, pooling in (("mine", "embed", "mean"), ("judge", "rerank", "rank")):
        text = PROFILE.format(name=name, role=role, pooling=pooling, digest="a" * 64)
        store.path_of(name).write_text(text)

    def offered(kind: str) -> set[str]:
        return {word for word, _ in known_words(root, None, homes, kind, "")}

    assert offered("embedders") == {"bundled", "mine"}
    assert offered("rerankers") == {"late_interaction", "judge"}
    assert offered("models") == {"bundled", "mine", "late_interaction", "judge"}
    places = {
        (command.name, name): value.kind
        for command in program_spec().commands
        for name, value in command.valued()
        if name in ("--embedder", "--reranker")
    }
    assert set(places.values()) == {"embedders", "rerankers"}
    for command in program_spec().commands:
        if command.name in ("models use", "models verify"):
            assert command.arguments[0].kind == "models"
