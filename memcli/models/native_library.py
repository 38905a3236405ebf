"""llama.cpp loaded once per process, with its own output caught and its threads made polite."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from types import ModuleType
from typing import Any

log = logging.getLogger("memcli.native")

OutputGuard = Callable[[], AbstractContextManager[None]]

RECENT: collections.deque[str] = collections.deque(maxlen=200)
# ggml_log_level: 1 debug, 2 information, 3 warning, 4 error, 5 the line goes on.
_KEPT_LEVELS = frozenset({2, 3, 4})
_callbacks: list[Any] = []

# OpenMP threads spin at every barrier. With fewer free cores than threads, each
# barrier then costs a scheduler slice and a query is 20 to 100 times slower.
# About 20,000 turns cover the gaps between operators and then give the core up:
# measured, no slower alone, 3 to 5 times faster beside seven other processes.
SPIN_COUNT = "20000"


@cache
def native() -> ModuleType:
    """The low-level bindings, initialised; every line llama.cpp logs goes to ``RECENT``."""
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
    import llama_cpp

    bindings: ModuleType = llama_cpp.llama_cpp
    # llama.cpp keeps the pointer for as long as the process lives, and so must we.
    callback = bindings.llama_log_callback(_receive)
    _callbacks.append(callback)
    bindings.llama_log_set(callback, ctypes.c_void_p(0))
    bindings.llama_backend_init()
    return bindings


def _receive(level: int, text: bytes, _user_data: Any) -> None:
    line = text.decode("utf-8", "replace").rstrip("\n")
    if not line:
        return
    # Always at debug level: a fault comes back as a status, and the error raised
    # for it quotes these lines. Nothing here may reach a stream by itself.
    if level in _KEPT_LEVELS:
        RECENT.append(line)
        log.debug("%s", line)


def recent_errors(limit: int = 2) -> str:
    """The last lines llama.cpp logged that name a fault, for a message to a person."""
    lines = [line for line in RECENT if "error" in line.lower() or "fail" in line.lower()]
    return "; ".join(line.strip() for line in lines[-limit:])


@contextlib.contextmanager
def captured_descriptors() -> Iterator[None]:
    """Point file descriptors 1 and 2 at a sink while native code runs, then put them back.

    For a process whose own streams write to *other* descriptors (the command
    line duplicates its streams at the start), so that nothing but native code
    can be caught. What was caught goes to the log.
    """
    saved = [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile() as sink:
        try:
            os.dup2(sink.fileno(), 1)
            os.dup2(sink.fileno(), 2)
            yield
        finally:
            os.dup2(saved[0], 1)
            os.dup2(saved[1], 2)
            for descriptor in saved:
                os.close(descriptor)
            sink.seek(0)
            for line in sink.read(65536).decode("utf-8", "replace").splitlines():
                log.debug("%s", line)


def system_information() -> str:
    """llama.cpp's line about the processor features it was built for and found."""
    return str(native().llama_print_system_info().decode("utf-8", "replace"))


def has_amx() -> bool:
    """Whether ggml would pick its AMX kernels.

    They crash on the first matrix product in some builds (ggml-org/llama.cpp
    issue 20824, a fault that Python cannot catch), so models are then loaded
    without the repacked weight buffers that lead there.
    """
    return "AMX_INT8 = 1" in system_information()
