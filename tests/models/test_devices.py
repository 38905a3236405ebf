"""Where models run is said, and never quietly another place (F27)."""

from __future__ import annotations

import pytest

from memcli.errors import InvalidInput, NotReady
from memcli.models.devices import choose_device, usable_cores
from memcli.models.native_library import native


def test_threads_come_from_the_machine_unless_given() -> None:
    assert choose_device("off", 0).threads == usable_cores()
    assert choose_device("off", 3).threads == 3


def test_a_required_gpu_that_is_missing_is_an_error_not_a_silent_cpu() -> None:
    if native().llama_supports_gpu_offload():
        assert choose_device("require", 0).name == "gpu"
        return
    with pytest.raises(NotReady, match="GPU is required"):
        choose_device("require", 0)
    assert choose_device("auto", 0).name == "cpu"


def test_an_unknown_choice_is_named() -> None:
    with pytest.raises(InvalidInput, match="gpu is 'yes'"):
        choose_device("yes", 0)
