"""The operations that are killed and meet full disks, prepared once from one ground."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from soaking.fault_layer import compiled, why_unavailable
from soaking.operations import OPERATIONS as ALL_OPERATIONS
from soaking.promises import Prepared, expected
from soaking.trials import make_stages
from soaking.warm_program import WarmProgram

# What a first use does is a build and a record; it takes the longest by far.
OPERATIONS = [each for each in ALL_OPERATIONS if each.name != "first use"]


@pytest.fixture(params=[each.name for each in OPERATIONS])
def name(request: pytest.FixtureRequest) -> str:
    """Each operation's name in turn."""
    return str(request.param)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    """Each operation by name, with what is stored before it and after it."""
    if reason := why_unavailable():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("faults")
    with WarmProgram(keep_models=True) as program:
        yield {
            stage.operation.name: (stage, expected(stage))
            for stage in make_stages(folder, compiled(folder), program, OPERATIONS)
        }
