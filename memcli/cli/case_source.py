"""Which Cases a command scores: names of Cases, or one fixture, told apart as `report` does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.errors import InvalidInput

if TYPE_CHECKING:
    from memcli.cli.environment import Environment
    from memcli.facade.case_views import CaseSource


def is_fixture(name: str) -> bool:
    """A name with a slash or the end ``.json``, or - for standard input."""
    return name == "-" or name.lower().endswith(".json") or "/" in name or os.sep in name


def fixture_among(environment: Environment, names: Sequence[str]) -> bytes | Path | None:
    """The fixture that is named: its path, or its bytes from standard input; else ``None``.

    Raises ``InvalidInput`` ``usage`` where anything is named beside it.
    """
    fixtures = [name for name in names if is_fixture(name)]
    if not fixtures:
        return None
    if len(names) > 1:
        raise InvalidInput("usage", "give Cases or one fixture, not both")
    if fixtures[0] == "-":
        return environment.stdin.read()
    return environment.working_directory / Path(fixtures[0]).expanduser()


def case_source(environment: Environment, names: Sequence[str], all_projects: bool) -> CaseSource:
    """The Cases that ``names`` mean; none: all of the project."""
    from memcli.facade.case_views import CaseSource

    if names and all_projects:
        raise InvalidInput("usage", "give CASE... or --all-projects, not both")
    fixture = fixture_among(environment, names)
    return CaseSource(None if fixture is not None else names or None, all_projects, fixture)
