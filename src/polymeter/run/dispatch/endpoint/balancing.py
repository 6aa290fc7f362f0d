"""Choice of the address that gets the next request, among several of one model, and counts for each: pure decisions.

The limit of an address follows how fast it answers, so the least loaded is the one whose limit is least used, and not
the one with the fewest requests in flight. Between equals it is the one that was sent the least so far, so that a run
that asks for little at a time uses all of them.

An address that fails at once is never busy, and would attract everything. So a request does not go back to an address
that just failed it while another one has room: those that failed it take turns. ``breaker`` soon closes such an address
to all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol, TypeVar


class Candidate(Protocol):
    """An address, as far as choosing goes."""

    @property
    def number(self) -> int:
        """Its place among the addresses."""
        ...

    @property
    def has_room(self) -> bool:
        """True if it may be sent a request now."""
        ...

    @property
    def load(self) -> float:
        """The share of its limit that is in use, from 0 to 1."""
        ...

    @property
    def n_sent(self) -> int:
        """The number of requests that were sent to it."""
        ...


C = TypeVar("C", bound=Candidate)


def least_loaded(candidates: Sequence[C], avoided: Collection[int] = ()) -> C | None:
    """Return the address that gets the next request; ``None`` if none has room.

    Args:
        candidates: The addresses.
        avoided: The numbers of those that failed this request, the last one last; they get it only if no other one has
            room, and by turns.
    """
    turn = {number: place for place, number in enumerate(avoided)}
    free = [one for one in candidates if one.has_room]
    return min(free, key=lambda one: (turn.get(one.number, -1), one.load, one.n_sent, one.number), default=None)


def shares(answered: Sequence[int]) -> list[float]:
    """The share of all answers that each gave, rounded to four digits; zeros if there are none."""
    total = sum(answered)
    return [round(n / total, 4) if total else 0.0 for n in answered]
