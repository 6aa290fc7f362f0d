"""Number of requests in a batch: as given, or found by trying. Pure code, no threads, no clock.

When nobody says, the size is doubled as long as that makes the model faster, and it is cut whenever memory runs out.
What did not fit is remembered as work (requests × length of the longest), so that shorter requests, which come later,
may again share larger batches.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

AUTO: Final = "auto"
_FIRST = 2
_MOST = 512
_GAIN = 1.1
_TRIES = 2


@dataclass(slots=True)
class _KnownSizes:
    """Facts about the batches of one key.

    Attributes:
        size: Most requests; ``None``: no limit.
        is_settled: Whether the size grows no more.
        rate: Requests per second at the size before, 0 when it was not measured.
        n_flat: How often this size was not seen to be faster than the one before.
        is_warm: Whether a first batch, which pays for starting up, is over.
        most_work: Requests × length that a batch may have, once memory has run out.
    """

    size: int | None
    is_settled: bool
    rate: float = 0.0
    n_flat: int = 0
    is_warm: bool = False
    most_work: float | None = None


class CommonScale:
    """The largest batch size of several copies of a model, at a cost that does not depend on how many there are.

    Args:
        first: What it is before there is a copy.
    """

    def __init__(self, first: int | None) -> None:
        self._first = first
        self._n_copies: dict[int | None, int] = {}

    @property
    def scale(self) -> int | None:
        """The largest size of all; ``None``: no limit."""
        if None in self._n_copies:
            return None
        return max((size for size in self._n_copies if size is not None), default=self._first)

    def join(self, scale: int | None) -> None:
        """One more copy, with this largest size."""
        self._n_copies[scale] = self._n_copies.get(scale, 0) + 1

    def change(self, before: int | None, after: int | None) -> None:
        """The largest size of a copy has become another one."""
        self._n_copies[before] -= 1
        if not self._n_copies[before]:
            del self._n_copies[before]
        self.join(after)


class BatchSizes:
    """The batch sizes of a model, by key of what may share a batch.

    Args:
        told: What the plan says: a number, ``auto``, or nothing.
        hint: What the model likes; ``None``: everything that is ready.
        own: Keys with a size of their own, where a task names one.
        common: Told of the largest size, beside those of other copies of the model.

    Attributes:
        largest: The largest batch that was computed.
        scale: The largest size in use or about to be; ``None``: no limit.
    """

    def __init__(
        self,
        told: int | Literal["auto"] | None,
        hint: int | None,
        own: dict[Hashable, int] | None = None,
        common: CommonScale | None = None,
    ) -> None:
        self._is_auto = told == AUTO
        self._default = _FIRST if told == AUTO else hint if told is None else int(told)
        self._known: dict[Hashable, _KnownSizes] = {}
        self._own: dict[Hashable, int] = {} if own is None else own
        self._common = common
        self.largest = 0
        self.scale = self._default
        if common is not None:
            common.join(self.scale)

    def most(self, key: Hashable, longest: int) -> int | None:
        """Most requests in the next batch of a key, when the longest of them is so long; ``None``: no limit."""
        known = self._of(key)
        if known.most_work is None:
            return known.size
        fitting = max(1, int(known.most_work // max(longest, 1)))
        return fitting if known.size is None else min(known.size, fitting)

    def is_settled(self, key: Hashable) -> bool:
        """Return whether the size of a key grows no more."""
        return self._of(key).is_settled

    def computed(self, key: Hashable, n_requests: int, seconds: float) -> None:
        """Learn that a batch was computed."""
        self.largest = max(self.largest, n_requests)
        known = self._of(key)
        if known.is_settled or known.size is None or n_requests < known.size:
            return
        rate = n_requests / max(seconds, 1e-9)
        if not known.is_warm:
            known.is_warm = True
        elif known.rate == 0.0 or rate > _GAIN * known.rate:
            self._grow(known, rate)
        else:
            known.n_flat += 1
            if known.n_flat >= _TRIES:
                known.size, known.is_settled = max(1, known.size // 2), True
                self._scale_anew()

    def did_not_fit(self, key: Hashable, n_requests: int, longest: int) -> int:
        """Learn that memory ran out; gives how many requests of that length may be tried next."""
        known = self._of(key)
        known.is_settled = True
        known.most_work = max(1, n_requests // 2) * max(longest, 1)
        return max(1, n_requests // 2)

    def summary(self) -> Mapping[str, int | bool]:
        """Return the facts that a run keeps: the largest batch that was computed, and whether memory set a limit."""
        ran_out = any(known.most_work is not None for known in self._known.values())
        return {"largest": self.largest, "ran_out_of_memory": ran_out}

    def _of(self, key: Hashable) -> _KnownSizes:
        known = self._known.get(key)
        if known is None:
            size = self._own.get(key, self._default)
            known = self._known[key] = _KnownSizes(size, not self._is_auto)
            self._scale_anew()
        return known

    def _grow(self, known: _KnownSizes, rate: float) -> None:
        known.rate, known.n_flat = rate, 0
        if known.size is not None and known.size < _MOST:
            known.size *= 2
            self._scale_anew()
        else:
            known.is_settled = True

    def _scale_anew(self) -> None:
        sizes = {known.size for known in self._known.values()}
        before, self.scale = self.scale, None if None in sizes else max(size for size in sizes if size is not None)
        if self._common is not None and self.scale != before:
            self._common.change(before, self.scale)
