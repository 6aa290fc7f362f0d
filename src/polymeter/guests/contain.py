"""Containment: what loading somebody's module may do to the process, and what is put back afterwards."""

from __future__ import annotations

import os
import random
import socket
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from polymeter.guests.door import in_mode

_here = threading.local()
_FIRST_SINK = 0  # Loguru's number of the sink that it begins with
_WARNING = 30
_NUMPY_SEEDS = 2**32  # NumPy takes no other


@contextmanager
def contained() -> Iterator[None]:
    """Load a guest inside this: the global side effects of what runs there are undone.

    Restored: warning filters, the default socket timeout, the working directory, ``sys.path``, the state of ``random``
    and NumPy's global generator, Loguru's sinks, and environment variables that were set before. Variables that are
    added stay: task code sets what its own libraries read at run time.
    """
    environment = dict(os.environ)
    timeout = socket.getdefaulttimeout()
    folder = Path.cwd()
    search_path = list(sys.path)
    python_state = random.getstate()
    numpy_state = _numpy_state()
    sinks = _loguru_sinks()
    with in_mode("load"), warnings.catch_warnings():
        try:
            yield
        finally:
            for name, value in environment.items():
                if os.environ.get(name) != value:
                    os.environ[name] = value
            socket.setdefaulttimeout(timeout)
            if Path.cwd() != folder:
                os.chdir(folder)
            sys.path[:] = search_path
            random.setstate(python_state)
            if numpy_state is not None:
                sys.modules["numpy"].random.set_state(numpy_state)
            _restore_sinks(sinks)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Call a guest function that shapes a dataset inside this: what it draws at random is the same in every run."""
    python_state, numpy_state = random.getstate(), _numpy_state()
    random.seed(seed)
    if numpy_state is not None:
        sys.modules["numpy"].random.seed(seed % _NUMPY_SEEDS)
    try:
        yield
    finally:
        random.setstate(python_state)
        if numpy_state is not None:
            sys.modules["numpy"].random.set_state(numpy_state)


@contextmanager
def without_chatter() -> Iterator[None]:
    """Bars of tqdm that guest code begins on this thread inside this are not shown, nor what it tells Loguru below a
    warning: a wrapper has both for each batch, and they would tear the progress of the run apart.
    """
    _listen_to_bars()
    _listen_to_loguru()
    before = getattr(_here, "is_quiet", False)
    _here.is_quiet = True
    try:
        yield
    finally:
        _here.is_quiet = before


def _listen_to_bars() -> None:
    """Make bars of tqdm ask, when they begin, whether their thread shows any; asked again, nothing changes."""
    bar = getattr(sys.modules.get("tqdm"), "tqdm", None)
    if bar is None or getattr(bar.__init__, "asks_first", False):
        return
    begin = bar.__init__

    def ask_and_begin(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **{**kwargs, "disable": True} if getattr(_here, "is_quiet", False) else kwargs)

    ask_and_begin.asks_first = True  # type: ignore[attr-defined]
    bar.__init__ = ask_and_begin


def _listen_to_loguru() -> None:
    """Put a sink that asks its thread in place of the one that Loguru begins with; where somebody has chosen sinks or
    a level, it stays as it is.
    """
    core = _loguru_core()
    if core is None or list(core.handlers) != [_FIRST_SINK] or "LOGURU_LEVEL" in os.environ:
        return
    logger = sys.modules["loguru"].logger
    logger.remove(_FIRST_SINK)
    logger.add(_write_line, level="INFO", filter=_is_shown)


def _write_line(line: str) -> None:
    sys.stderr.write(line)  # whatever stands there by then


def _is_shown(record: Any) -> bool:
    return record["level"].no >= _WARNING or not getattr(_here, "is_quiet", False)


def _numpy_state() -> Any:
    numpy = sys.modules.get("numpy")
    generator = getattr(numpy, "random", None)
    return generator.get_state() if generator is not None else None


def _loguru_sinks() -> Any:
    core = _loguru_core()
    return None if core is None else (dict(core.handlers), core.min_level)


def _restore_sinks(sinks: Any) -> None:
    core = _loguru_core()
    if core is not None and sinks is not None and core.handlers != sinks[0]:
        core.handlers, core.min_level = dict(sinks[0]), sinks[1]


def _loguru_core() -> Any:
    # Loguru has no public way to list or put back its sinks.
    core = getattr(getattr(sys.modules.get("loguru"), "logger", None), "_core", None)
    return core if hasattr(core, "handlers") and hasattr(core, "min_level") else None
