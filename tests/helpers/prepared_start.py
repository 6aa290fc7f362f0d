"""Commands that tests start, forked from a process that has imported what most commands import.

The suite starts ``python -m polymeter`` about two thousand times, and importing takes most of each. So each worker of
pytest keeps one process that has imported Polymeter and what it stands on (``prepared_process``). Where a test starts
the command line in the plain way, that process forks, and the fork becomes the test's own child: with its words, its
environment, folder, pipes and session, it ends, is waited for and is killed like any other.

A start of any other kind is what it always was: other programs, other flags of Python (``-c``, ``-X importtime``), a
function to call first, limits, or an environment that changes what an import would read. ``pytest --fresh-processes``
makes all starts so.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from inspect import signature
from pathlib import Path
from typing import Any

import polymeter

COMMAND = (sys.executable, "-m", "polymeter")
_HOME = str(Path(polymeter.__file__).parents[1])
_CHILD_SUBREAPER = 36
_SERVER = Path(__file__).with_name("prepared_process.py")
_STARTS_WITH = (
    *("self", "args", "executable", "preexec_fn", "close_fds", "pass_fds", "cwd", "env", "startupinfo"),
    *("creationflags", "shell", "p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite"),
    *("restore_signals", "gid", "gids", "uid", "umask", "start_new_session"),
)
"""What ``Popen._execute_child`` takes from Python 3.10 on; a ``process_group`` follows from 3.11 on."""
_READ_BY_IMPORTS = (
    *("PYTHON", "LC_", "LANG", "LD_PRELOAD", "HOME", "TZ", "XDG_CACHE", "HF_", "HUGGINGFACE_", "ARROW_"),
    *("OMP_", "MKL_", "OPENBLAS_", "TERM", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "TYPER", "_TYPER", "GITHUB_ACTIONS"),
)
"""How variables begin that a library reads while it is imported, or Python while it starts."""


class Popen(subprocess.Popen):  # type: ignore[type-arg]
    """``subprocess.Popen`` that forks the prepared process where that is the same."""

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, *rest: Any) -> None:
        _, pass_fds, cwd, env, _, _, shell, p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, *more = rest
        _, gid, gids, uid, umask, start_new_session, *group = more
        plain = (
            isinstance(args, (list, tuple))
            and tuple(args[:3]) == COMMAND
            and executable is None
            and preexec_fn is None
            and not (pass_fds or shell)
            and (gid, gids, uid, umask, group or [-1]) == (None, None, None, -1, [-1])
        )
        prepared = _prepared(dict(os.environ if env is None else env)) if plain else None
        if prepared is None:
            super()._execute_child(args, executable, preexec_fn, *rest)
            return
        request = {
            "words": [os.fspath(word) for word in args[3:]],
            "folder": os.path.abspath(cwd or "."),
            "environment": dict(os.environ if env is None else env),
            "new_session": bool(start_new_session),
        }
        ends = [mine if mine != -1 else inherited for mine, inherited in ((p2cread, 0), (c2pwrite, 1), (errwrite, 2))]
        self.pid = prepared.fork(request, ends)
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)


class _Prepared:
    """The prepared process of this one, and the line to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line, theirs = socket.socketpair()
        with theirs:
            self._process = REAL_POPEN(
                [sys.executable, str(_SERVER), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=_environment,
            )
        atexit.register(self._end)

    def fork(self, request: dict[str, Any], ends: list[int]) -> int:
        """Start a command; returns the number of its process, which is a child of this one.

        Raises:
            OSError: as ``Popen`` does, if the folder is not there.
        """
        if not os.path.isdir(request["folder"]):
            raise FileNotFoundError(2, "No such file or directory", request["folder"])
        with self._lock:
            # The fork's parent ends at once, so it comes to the nearest ancestor that takes such children in.
            _take_orphans(True)
            try:
                message = json.dumps(request).encode("utf-8", "surrogateescape")
                socket.send_fds(self._line, [len(message).to_bytes(8, "big")], ends)
                self._line.sendall(message)
                answer = self._line.recv(8)
            finally:
                _take_orphans(False)
        assert answer, "the prepared process has ended"
        return int.from_bytes(answer, "big")

    def _end(self) -> None:
        self._line.close()
        self._process.wait()


REAL_POPEN = subprocess.Popen
_environment: dict[str, str] = {}
_of_process: dict[int, _Prepared] = {}
_making = threading.Lock()


def install() -> None:
    """From now on, starts of the command line in this process are forks where that is the same, in the environment
    that is now. Linux only: elsewhere no process can take another's child for its own. A Python that starts its
    children by another private method than the one that is replaced here starts them as it always does.
    """
    starts = getattr(REAL_POPEN, "_execute_child", None)
    if sys.platform == "linux" and starts is not None and tuple(signature(starts).parameters)[:23] == _STARTS_WITH:
        _environment.update(os.environ)
        subprocess.Popen = Popen  # type: ignore[misc]


def restore_environment() -> None:
    """Give each variable that imports read the value that it had when starts became forks."""
    for name in {*os.environ, *_environment} if _environment else ():
        if name.startswith(_READ_BY_IMPORTS) and os.environ.get(name) != _environment.get(name):
            os.environ.pop(name, None)
            os.environ.update({name: _environment[name]} if name in _environment else {})


def _prepared(environment: dict[str, str]) -> _Prepared | None:
    """The prepared process, if a start in an environment would import what it has imported."""
    names = {name for name in {*environment, *_environment} if name.startswith(_READ_BY_IMPORTS)}
    names.discard("PYTHON")  # what scripts call Python by
    if environment.get("PYTHONPATH") == _HOME:  # it is found there anyway
        names.discard("PYTHONPATH")
    if any(environment.get(name) != _environment.get(name) for name in names):
        return None
    own = os.getpid()
    with _making:
        if own not in _of_process:
            _of_process[own] = _Prepared()
    return _of_process[own]


def _take_orphans(does: bool) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_CHILD_SUBREAPER, int(does), 0, 0, 0)
