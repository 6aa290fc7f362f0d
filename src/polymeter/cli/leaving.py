"""The end of a process: whether it may skip what Python does then.

Before a process ends, Python takes every object apart: 10 to 30 ms after a command, for memory that the system takes
back as a whole. What must happen before that does: functions that wait for the end are called, and streams are flushed.
What could still be lost is text in a file that somebody left open. Polymeter and installed packages leave none; code of
a benchmark, of a model's wrapper or of a script may, and so may whoever called us. Then the process ends as usual.
"""

from __future__ import annotations

import atexit
import os
import sys
import sysconfig
import threading
from types import FrameType
from typing import Any

import polymeter

_GUESTS = "_polymeter_guest"
"""How the names of modules begin in which guests' code is loaded, wherever its files are."""
_OWN = polymeter.__path__[0]


def leave(code: int) -> None:
    """End the process with an exit code, unless something could be lost by that: then return.

    Args:
        code: The exit code.
    """
    if not (_is_called_first(sys._getframe(1)) and _is_alone() and _knows_all_modules()):
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except Exception:  # noqa: BLE001  (whatever it is, Python says it at the end in its usual words)
        return
    os._exit(code)


def _is_called_first(frame: FrameType) -> bool:
    """Whether the caller was called by the file that Python was started with, and nobody measures or debugs."""
    outer = frame.f_back
    if outer is None or outer.f_globals.get("__name__") != "__main__":
        return False
    while (outer := outer.f_back) is not None:
        if outer.f_globals.get("__name__") != "runpy":
            return False
    return not (sys.flags.inspect or sys.getprofile() or sys.gettrace())


def _is_alone() -> bool:
    return all(thread.daemon or thread is threading.main_thread() for thread in threading.enumerate())


def _knows_all_modules() -> bool:
    """Whether all code is Python's, ours, or that of an installed package."""
    paths = sysconfig.get_paths()
    homes = (_OWN, *(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")))
    main = sys.modules["__main__"]
    return all(
        module is main or _is_known(name, getattr(module, "__file__", None), homes)
        for name, module in sys.modules.items()
    )


def _is_known(name: str, file: Any, homes: tuple[str, ...]) -> bool:
    return not name.startswith(_GUESTS) and (file is None or str(file).startswith(homes))
