"""Run as root, feel like anybody: permissions count again while root's powers are put away."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator

CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
VERSION_3 = 0x20080522


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


@contextlib.contextmanager
def no_root_powers() -> Iterator[None]:
    """This thread may neither read nor write past permissions; given back at the end.

    Does nothing for anybody but root. Linux only: capset(2).
    """
    if os.name != "posix" or os.geteuid() != 0:
        yield
        return
    if not sys.platform.startswith("linux"):
        raise OSError("root's powers can only be put away on Linux")
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = _Header(VERSION_3, 0), (_Data * 2)()
    if libc.capget(ctypes.byref(header), data):
        raise OSError(ctypes.get_errno(), "capget")
    before = data[0].effective
    data[0].effective = before & ~(1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH)
    if libc.capset(ctypes.byref(header), data):
        raise OSError(ctypes.get_errno(), "capset")
    try:
        yield
    finally:
        data[0].effective = before
        libc.capset(ctypes.byref(header), data)
