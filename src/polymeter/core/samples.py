"""What views over samples have in common: a length, and samples that are made when they are asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import overload

from polymeter.core.task import Sample


class SampleView(ABC):
    """Samples by position; see ``polymeter.core.task.Samples``. Nothing is held."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _sample(self, index: int) -> Sample:
        """The sample at a position."""

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sample]: ...
    def __getitem__(self, index: int | slice) -> Sample | Sequence[Sample]:
        if isinstance(index, slice):
            return [self._sample(place) for place in range(*index.indices(len(self)))]
        return self._sample(index)
