"""``index build --watch``: rebuilds as files change, one line an event, and ends cleanly."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest
from conftest_types import Run

Watch = Callable[..., "Watching"]


class Watching:
    """A watch that runs; its lines on stderr come as they are written."""

    def __init__(self, root: Path, env: dict[str, str], arguments: tuple[str, ...]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "memcli", "index", "build", "--watch", *arguments],
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._rest = b""

    def line(self, seconds: float = 60) -> str:
        """The next line on stderr."""
        assert self.process.stderr is not None
        descriptor = self.process.stderr.fileno()
        end = time.monotonic() + seconds
        while b"\n" not in self._rest:
            assert time.monotonic() < end, f"no line came: {self._rest!r}"
            if select.select([descriptor], [], [], 0.1)[0]:
                part = os.read(descriptor, 65536)
                assert part, f"it ended: {self._rest!r}"
                self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def started(self) -> None:
        while not self.line().startswith("watching "):
            pass

    def is_silent(self, seconds: float) -> bool:
        assert self.process.stderr is not None
        if self._rest:
            return False
        return not select.select([self.process.stderr.fileno()], [], [], seconds)[0]

    def end(self, number: signal.Signals = signal.SIGINT) -> tuple[int, str, str]:
        """Status, what is left of stdout and of stderr."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out.decode(), (self._rest + err).decode()


@pytest.fixture
def watch(
    own_memcli: tuple[Run, Path], built_project: tuple[Path, dict[str, str]], tmp_path: Path
) -> Iterator[Watch]:
    """Start a watch of the test's own copy of the small project."""
    started: list[Watching] = []
    env = {**built_project[1], "MEMCLI_HOME": str(tmp_path / "central"), "HOME": str(tmp_path)}

    def start(*arguments: str, **more: str) -> Watching:
        watching = Watching(own_memcli[1], {**env, **more}, arguments)
        started.append(watching)
        return watching

    yield start
    for each in started:
        each.process.kill()
        each.process.communicate()


def test_a_new_an_edited_and_a_deleted_note_are_each_one_line_and_then_answered_from(
    watch: Watch, own_memcli: tuple[Run, Path]
) -> None:
    run, root = own_memcli
    watching = watch()
    watching.started()
    note = root / "docs/coffee.md"
    note.write_text("# Coffee\n\nThe coffee machine is descaled on Fridays.\n")
    line = watching.line()
    assert "docs/coffee.md: built " in line
    assert "(1 embedded, " in line
    query = "when is the coffee machine descaled"
    first = run("activate", query, "--json").document["fragments"][0]
    assert first["path"] == "docs/coffee.md"
    # As editors save: a temporary file, renamed over the note.
    temporary = root / "docs/.coffee.md.swp"
    temporary.write_text("# Coffee\n\nThe coffee machine is descaled on Mondays.\n")
    temporary.replace(note)
    assert "docs/coffee.md: built " in watching.line()
    assert "Mondays" in run("activate", query, "--json").document["fragments"][0]["text"]
    note.unlink()
    assert "docs/coffee.md: " in watching.line()
    status, _, err = watching.end()
    assert status == 130
    assert err == ""
    after = run("activate", query, "--json").document
    assert "docs/coffee.md" not in [each["path"] for each in after["fragments"]]
    assert after["notices"] == []


def test_many_changes_at_once_are_one_event(watch: Watch, own_memcli: tuple[Run, Path]) -> None:
    _, root = own_memcli
    watching = watch()
    watching.started()
    for number in range(6):
        (root / f"docs/n{number}.md").write_text(f"# Note {number}\n\nIt says {number}.\n")
    line = watching.line()
    assert "docs/n0.md, docs/n1.md, docs/n2.md and 3 more: built " in line
    assert watching.is_silent(1.5)


def test_folders_that_appear_are_watched_too(watch: Watch, own_memcli: tuple[Run, Path]) -> None:
    _, root = own_memcli
    watching = watch()
    watching.started()
    (root / "guides/deep").mkdir(parents=True)
    (root / "guides/deep/a.md").write_text("# A\n\nOne.\n")
    assert "guides/deep/a.md: built " in watching.line()
    (root / "guides/deep/b.md").write_text("# B\n\nTwo.\n")
    assert "guides/deep/b.md: built " in watching.line()


def test_what_is_no_memory_wakes_nobody(watch: Watch, own_memcli: tuple[Run, Path]) -> None:
    _, root = own_memcli
    (root / ".gitignore").write_text("private/\n")
    (root / ".git").mkdir()
    for folder in ("private", "node_modules"):
        (root / folder).mkdir()
    watching = watch()
    watching.started()
    for path in ("docs/code.py", "private/x.md", "node_modules/y.md", ".git/z.md", ".memcli/w.md"):
        (root / path).write_text("# not a note\n")
    # Longer than the look that is taken without being woken.
    assert watching.is_silent(7)


def test_the_models_are_loaded_once(
    watch: Watch, own_memcli: tuple[Run, Path], tmp_path: Path
) -> None:
    """With the file gone, a second load would fail."""
    from memcli.models.profile import BUNDLED_EMBEDDER

    _, root = own_memcli
    model = tmp_path / "copy.gguf"
    shutil.copyfile(BUNDLED_EMBEDDER.file, model)
    watching = watch("--json", "-q", "--embedder", str(model))
    assert watching.process.stdout is not None
    assert orjson.loads(watching.process.stdout.readline())["created"] is True
    model.unlink()
    for number in range(2):
        (root / f"docs/n{number}.md").write_text(f"# Note {number}\n\nIt says {number}.\n")
        document = orjson.loads(watching.process.stdout.readline())
        assert document["schema"] == "memcli.index.build.v1"
        assert document["embedded"] == 1
    assert watching.end() == (130, "", "")


def test_settings_that_change_apply_and_a_fault_in_them_is_told_once(
    watch: Watch, own_memcli: tuple[Run, Path]
) -> None:
    _, root = own_memcli
    settings = root / "memcli.toml"
    before = settings.read_text()
    watching = watch()
    watching.started()
    settings.write_text(before + "[limit]\n")
    line = watching.line()
    assert "memcli.toml" in line
    assert "unknown key limit" in line
    assert watching.is_silent(6)
    settings.write_text(before + '[[source]]\ninclude = ["AGENTS.md"]\n')
    assert "memcli.toml" in watching.line()
    run, _ = own_memcli
    assert [each["path"] for each in run("memory", "list", "--json").document["resources"]] == [
        "AGENTS.md"
    ]
    assert run("status", "--json").document["index"]["behind"] is False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_it_waits_or_builds_ends_it_with_130_and_a_sound_head(
    watch: Watch, own_memcli: tuple[Run, Path], number: signal.Signals
) -> None:
    run, root = own_memcli
    waiting = watch()
    waiting.started()
    status, _, err = waiting.end(number)
    assert (status, err) == (130, "")
    building = watch()
    building.started()
    for note in range(150):
        text = f"# Note {note}\n\n" + f"sentence {note} about something. " * 60
        (root / f"docs/n{note}.md").write_text(text)
    # Longer than it takes to notice, much shorter than it takes to embed.
    holder = root / ".memcli/build-holder.json"
    end = time.monotonic() + 30
    while not holder.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    time.sleep(0.5)
    status, _, err = building.end(number)
    assert status == 130
    assert "Traceback" not in err
    assert not holder.exists()
    answer = run("activate", "how do I roll back a bad deploy?", "--json")
    assert answer.document["fragments"][0]["path"] == "docs/rollback.md"
    assert run("doctor", "--json").document["counts"]["broken"] == 0


def test_a_build_that_fails_is_a_line_and_the_watch_goes_on(
    watch: Watch, own_memcli: tuple[Run, Path]
) -> None:
    from filelock import FileLock

    _, root = own_memcli
    watching = watch("--no-wait")
    watching.started()
    with FileLock(root / ".memcli/build.lock"):
        (root / "docs/new.md").write_text("# New\n\nIt is new.\n")
        assert "[busy]" in watching.line()
        assert watching.is_silent(6)
    (root / "docs/newer.md").write_text("# Newer\n\nIt is newer.\n")
    assert "docs/new.md, docs/newer.md: built " in watching.line()


def test_a_watch_of_a_directory_that_goes_away_says_what_is_wrong(
    watch: Watch, own_memcli: tuple[Run, Path]
) -> None:
    _, root = own_memcli
    watching = watch()
    watching.started()
    shutil.rmtree(root / "docs")
    line = watching.line()
    assert "built " in line
    assert watching.process.poll() is None
