"""The one facade: everything that a command, a script or another program asks of memcli."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from memcli.facade.surroundings import Surroundings
from memcli.facade.workspace import Memcli

if TYPE_CHECKING:
    from memcli.evaluation.gate import Rule
    from memcli.facade.answers import Answer as Answer
    from memcli.facade.views import BuildReport as BuildReport
    from memcli.facade.views import NoteView as NoteView

__all__ = ["Memcli", "Surroundings", "captured_native_output", "engine_versions", "read_rules"]


def captured_native_output() -> AbstractContextManager[None]:
    """Keep what native code prints away from file descriptors 1 and 2 for a while."""
    from memcli.models.native_library import captured_descriptors

    return captured_descriptors()


def engine_versions() -> dict[str, str]:
    """Versions of what memcli stands on."""
    import platform
    import sqlite3
    from importlib.metadata import version

    from memcli.models.native_library import system_information

    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "llama-cpp-python": version("llama-cpp-python"),
        "llama.cpp": system_information().strip(),
    }


def read_rules(texts: Sequence[str]) -> list[Rule]:
    """The rules of a gate as typed. Raises ``InvalidInput`` ``invalid_rule``."""
    from memcli.evaluation.gate import read_rule

    return [read_rule(text) for text in texts]
