"""Where models run, in words that are true: the devices that llama.cpp found and what they do."""

from __future__ import annotations

import ctypes
from typing import Any

from memcli.models.devices import Device
from memcli.models.native_library import native

# ggml_backend_dev_type: 0 CPU, 1 GPU, 2 GPU sharing the host's memory, 3 accelerator.
_GRAPHICS = (1, 2)


def describe_device(device: Device) -> str:
    """One line for ``status``: the kind of device, its name, how much of a model it takes."""
    threads = f"{device.threads} threads"
    if device.layers == 0:
        names = graphics_devices()
        if not native().llama_supports_gpu_offload():
            return f"cpu, {threads} (this build of llama.cpp has no GPU support)"
        unused = f"; {', '.join(names)} is not used" if names else ""
        return f"cpu, {threads}{unused}"
    layers = "all layers" if device.layers < 0 else f"{device.layers} layers"
    names = graphics_devices()
    return f"gpu, {layers} on {' and '.join(names) or 'an unnamed device'}, {threads}"


def graphics_devices() -> tuple[str, ...]:
    """The GPUs that this build of llama.cpp found, named as their drivers name them.

    llama-cpp-python binds no function for it, so ggml's own are called; a
    build without them tells nothing.
    """
    library = _library()
    if library is None:
        return ()
    names = []
    for index in range(library.ggml_backend_dev_count()):
        found = library.ggml_backend_dev_get(index)
        if library.ggml_backend_dev_type(found) in _GRAPHICS:
            label = library.ggml_backend_dev_description(found) or b""
            short = library.ggml_backend_dev_name(found) or b""
            names.append(f"{short.decode('utf-8', 'replace')} ({label.decode('utf-8', 'replace')})")
    return tuple(names)


def _library() -> Any:
    library = native()._lib
    try:
        library.ggml_backend_dev_count.restype = ctypes.c_size_t
        library.ggml_backend_dev_get.restype = ctypes.c_void_p
        library.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
        library.ggml_backend_dev_type.restype = ctypes.c_int
        library.ggml_backend_dev_type.argtypes = [ctypes.c_void_p]
        for function in (library.ggml_backend_dev_name, library.ggml_backend_dev_description):
            function.restype = ctypes.c_char_p
            function.argtypes = [ctypes.c_void_p]
    except AttributeError:
        return None
    return library
