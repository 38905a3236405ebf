"""Real processes: every command line test runs the program as a user's shell would."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

NOTES = {
    "docs/rollback.md": (
        "# Rolling back\n\nRoll back a bad deploy with `shipctl rollback --to previous`. "
        "It takes six minutes and needs no permission.\n"
    ),
    "docs/oncall.md": (
        "---\ntitle: On call\ndescription: Who carries the pager and when it is handed over\n"
        "kind: runbook\n---\n# On call\n\nThe pager is handed over on Tuesday at ten.\n"
    ),
    "docs/certificates.md": (
        "# Certificates\n\nTLS certificates are renewed every ninety days by the gateway itself.\n"
    ),
    "docs/quick.md": "quick ok\n",
    "docs/部署.md": "# 部署手册\n\n部署前先通知值班同学，数据库迁移必须在低峰期执行。\n",
    "AGENTS.md": "# Rules\n\nNever push to main without review. Tests must pass first.\n",
}


@dataclass(frozen=True, slots=True)
class Done:
    """A finished command."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return orjson.loads(self.out)

    @property
    def error(self) -> Any:
        return orjson.loads(self.err)["error"]


Run = Callable[..., Done]


def run_program(
    *arguments: str,
    env: Mapping[str, str],
    cwd: Path,
    given: bytes = b"",
    timeout: float = 120,
) -> Done:
    done = subprocess.run(
        [sys.executable, "-m", "memcli", *arguments],
        input=given,
        capture_output=True,
        env=dict(env),
        cwd=cwd,
        timeout=timeout,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="session")
def built_project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A small project, indexed once with the real model; tests that change it copy it."""
    base = tmp_path_factory.mktemp("built")
    root = base / "project"
    for path, text in NOTES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (root / "memcli.toml").write_text('id = "small"\n')
    env = {
        "MEMCLI_HOME": str(base / "central"),
        "MEMCLI_CONFIG": str(base / "config"),
        "HOME": str(base),
        "PATH": "/usr/bin:/bin",
    }
    done = run_program("index", "build", env=env, cwd=root)
    assert done.status == 0, done.err
    return root, env


@pytest.fixture
def memcli(built_project: tuple[Path, dict[str, str]]) -> Run:
    """Run the program in the small project, which is only read."""
    root, env = built_project

    def run(*arguments: str, **more: Any) -> Done:
        extra = more.pop("env", {})
        return run_program(*arguments, env={**env, **extra}, cwd=more.pop("cwd", root), **more)

    return run


@pytest.fixture
def own_memcli(built_project: tuple[Path, dict[str, str]], tmp_path: Path) -> tuple[Run, Path]:
    """The program in a copy of the small project that the test may change."""
    import shutil

    root, env = built_project
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    own = {**env, "MEMCLI_HOME": str(tmp_path / "central"), "HOME": str(tmp_path)}

    def run(*arguments: str, **more: Any) -> Done:
        extra = more.pop("env", {})
        return run_program(*arguments, env={**own, **extra}, cwd=more.pop("cwd", copy), **more)

    return run, copy
