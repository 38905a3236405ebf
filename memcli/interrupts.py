"""Ctrl-C while SQLite calls back into Python: put off until the statement has ended.

The sqlite3 module swallows whatever a callback raises and makes an error of the
statement of it, one that looks like a damaged file or a deadline that passed.
"""

from __future__ import annotations

import _thread
import signal
import time
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import TypeVar

Callback = TypeVar("Callback", bound=Callable[..., object])
_CALLBACKS: set[CodeType] = set()
_PAUSE_SECONDS = 0.005
_postponed: set[int] = set()


def called_by_sqlite(function: Callback) -> Callback:
    """Mark a plain function that is given to SQLite."""
    assert isinstance(function, FunctionType)
    _CALLBACKS.add(function.__code__)
    return function


def raise_interrupts() -> None:
    """From now on SIGTERM and SIGINT raise ``KeyboardInterrupt``, but never within a callback.

    For the main thread of a program. An interrupt that is ignored stays ignored.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    within = frame
    while within is not None:
        if within.f_code in _CALLBACKS:
            if number not in _postponed:
                _postponed.add(number)
                # Not `threading`, whose locks a handler must not take.
                main = _thread.get_ident()
                _thread.start_new_thread(_once_more, (signal.Signals(number), main))
            return
        within = within.f_back
    raise KeyboardInterrupt


def _once_more(number: signal.Signals, main: int) -> None:
    time.sleep(_PAUSE_SECONDS)
    _postponed.discard(number)
    if hasattr(signal, "pthread_kill"):
        # A signal of its own ends a wait that the main thread is in by now.
        signal.pthread_kill(main, number)
    else:
        _thread.interrupt_main(number)
