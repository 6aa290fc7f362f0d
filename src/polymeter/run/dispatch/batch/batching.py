"""Selection of requests that share a batch: pure code, no threads, no clock.

Requests that may be computed together have the same key (ask, settings, the model's own group key). Within a key the
longest come
first: memory runs out at once or never, estimates only improve, and neighbours pad each other least.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from heapq import heappop, heappush
from typing import Any, Generic, TypeVar

from polymeter.core.content import Text
from polymeter.core.identity import OfParameters, OfSettings, canonical
from polymeter.core.request import Generate, GenerateImage, Request

T = TypeVar("T")
_IMAGE_LENGTH = 2000


class ReadyQueue(Generic[T]):
    """Requests that are ready for a batch model, by key.

    Args:
        most: For a key and the length of its longest request: most requests in a batch; ``None``: everything that is
            ready.
    """

    def __init__(self, most: Callable[[Hashable, int], int | None]) -> None:
        self._most_of = most
        # Heaps. Each with its negative length and its number of arrival, which is its own: so items are never compared.
        self._groups: dict[Hashable, list[tuple[int, int, T]]] = {}
        self._arrivals = 0

    def __len__(self) -> int:
        return sum(len(group) for group in self._groups.values())

    def add(self, item: T, key: Hashable, length: int) -> None:
        """Add a request with its key and estimated length."""
        self._arrivals += 1
        heappush(self._groups.setdefault(key, []), (-length, self._arrivals, item))

    def take(self, *, is_partial_fine: bool) -> list[T]:
        """The next batch, longest first; empty when there is none yet.

        Args:
            is_partial_fine: Whether nothing else can come that would fill a batch. Then the group that holds the
                oldest request goes.
        """
        key = self.choose(is_partial_fine=is_partial_fine)
        return [] if key is None else self.pop(key, self._most_of(key, self.of(key)[1]))

    def choose(
        self, *, is_partial_fine: bool, most: Callable[[Hashable, int], int | None] | None = None
    ) -> Hashable | None:
        """The key of the next batch; ``None`` when there is none yet.

        Args:
            is_partial_fine: As for ``take``.
            most: The largest batch for the caller that takes this one; default: the queue's.
        """
        most_of = most or self._most_of
        full, n_full = None, 0
        for key, group in self._groups.items():
            size = most_of(key, -group[0][0])
            if size and len(group) >= size and len(group) > n_full:
                full, n_full = key, len(group)
        if full is not None or not is_partial_fine:
            return full
        return min(self._groups, key=lambda k: min(arrival for _, arrival, _ in self._groups[k]), default=None)

    def of(self, key: Hashable) -> tuple[int, int]:
        """Return the number of ready requests of a key, and the length of the longest."""
        group = self._groups[key]
        return len(group), -group[0][0]

    def pop(self, key: Hashable, n: int | None) -> list[T]:
        """Take the longest requests of a key: so many; ``None``: all."""
        group = self._groups[key]
        if n is None or n >= len(group):
            del self._groups[key]
            return [item for _, _, item in sorted(group)]
        return [heappop(group)[2] for _ in range(n)]


def settings_key(request: Request) -> Hashable:
    """Return the properties that two requests must share to be computed together: the ask and its settings, without
    seeds and numbers of repeats.
    """
    ask = request.parameters
    if isinstance(ask, Generate):
        return _text_key(ask)
    if isinstance(ask, GenerateImage):
        return (ask.kind, ask.size, _frozen(ask.extra))
    return ask.kind


def estimated_length(request: Request) -> int:
    """About how much work a request is, for ordering only: characters of text, and a flat amount for each medium."""
    length = 0
    for message in request.messages:
        for part in message.parts:
            length += len(part.text) if isinstance(part, Text) else _IMAGE_LENGTH
    return length


def _frozen(extra: Mapping[str, Any]) -> Any:
    return _text_of(extra) if extra else None


# Of the process: the result depends on the settings alone, and only the last ones are held.
_text_of = OfSettings(lambda extra: repr(canonical(extra)))
_text_key = OfParameters(
    lambda ask: (ask.kind, ask.max_new_tokens, ask.temperature, ask.top_p, ask.stop, _frozen(ask.extra), ask.template)
)
