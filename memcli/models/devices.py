"""Where a model runs: how many threads, and whether a GPU takes part."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from memcli.errors import InvalidInput, NotReady
from memcli.models.native_library import native

GPU_CHOICES = ("auto", "off", "require")


@dataclass(frozen=True, slots=True)
class Device:
    """Where a model is loaded: ``layers`` of it on the GPU (-1: all), ``threads`` of CPU."""

    name: str
    layers: int
    threads: int


def choose_device(gpu: str, threads: int) -> Device:
    """Resolve the ``gpu`` choice and the number of threads (0: one a usable core).

    Raises ``NotReady`` ``model_not_ready`` where a GPU is required and this
    build of llama.cpp has none, so that nobody runs on the CPU unawares.
    """
    if gpu not in GPU_CHOICES:
        raise InvalidInput(
            "configuration_invalid",
            f"gpu is {gpu!r}; it can be {', '.join(GPU_CHOICES)}",
            "Use --gpu auto, --gpu off or --gpu require.",
        )
    count = threads if threads > 0 else usable_cores()
    offload = gpu != "off" and bool(native().llama_supports_gpu_offload())
    if gpu == "require" and not offload:
        raise NotReady(
            "model_not_ready",
            "a GPU is required, but this build of llama.cpp runs on the CPU only",
            "Reinstall llama-cpp-python with a GPU backend, or use --gpu auto.",
        )
    return Device("gpu" if offload else "cpu", -1 if offload else 0, count)


def usable_cores() -> int:
    """Cores this process may use: its affinity, capped by a control group's quota."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    quota = _control_group_quota(Path("/sys/fs/cgroup/cpu.max"))
    return max(1, min(cores, quota) if quota else cores)


def _control_group_quota(path: Path) -> int | None:
    try:
        limit, period = path.read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(1, int(limit) // int(period))
