"""Large pieces of requests in Ray's object store: each is put there once, however many requests show it.

Ray copies a piece to a node when a replica there first needs it, and keeps it for the others. A piece that nobody has
shown for a while is let go of, so that a run of any length needs no more than a bound.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from polymeter.core.media.sources import digest

INLINE = 100 * 1024
"""Bytes up to which Ray carries an argument with the call, which is quicker than the store."""
_HELD = 256 * 2**20


class Pieces:
    """Puts pieces into the store.

    Args:
        put: Puts bytes there, and gives what stands for them.
        most_bytes: How many bytes are held for requests to come. What a call in flight needs is held besides.
    """

    def __init__(self, put: Callable[[bytes], Any], most_bytes: int = _HELD) -> None:
        self._put = put
        self._most_bytes = most_bytes
        self._held: OrderedDict[str, tuple[Any, int]] = OrderedDict()
        self._n_bytes = 0

    def stand_ins(self, pieces: Sequence[memoryview]) -> list[Any]:
        """Return the arguments of a call that stand for some pieces: small ones unchanged."""
        return [bytes(piece) if len(piece) <= INLINE else self._of(piece) for piece in pieces]

    def _of(self, piece: memoryview) -> Any:
        data = bytes(piece)
        mark = digest(data)
        known = self._held.get(mark)
        if known is not None:
            self._held.move_to_end(mark)
            return known[0]
        reference = self._put(data)
        self._held[mark] = (reference, len(data))
        self._n_bytes += len(data)
        while self._n_bytes > self._most_bytes and len(self._held) > 1:
            _, (_, n_bytes) = self._held.popitem(last=False)
            self._n_bytes -= n_bytes
        return reference
