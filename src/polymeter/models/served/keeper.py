"""Keeps one server: a process between the run and the server, so that the server never outlives the run.

``python keeper.py GRACE_S PROGRAM ARGUMENTS…``. Standard input is a pipe from the run. When it ends, because the run
closed it or because its process is gone, however it went, the server is asked to end, and after the grace it is killed,
with everything that it started. When the server ends by itself, the keeper ends with its exit code. On Linux the
server is killed, too, when its keeper is.

Only the standard library is imported: the keeper starts in a few milliseconds, in isolated mode.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

_PR_SET_PDEATHSIG = 1
_NOT_FOUND = 127


def main(arguments: list[str]) -> int:
    """Start the server and stay until it has ended; returns its exit code."""
    grace_s, *command = arguments
    for number in (signal.SIGINT, signal.SIGTERM):  # the run says when it is over
        signal.signal(number, lambda *_: None)  # not ignored: the server would inherit that
    try:
        server = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_prepare if sys.platform == "linux" else None,  # noqa: PLW1509  (there is one thread so far)
        )
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error}\n")
        return _NOT_FOUND
    threading.Thread(target=_end_with_run, args=(server, float(grace_s)), daemon=True).start()
    code = server.wait()
    _signal(server, "SIGKILL")  # what it left behind
    return code if code >= 0 else 128 - code


def _end_with_run(server: subprocess.Popen[bytes], grace_s: float) -> None:
    while os.read(0, 1024):
        pass
    _signal(server, "SIGTERM")
    try:
        server.wait(grace_s)
    except subprocess.TimeoutExpired:
        _signal(server, "SIGKILL")


def _signal(server: subprocess.Popen[bytes], name: str) -> None:
    """Send a signal to the server and all processes of its group."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(server.pid, getattr(signal, name))
        elif name == "SIGTERM":
            server.terminate()
        else:
            server.kill()
    except (ProcessLookupError, PermissionError):
        pass


def _prepare() -> None:
    """Have the server killed when this process is."""
    import ctypes

    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before the server could follow it
        os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
