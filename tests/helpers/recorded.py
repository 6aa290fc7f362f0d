"""Reference values that other libraries gave, recorded once: computing them takes nearly all of a test's time.

    pytest tests/stats --record-references      computes them again, with the libraries, and writes them

A file beside the tests holds, for each test by name, the values and a digest of the cases they belong to: with other
cases the test fails until they are recorded again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

FILE = Path(__file__).parents[1] / "stats" / "cases" / "references.npz"
C = TypeVar("C", bound=Sequence[object])


class References:
    """The recorded values of one test.

    Args:
        name: The test's name.
        records: Whether to compute them anew and keep them.
    """

    def __init__(self, name: str, *, records: bool) -> None:
        self._name = name
        self._records = records

    def of(self, cases: Sequence[C], compute: Callable[[C], Sequence[float] | float]) -> NDArray[np.float64]:
        """A row of values for each case.

        Args:
            cases: The cases: numbers and arrays.
            compute: From a case to its values, by another library.
        """
        digest = _digest(cases)
        if self._records:
            values = np.array([compute(case) for case in cases], dtype=np.float64)
            kept = dict(np.load(FILE)) if FILE.exists() else {}
            kept |= {self._name: values, f"{self._name}:cases": np.frombuffer(digest, np.uint8)}
            np.savez_compressed(FILE, **{name: kept[name] for name in sorted(kept)})
            return values
        with np.load(FILE) as kept:
            if self._name not in kept or kept[f"{self._name}:cases"].tobytes() != digest:
                pytest.fail("The cases are not those whose values were recorded: pytest --record-references")
            values = kept[self._name]
        return values


def _digest(cases: Sequence[Sequence[object]]) -> bytes:
    state = blake2b(digest_size=16)
    for case in cases:
        for value in case:
            state.update(np.asarray(value, dtype=np.float64).round(9).tobytes() + b"|")
    return state.digest()
