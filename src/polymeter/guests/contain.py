"""Containment: the side effects of loading a guest's module, and the ones that are undone afterwards."""

from __future__ import annotations

import os
import random
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from polymeter.core.machine.bars import is_quiet, without_bars
from polymeter.core.media.pixels import refuse_ghostscript
from polymeter.guests.door import in_mode

_FIRST_SINK = 0  # Loguru's id of the sink that it starts with
_WARNING = 30
_NUMPY_SEEDS = 2**32  # NumPy takes seeds below this


@contextmanager
def contained() -> Iterator[None]:
    """Load a guest inside this: the global side effects of the code inside are undone.

    Restored: warning filters, the default socket timeout, the working directory, ``sys.path``, the state of ``random``
    and NumPy's global generator, Loguru's sinks, and environment variables that were set before. Variables that are
    added stay: task code sets variables that its own libraries read at run time. Images that it opens with Pillow start
    no program.
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
            refuse_ghostscript()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Call a guest function that shapes a dataset inside this: its random draws are the same in every run."""
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
    """Hide the tqdm bars that guests start on this thread inside this, and their Loguru messages below a warning: a
    wrapper has both for each batch, and they would break up the run's progress display.
    """
    _hush_loguru()
    with without_bars():
        yield


def _hush_loguru() -> None:
    """Replace the sink that Loguru starts with by one that checks its thread; sinks or a level that somebody has set
    stay.
    """
    core = _loguru_core()
    if core is None or list(core.handlers) != [_FIRST_SINK] or "LOGURU_LEVEL" in os.environ:
        return
    logger = sys.modules["loguru"].logger
    logger.remove(_FIRST_SINK)
    logger.add(_write_line, level="INFO", filter=_is_shown)


def _write_line(line: str) -> None:
    sys.stderr.write(line)  # looked up late: it may have been replaced meanwhile


def _is_shown(record: Any) -> bool:
    return record["level"].no >= _WARNING or not is_quiet()


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
