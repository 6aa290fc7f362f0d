"""Becomes the program of a child, after a fork that guards it: ``python guarded.py LIFELINE GRACE_S MEMORY_MB OWNER
PROGRAM ARGUMENTS…``.

The guard waits for the end of a pipe that only the owner holds. It closes when the owner closes it and when the owner
ends in any way. The guard sees that also while the program lets no thread of its own run. The program is then asked to
end, and after the grace it is killed with its whole group. What it leaves in the group when it ends by itself is
killed, too. On Linux the kernel ends the program with its owner as well, in case the guard was killed.

Only the standard library is imported, and there is one thread: a fork copies no other.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_NOT_FOUND = 127
_LOOK_S = 0.2


def main(arguments: list[str]) -> int:
    """Become the program; returns only if it cannot be started."""
    lifeline, grace_s, memory_mb, owner, *command = arguments
    program = os.getpid()
    if not os.fork():
        _guard(int(lifeline), float(grace_s), program)
    os.close(int(lifeline))
    if sys.platform == "linux":
        _end_with(int(owner), signal.SIGTERM if float(grace_s) else signal.SIGKILL)
    if int(memory_mb):
        _limit_memory(int(memory_mb) * 2**20)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a program inherits that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error}\n")
    return _NOT_FOUND


def _guard(lifeline: int, grace_s: float, program: int) -> None:
    """Wait for the end of the pipe or of the program, and kill the group; this process is one of it."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):  # meant for the program
        signal.signal(number, signal.SIG_IGN)
    for file in (0, 1, 2):  # the reader of the program's output waits for its end
        os.close(file)
    waiting = select.poll()
    waiting.register(lifeline, select.POLLIN)
    while os.getppid() == program and not waiting.poll(1000 * _LOOK_S):
        pass
    if grace_s:
        os.killpg(0, signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while os.getppid() == program and time.monotonic() < deadline:
            time.sleep(_LOOK_S / 4)
    os.killpg(0, signal.SIGKILL)


def _end_with(owner: int, number: int) -> None:
    """Have the kernel send this process a signal when the thread that started it ends."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != owner:  # it ended before this
        os._exit(1)


def _limit_memory(n_bytes: int) -> None:
    import resource

    try:
        resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))
    except (OSError, ValueError):  # refused, or below a limit that holds already
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
