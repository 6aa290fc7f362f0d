"""How often Python looks for cycles of objects that nobody holds.

By default it looks after a few hundred objects more than before. Imports and samples make many and next to no cycles,
so looking costs a tenth of them and finds nothing. The thresholds belong to the process.
"""

from __future__ import annotations

import gc
import threading

_USUAL = gc.get_threshold()
_RARE = (50_000, 20, 50)
_RARER = (200_000, 20, 50)
"""While a process starts: what imports leave stays, so looking through half of it finds as little as at its end."""


def collect_rarely() -> None:
    """Look rarely from now on; for a process that is Polymeter's own."""
    gc.set_threshold(*_RARER)


def collect_as_usual() -> None:
    """Look as often as Python did when this module was imported, for a script that knows nothing of Polymeter."""
    gc.set_threshold(*_USUAL)


class RareCollections:
    """Looks rarely, and not at what was there before, while a block lasts. Blocks in several threads are counted; the
    last to end restores what was.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_blocks = 0
        self._before = gc.get_threshold()

    def __enter__(self) -> None:
        with self._lock:
            self._n_blocks += 1
            if self._n_blocks == 1:
                self._before = gc.get_threshold()
                gc.freeze()
                gc.set_threshold(*_RARE)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_blocks -= 1
            if self._n_blocks == 0:
                gc.set_threshold(*self._before)
                gc.unfreeze()
