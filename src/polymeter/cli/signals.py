"""The signals that end a run in order: Ctrl-C, ``SIGTERM`` (a scheduler, ``kill``) and ``SIGHUP`` (a lost terminal).

The first one stops the run where it is: its answers are kept, its status becomes *interrupted*. From then on all of
them have their default effect, so a second one ends the process at once, even inside code that does not return to
Python. Signals within half a second of the first count as the same: ``scancel`` and ``timeout`` signal every process,
and a shell or launcher in between passes on the one that it got itself. A signal that the process was started to ignore
stays ignored: ``SIGHUP`` under ``nohup``, ``SIGINT`` of a shell's background job.

Only the command line installs this. It imports nothing but the standard library, so that it is in place before anything
that takes long to import.

Signals belong to the process, which Polymeter owns only as ``python -m polymeter``: used from Python, it leaves them
to the program around it.
"""

from __future__ import annotations

import _thread
import os
import signal
import time
from contextlib import suppress
from types import FrameType

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
INTERRUPTED = 130
_SHOW_CURSOR = b"\x1b[?25h"
_AGAIN_S = 0.002
_SAME_S = 0.5
_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"
_SAID = b"\nInterrupted: stopping. A second signal ends the process at once.\n"


class Signals:
    """The ending signals of a process, while a command runs."""

    def __init__(self) -> None:
        self._received: int | None = None
        self._process = os.getpid()
        self._handled = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]

    def install(self) -> None:
        """Handle the signals that are not ignored. Does nothing outside the main thread, where Python allows none."""
        try:
            for number in self._handled:
                if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                    signal.signal(number, self._on_signal)
        except ValueError:
            return

    def exit_code(self, code: int) -> int:
        """The exit code of a command: 128 + the signal's number if that interrupted it."""
        return code if self._received is None or code != INTERRUPTED else 128 + self._received

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if frame is not None and frame.f_code.co_filename == _IMPORT_SYSTEM:
            # Python's import system takes its locks outside of its ``try``: an exception raised right there leaves one
            # taken for good, and every other thread that imports something then waits for ever. Module bodies and all
            # other code are interrupted at once.
            _thread.start_new_thread(_send_again, (number, _thread.get_ident()))
            return
        ours = [each for each in self._handled if signal.getsignal(each) == self._on_signal]
        if os.getpid() == self._process:
            for each in ours:
                signal.signal(each, _dropped)  # not SIG_IGN, which processes that are started meanwhile would inherit
            time.sleep(_SAME_S)
        for each in ours:
            signal.signal(each, signal.SIG_DFL)
        if os.getpid() != self._process:  # a worker process that was forked: it has no run to end in order
            signal.raise_signal(number)
            return
        self._received = number
        with suppress(OSError, ValueError):  # the terminal may be closed
            # Not through the stream, which the interrupted code may be in the middle of writing to. A progress bar
            # hides the cursor, and a second signal would leave it hidden.
            os.write(2, (_SHOW_CURSOR if os.isatty(2) else b"") + _SAID)
        raise KeyboardInterrupt


def _dropped(number: int, frame: FrameType | None) -> None:
    """The same signal once more."""


def _send_again(number: int, thread: int) -> None:
    time.sleep(_AGAIN_S)
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, number)
    else:
        signal.raise_signal(number)
