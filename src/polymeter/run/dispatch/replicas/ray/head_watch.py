"""Watch over the head of a Ray cluster. Without the head nothing can be started there, and the nodes end after a
minute.

Ray does not report this to the process: after a minute without the head it ends the process, with a message of its own
and in the middle of any work. So the run has to find out sooner, and leave the cluster before it writes its partial
results. The head's port can be asked without Ray. Ray's own calls wait for the head, and a waiting call ends the
process even after it left.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

PATIENCE_S = 40.0
"""The time for which the head may be away. A head that keeps its state elsewhere can come back, so it gets most of the
minute.
"""
_EVERY_S = 2.0
_CONNECT_S = 3.0


class HeadWatch:
    """Asks every few seconds, on a thread of its own, whether the head of a cluster is there.

    Args:
        address: Its host and port.
        is_there: Asks it.
        patience_s: How long it may be away.
        every_s: How long to wait between questions.
        clock: Gives seconds.

    Attributes:
        is_gone: Whether it was away for longer than it may.
    """

    def __init__(
        self,
        address: str,
        is_there: Callable[[str], bool] | None = None,
        *,
        patience_s: float | None = None,
        every_s: float = _EVERY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.is_gone = self._is_begun = False
        self._address = address
        self._is_there = is_there or answers
        self._patience_s = PATIENCE_S if patience_s is None else patience_s
        self._every_s = every_s
        self._clock = clock
        self._is_closed = threading.Event()

    def begin(self, on_gone: Callable[[str], None]) -> None:
        """Begin to watch, unless that has begun.

        Args:
            on_gone: Told once, and why, when the head has been away for too long.
        """
        if self._is_begun:
            return
        self._is_begun = True
        threading.Thread(target=self._watch, args=(on_gone,), name="polymeter-ray-head", daemon=True).start()

    def close(self) -> None:
        """Watch no longer; returns at once."""
        self._is_closed.set()

    def _watch(self, on_gone: Callable[[str], None]) -> None:
        if not self._is_there(self._address):  # a client of Ray need not reach it, and hears from the server between
            return
        last_seen = self._clock()
        while not self._is_closed.wait(self._every_s):
            if self._is_there(self._address):
                last_seen = self._clock()
            elif self._clock() - last_seen >= self._patience_s:
                self.is_gone = True
                on_gone(
                    f"The head of the Ray cluster at {self._address} has not answered for {self._patience_s:g} s. "
                    "Resume the run on any cluster (--address)."
                )
                return


def answers(address: str) -> bool:
    """Return whether somebody takes connections at an address, which is a host and a port."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except (OSError, ValueError):
        return False
    return True
