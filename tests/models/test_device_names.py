"""The device is told as it is: which kind, which name, how much of a model is on it (F27)."""

from __future__ import annotations

from memcli.models.device_names import describe_device, graphics_devices
from memcli.models.devices import Device
from memcli.models.native_library import native


def test_the_cpu_is_called_the_cpu_and_a_build_without_gpu_says_so() -> None:
    told = describe_device(Device("cpu", 0, 2))
    assert told.startswith("cpu, 2 threads")
    if not native().llama_supports_gpu_offload():
        assert "no GPU support" in told
        assert graphics_devices() == ()


def test_layers_on_a_gpu_are_told_with_every_gpu_that_takes_them() -> None:
    assert describe_device(Device("gpu", -1, 4)).startswith("gpu, all layers on ")
    assert describe_device(Device("gpu", 7, 4)).startswith("gpu, 7 layers on ")
