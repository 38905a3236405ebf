"""A project in which every name and text that can hold a control sequence holds some."""

from __future__ import annotations

import io
import json
import os
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from escapes.terminal_checker import MARK

from memcli.cli.environment import Environment
from memcli.cli.ladder import run as run_command
from memcli.index.row_digests import COVERED, define_digests, seal

SEQUENCES = (
    "\x1b[31m", "\x1b[2J", "\x1b[5m", "\x1b]0;owned\x07", "\x1b]52;c;cm0gLXJm\x07",
    "\x1b]8;;http://evil.example\x1b\\", "\x1bP1$r\x1b\\", "\x9b31m", "\x9d0;t\x9c", "\x7f", "\r",
    "\x08\x08", "\x0b\x0c", "\x0e\x0f", "\x85", "\u202e", "\u2066", "\u200f", "\u061c",
)  # fmt: skip
# Everything at once, a mark behind each, and what is invisible but harmless.
ALL = MARK.join(SEQUENCES) + MARK + "\u200b\ufeff\u2028"
# What a file name can hold besides, and keep on one line of YAML.
NAME = "a\x1b[31mZq\x1b]52;c;QQ\x07Zq\u202eZq\x9b2JZq\x7f\nerror: forged [x]"
QUERY = f"how do we roll back{ALL} a bad deploy?"


@dataclass(frozen=True, slots=True)
class Printed:
    """Both streams of a finished command, as bytes, and its status."""

    status: int
    out: bytes
    err: bytes

    @property
    def document(self) -> Any:
        return orjson.loads(self.out)


@dataclass(frozen=True, slots=True)
class Ground:
    """A project at ``root``; memcli's own files lie in folders with names as bad as its notes'."""

    base: Path

    @property
    def root(self) -> Path:
        return self.base / f"proj{NAME}"

    @property
    def home(self) -> Path:
        return self.base / f"home{NAME}"

    @property
    def config(self) -> Path:
        return self.base / f"config{NAME}"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "MEMCLI_HOME": str(self.home),
            "MEMCLI_CONFIG": str(self.config),
            "HOME": str(self.base),
            "PATH": "/usr/bin:/bin",
            "TERM": "xterm-kitty",
            "COLUMNS": "100",
        }

    def memcli(
        self,
        *arguments: str,
        terminal: bool = False,
        given: bytes = b"",
        typed: bool = False,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Printed:
        """Run a command in this process, piped or with all streams as a ``terminal``."""
        out, err = io.BytesIO(), io.BytesIO()
        environment = Environment(
            stdin=io.BytesIO(given),
            stdout=out,
            stderr=err,
            stdin_is_terminal=typed,
            stdout_is_terminal=terminal,
            stderr_is_terminal=terminal,
            environ={**self.environ, **(env or {})},
            working_directory=cwd or self.root,
        )
        status = run_command(list(arguments), environment)
        return Printed(int(status), out.getvalue(), err.getvalue())

    def must(self, *arguments: str, **more: Any) -> Printed:
        done = self.memcli(*arguments, **more)
        assert done.status == 0, done.err
        return done


def named(words: tuple[str, ...]) -> str:
    """A name for a test about a command line that no terminal would like to show."""
    return re.sub("[^ -~]+", "?", " ".join(words))[:48]


def write_notes(root: Path) -> None:
    """Notes with sequences in names, front matter, headings and texts; faults of every kind."""
    (root / "docs").mkdir(parents=True)
    (root / "memcli.toml").write_text("")
    plain = f"# Rolling back {ALL}\n\nRoll back a bad deploy {ALL} with shipctl.\n"
    (root / "docs/rollback.md").write_text(plain, newline="")
    long = "".join(f"## Part {n} {ALL}\n\n{'Roll back a deploy. ' * 30}{ALL}\n\n" for n in range(4))
    (root / "docs/long.md").write_text(f"# Deploys {ALL}\n\n{long}", newline="")
    # YAML's own escapes bring through what its reader refuses raw.
    matter = f"title: {json.dumps('title ' + ALL)}\ndescription: {json.dumps('deploys ' + ALL)}\n"
    matter += f"id: {json.dumps('id' + ALL)}\nkind: {json.dumps(ALL[:60])}\n"
    (root / "docs/matter.md").write_text(f"---\n{matter}---\nA bad deploy {ALL}\n", newline="")
    broken = f"---\ntitle: [{ALL}\nid: {ALL}\n{ALL}: {{\n---\nA deploy {ALL}\n"
    (root / "docs/broken.md").write_text(broken, newline="")
    toml = f'+++\ntitle = "{ALL}\nkind = {ALL}\n+++\nRoll back {ALL}\n'
    (root / "docs/toml.md").write_text(toml, newline="")
    (root / "docs/bytes.md").write_bytes(b"Roll back \xff\xfe \x1b[2JZq\n")
    folder = root / f"folder{NAME}"
    folder.mkdir()
    (folder / f"{NAME}.md").write_text(f"# {ALL}\n\nRoll back a bad deploy by name.\n", newline="")
    (folder / f"same{NAME}.md").write_text("---\nid: twice\n---\nOnce.\n")
    (folder / f"same{NAME}2.md").write_text("---\nid: twice\n---\nTwice.\n")
    (folder / f"empty{NAME}.md").write_text("")
    (folder / f"gone{NAME}.md").symlink_to(f"/nowhere/{NAME}")
    (folder / f"out{NAME}.md").symlink_to("/etc/passwd")
    (folder / f"linked{NAME}").symlink_to(root / "docs")
    (folder / f"off{NAME}.md").write_text("---\nenabled: false\n---\nOff.\n")
    os.mkfifo(folder / f"pipe{NAME}.md")
    (root / ".gitignore").write_bytes(b"drop\x1b[2JZq*\n*\x9b.md\n")
    (root / "drop\x1b[2JZq.md").write_text("dropped\n")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\x1b[2JZq.md")).write_text("no name\n")
    (root / ".memcli.local" / "docs").mkdir(parents=True)
    (root / ".memcli.local/docs/long.md").write_text(f"# {ALL}\n\nMine. {ALL}\n", newline="")


def break_profiles(config: Path) -> None:
    """Model profiles with sequences in their names and values."""
    models = config / "models"
    models.mkdir(parents=True)
    (models / f"{NAME}.toml").write_text("role = 1\n")
    (models / "odd.toml").write_text(f"role = {orjson.dumps(ALL).decode()}\n", newline="")
    (models / "none.toml").write_text(f"{ALL}\n", newline="")


def poison_index(root: Path) -> None:
    """An index as a hostile clone could bring it: sequences in ids and texts of every kind."""
    evil = f"\x1b[31m{MARK}{ALL}"
    with sqlite3.connect(root / ".memcli/search-index.sqlite") as connection:
        for table, column in connection.execute(
            "SELECT m.name, c.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c"
            " WHERE m.type = 'table' AND m.name IN ('search_resources', 'search_revisions')"
            " AND c.type = 'TEXT' AND c.name NOT LIKE '%hash%' AND c.name NOT IN"
            " ('revision_id', 'resource_id', 'status', 'recipe', 'body', 'path', 'file_path')"
        ).fetchall():
            connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (evil,))
        connection.execute(
            "INSERT INTO search_revisions SELECT "
            + ", ".join(
                "?" if name == "revision_id" else name
                for (_, name, *_) in connection.execute("PRAGMA table_info(search_revisions)")
            )
            + " FROM search_revisions LIMIT 1",
            (f"Zq{evil}",),
        )
        connection.execute("UPDATE search_heads SET previous = ?", (f"Zq{evil}",))
        reseal(connection)
    connection.close()


def reseal(connection: sqlite3.Connection) -> None:
    """Give edited rows the digest of what they hold now, as whoever made the clone could."""
    define_digests(connection)
    for table in COVERED:
        connection.execute(seal(table, "1"))
