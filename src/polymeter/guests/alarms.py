"""Alarms that a guest sets (``signal.alarm``, ``signal.setitimer``) to end long computations, on any thread.

Hooks run on worker threads, and Python lets only the main thread handle signals. So on every other thread the functions
of the module ``signal`` keep the handler of ``SIGALRM`` for that thread and start a timer, and the exception that the
handler raises is raised there. It arrives between two steps of Python code: a call into C is not interrupted, as with
the signal itself. All other signals, and the main thread, work as always.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any

_MARK = "serves_threads"


class _Alarm:
    """The alarm of one thread."""

    def __init__(self) -> None:
        self.handler: Any = signal.SIG_DFL
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._due = 0.0
        self._has_gone_off = False

    def set(self, seconds: float) -> float:
        """Set the alarm to go off in some seconds, or with 0 not at all; returns the seconds that an earlier alarm had
        left.
        """
        with self._lock:
            left = max(self._due - time.monotonic(), 0.0) if self._timer is not None else 0.0
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
                if self._has_gone_off:
                    self._has_gone_off = False
                    _take_back()
            if seconds > 0:
                self._due = time.monotonic() + seconds
                timer = self._timer = threading.Timer(seconds, lambda: self._go_off(timer))
                timer.daemon = True
                timer.start()
        return left

    def _go_off(self, timer: threading.Timer) -> None:
        with self._lock:
            if self._timer is timer and callable(self.handler):
                error = _raised_by(self.handler, sys._current_frames().get(self._thread))
                if error is not None:
                    self._has_gone_off = True
                    _raise_in(self._thread, error)


# The functions of ``signal`` are passed nothing that names the hook. The alarm ends with the hook (``end_alarm``).
class _AlarmHere(threading.local):
    """This thread's alarm."""

    alarm: _Alarm | None = None


_here = _AlarmHere()


def serve_alarms() -> None:
    """Let guests set alarms on any thread, for as long as the process lives. Calling it again changes nothing."""
    if not hasattr(signal, "SIGALRM"):
        return
    for name, of_thread in (
        ("signal", _signal),
        ("getsignal", _getsignal),
        ("alarm", _alarm),
        ("setitimer", _setitimer),
    ):
        _exchange(name, of_thread)


def end_alarm() -> None:
    """Cancel an alarm that this thread's guest has set and left behind, so that it does not go off in other code."""
    if _here.alarm is not None:
        _here.alarm.set(0)
        _here.alarm = None


def _exchange(name: str, of_thread: Callable[..., Any]) -> None:
    real = getattr(signal, name)
    if getattr(real, _MARK, False):
        return

    @wraps(real)
    def served(*args: Any, **kwargs: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            return real(*args, **kwargs)
        return of_thread(real, *args, **kwargs)

    setattr(served, _MARK, True)
    setattr(signal, name, served)


def _own() -> _Alarm:
    if _here.alarm is None:
        _here.alarm = _Alarm()
    return _here.alarm


def _signal(real: Callable[..., Any], signalnum: Any, handler: Any) -> Any:
    if signalnum != signal.SIGALRM:
        return real(signalnum, handler)
    alarm = _own()
    before, alarm.handler = alarm.handler, handler
    return before


def _getsignal(real: Callable[..., Any], signalnum: Any) -> Any:
    return _own().handler if signalnum == signal.SIGALRM else real(signalnum)


def _alarm(real: Callable[..., Any], seconds: int) -> int:
    return int(-(-_own().set(seconds) // 1))


def _setitimer(real: Callable[..., Any], which: int, seconds: float, interval: float = 0.0) -> tuple[float, float]:
    return (_own().set(seconds), 0.0) if which == signal.ITIMER_REAL else real(which, seconds, interval)


def _raised_by(handler: Callable[..., Any], frame: FrameType | None) -> type[BaseException] | None:
    """The exception that a handler raises, as a class whose objects are made without arguments; ``None``: none."""
    try:
        handler(signal.SIGALRM, frame)
    except BaseException as error:  # noqa: BLE001  (any exception belongs to the other thread)
        kind, args = type(error), error.args
        return type(
            kind.__name__,
            (kind,),
            {"__init__": lambda self: setattr(self, "args", args), "__module__": kind.__module__},
        )
    return None


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise an exception in a thread at its next step, instead of one that has not arrived yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


class _TakenBackError(BaseException):
    """Takes the place of an exception that is not to arrive any more."""


def _take_back() -> None:
    """Discard an exception that may still be on its way to this thread.

    An exception that is replaced by none leaves Python waiting for it: until the process ends, every loop of every
    thread would look for it, and Python 3.11 never gets past the start of a function that is profiled or traced.
    """
    try:
        _raise_in(threading.get_ident(), _TakenBackError)
        while True:  # it arrives where a loop begins anew
            pass
    except _TakenBackError:
        pass
