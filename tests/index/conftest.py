"""One project's index storage in a fresh directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from memcli.index.storage import IndexStorage


@pytest.fixture
def storage(tmp_path: Path) -> IndexStorage:
    return IndexStorage.of_project(tmp_path / "project")
