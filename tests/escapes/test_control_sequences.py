"""No command lets a control sequence out of notes, names, queries or files act on a terminal."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from escapes.conftest import Asked
from escapes.hostile_project import ALL, NAME, QUERY, Ground, Printed, named, poison_index
from escapes.terminal_checker import harm_in

from memcli.cli.command_table import COMMANDS
from memcli.memory.hashing import canonical_json

BAD = f"x{ALL}"
# Commands that only look; those that change something are below. ``<run>`` and the like are
# filled in. Formats that are data for programs have tests of their own.
LOOKING: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("status", "-C", BAD),
    ("status", f"--{BAD}"),
    ("doctor",),
    ("config", "show"),
    ("config", "show", "--embedder", BAD),
    ("config", "show", "--embedder", f"./{BAD}"),
    ("config", "show", "--gpu", BAD),
    ("memory", "list", "--left-out"),
    ("memory", "show", "<note>"),
    ("memory", "show", "docs/matter.md", "--units"),
    ("memory", "show", BAD),
    ("activate", QUERY),
    ("activate", QUERY, "--explain", "--no-record"),
    ("activate", "roll back by name", "--format", "markdown"),
    ("activate", QUERY, "--format", "markdown"),
    ("activate", "roll back by name", "--format", "xml"),
    ("activate", QUERY, "--format", "xml"),
    ("activate", QUERY, "--state", BAD),
    ("activate", QUERY, "--state-out", f"/nowhere{BAD}/x", "--no-record"),
    ("activate", QUERY, "--reranker", BAD),
    ("activate", QUERY, "--reranker", "odd", "--no-record"),
    ("activate", "--queries", BAD),
    ("activate", QUERY, "--open", "1"),
    ("why", QUERY, "<note>"),
    ("why", QUERY, "docs/matter.md"),
    ("why", QUERY, f"folder{NAME}/off{NAME}.md"),
    ("why", QUERY, BAD),
    ("index", "list"),
    ("index", "keep", BAD),
    ("head", "show"),
    ("head", "swap", BAD),
    ("runs", "list"),
    ("runs", "list", "--all-projects"),
    ("runs", "list", "--since", BAD),
    ("runs", "show", "<run>"),
    ("runs", "show", "<other>"),
    ("runs", "show", "<run>", "--resources"),
    ("runs", "show", "<run>", "--candidate", "1"),
    ("runs", "show", "<run>", "--candidate", BAD),
    ("runs", "show", BAD),
    ("runs", "diff", "<run>", "<other>"),
    ("runs", "diff", BAD, "<run>"),
    ("runs", "pin", BAD),
    ("runs", "unpin", BAD),
    ("runs", "delete", BAD, "--yes"),
    ("runs", "delete", "<free>", "--dry-run"),
    ("case", "create", BAD),
    ("case", "create", "--since", BAD),
    ("case", "list", "--all-projects"),
    ("case", "next"),
    ("case", "show", "<case>"),
    ("case", "show", "<draft>"),
    ("case", "show", "<case>", "--resources"),
    ("case", "show", "<case>", "--search", f"deploy {ALL}"),
    ("case", "show", BAD),
    ("case", "resolve", "<case>", "--expected-version", "2", "--evidence", BAD),
    ("case", "resolve", "<case>", "--expected-version", "2", "--evidence", f"unit:{BAD}"),
    ("case", "resolve", "<case>", "--expected-version", "2", "--evidence", f"resource:{BAD}"),
    ("case", "resolve", "<case>", BAD),
    ("case", "delete", "<draft>", "--dry-run"),
    ("case", "delete", BAD, "--yes"),
    ("report",),
    ("report", "<case>"),
    ("report", "<fixture>"),
    ("report", BAD),
    ("report", f"/{BAD}"),
    ("report", "--html", "-"),
    ("gate", "<case>", "--recorded", "--require", BAD),
    ("gate", "<case>", "--recorded", "--require", "b4_reranked.ndcg_at_10>=0.99"),
    ("export", "--out", f"/dev/null/{NAME}"),
    ("export", "--out", "x", BAD),
    ("models", "list"),
    ("models", "add", BAD, BAD),
    ("models", "add", "ok", BAD),
    ("models", "add", "ok", "<fixture>"),
    ("models", "use", BAD),
    ("models", "use", "odd"),
    ("models", "pull", BAD),
    ("models", "pull", "bge-m3", "--url", BAD),
    ("models", "pull", "bge-m3", "--sha256", BAD),
    ("models", "pull", "bge-m3", "--offline"),
    ("models", "verify", BAD),
    ("clear", "--dry-run"),
    ("forget", "--dry-run"),
    ("forget", BAD, "--dry-run"),
    ("completion", "bash"),
    ("completion", BAD),
    ("init", "--dry-run"),
    (BAD,),
    ("runs", BAD),
)  # fmt: skip
CHANGING: tuple[tuple[str, ...], ...] = (
    ("index", "build"),
    ("index", "build", "--force", "-v"),
    ("index", "keep", "<revision>"),
    ("head", "swap"),
    ("head", "swap", "--previous"),
    ("runs", "pin", "<free>"),
    ("runs", "unpin", "<free>"),
    ("report", "--html", f"{NAME}.html", "--csv", f"out{NAME}/r.csv"),
    ("export", "--out", f"json{NAME}"),
    ("export", "--out", f"trec{NAME}", "--format", "trec"),
    ("export", "--out", f"beir{NAME}", "--format", "beir"),
    ("models", "use", "bundled"),
    ("models", "use", "bundled", "--in-project"),
    ("case", "create", "<free>"),
    ("case", "resolve", "<draft>", "--expected-version", "1", "--none-matched"),
    ("case", "delete", "<draft>", "--yes"),
    ("runs", "delete", "<other>", "--yes"),
    ("clear", "--yes"),
    ("init", "--yes"),
    ("forget", "--yes"),
)  # fmt: skip
RERUN = ("rerun", "<case>", "--rounds", "1")
DRAWS_PROGRESS = (("index", "build"), ("models", "pull"), ("rerun",), ("gate",))


def assert_harmless(done: Printed, arguments: tuple[str, ...], *, terminal: bool) -> None:
    own = "text" if terminal else ""
    bar = (terminal and arguments[:2] in DRAWS_PROGRESS) or arguments[:1] in DRAWS_PROGRESS
    assert harm_in(done.out, own=own) == []
    assert harm_in(done.err, own="progress" if bar else own) == []
    for trouble in (b"Traceback", b"internal_error"):
        assert trouble not in done.err
    # A line feed in a name cannot begin a line that looks like ours.
    shown = done.err if "--format" in arguments or "--html" in arguments else done.out + done.err
    assert not re.search(rb"^\W*error: forged", shown, re.MULTILINE)


@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
@pytest.mark.parametrize("arguments", LOOKING, ids=named)
def test_what_a_command_shows_is_harmless(
    asked: Asked, arguments: tuple[str, ...], terminal: bool
) -> None:
    done = asked.ground.memcli(*asked.filled(arguments), terminal=terminal, env={"EDITOR": BAD})
    assert done.out or done.err
    assert_harmless(done, arguments, terminal=terminal)


def test_what_a_changing_command_shows_is_harmless(own_ground: Asked) -> None:
    twice = [(arguments, terminal) for arguments in CHANGING for terminal in (True, False)]
    for arguments, terminal in ((RERUN, True), *twice):
        words = own_ground.filled(arguments)
        done = own_ground.ground.memcli(*words, terminal=terminal)
        assert done.out or done.err
        assert_harmless(done, arguments, terminal=terminal)


def test_every_command_is_driven_here() -> None:
    driven = {*LOOKING, *CHANGING, RERUN}
    missing = [
        each.words
        for each in COMMANDS
        if not any(words[: len(each.words)] == each.words for words in driven)
    ]
    assert missing == []


@pytest.mark.parametrize(
    "text",
    [
        f"{json.dumps(ALL)} = 1",
        f"id = {json.dumps(ALL)}",
        f"[models]\nembedder = {json.dumps(ALL)}",
        f"[models]\ngpu = {json.dumps(ALL)}",
        f"[limits]\n{json.dumps(ALL)} = 1",
        f"[[source]]\nroot = {json.dumps('../' + ALL)}",
        f"[[source]]\nroot = {json.dumps(ALL)}",
        f"[[source]]\nkind = {json.dumps(ALL)}",
        f"[[source]]\nprefix = {json.dumps(ALL)}",
        f"[[source]]\ninclude = {json.dumps('../' + ALL)}",
        f"[[source]]\nexclude = {json.dumps(ALL)}\ninclude = {json.dumps('*.' + ALL)}",
        f"x = {ALL}",
    ],
)
def test_what_a_settings_file_holds_is_harmless_in_messages(
    text: str, tmp_path: Path, one_model: None
) -> None:
    ground = Ground(tmp_path)
    ground.root.mkdir()
    (ground.root / "a.md").write_text("# A\n")
    (ground.root / "memcli.toml").write_text(text, encoding="utf-8", newline="")
    for terminal in (False, True):
        for arguments in (("status",), ("config", "show"), ("init", "--dry-run"), ("doctor",)):
            done = ground.memcli(*arguments, terminal=terminal)
            assert_harmless(done, arguments, terminal=terminal)


@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
def test_an_index_that_a_clone_brought_is_harmless(own_ground: Asked, terminal: bool) -> None:
    ground = own_ground.ground
    poison_index(ground.root)
    for arguments in (
        ("index", "list"), ("head", "show"), ("head", "swap"), ("index", "keep", "Zq"),
        ("index", "keep", "Zq\x1b"), ("status",), ("doctor",), ("activate", QUERY, "--explain"),
        ("why", QUERY, "docs/rollback.md"), ("head", "swap", "--previous"), ("index", "build"),
    ):  # fmt: skip
        done = ground.memcli(*arguments, terminal=terminal)
        assert_harmless(done, arguments, terminal=terminal)


@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
def test_a_fixture_that_somebody_sent_is_harmless(
    asked: Asked, terminal: bool, tmp_path: Path
) -> None:
    document = orjson.loads(Path(asked.words["fixture"]).read_bytes())
    text = orjson.dumps(document).decode()
    for case in document["cases"]:
        text = text.replace(case["case_id"], json.dumps(f"\x1b[31mZq{ALL}")[1:-1])
    document = orjson.loads(text)
    evil = f"\x1b[31mZq{ALL}"
    document["excluded"] = [{"case_id": evil, "status": "draft", "reason": evil}]
    document["counts"]["excluded"] = 1
    fixture = tmp_path / "sent.json"
    fixture.write_bytes(signed(document))
    for options in ((), ("--html", "-")):
        done = asked.ground.memcli("report", str(fixture), *options, terminal=terminal)
        assert done.status == 0, done.err
        assert_harmless(done, ("report", *options), terminal=terminal)


def signed(document: dict[str, Any]) -> bytes:
    """A fixture's bytes with the hash of its own content at the end."""
    document.pop("sha256")
    content = canonical_json(document)
    digest = hashlib.sha256(content).hexdigest()
    return content[:-1] + f',"sha256":"{digest}"}}'.encode()
