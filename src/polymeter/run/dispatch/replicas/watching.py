"""A replica's end when its run is gone, whatever the replica does at that moment.

A thread of the replica is not enough: code that holds the interpreter's lock, such as a regular expression that never
ends, lets no other thread notice anything. So a second process watches. It is forked before anything is imported, takes
little memory, and waits for the end of one of two pipes: one to the run, one to the replica.

Only the standard library is imported here, since a fork copies the forking thread alone.
"""

from __future__ import annotations

import os
import select
import signal
import sys


def watch(of_run: int, *others: int) -> None:
    """Have this process and all of its group killed when the run is gone; on Linux only. Called before there is a
    second thread.

    Args:
        of_run: The file of a pipe whose other end only the run holds.
        others: Files of this process that the watching one must not keep open.
    """
    if sys.platform != "linux":
        return
    of_replica, held = os.pipe()
    if os.fork():  # ``held`` stays open as long as this process is there, and it hands it on to no program
        os.close(of_run)
        os.close(of_replica)
        return
    try:
        for file in (held, *others):
            os.close(file)
        waiting = select.poll()
        for file in (of_run, of_replica):
            waiting.register(file, select.POLLIN)
        if of_run in dict(waiting.poll()):
            os.killpg(0, signal.SIGKILL)
    finally:
        os._exit(0)
