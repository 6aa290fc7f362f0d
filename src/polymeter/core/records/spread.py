"""The basis of the interval of a mean, kept with the result so that a group of results can have an interval too."""

from __future__ import annotations

import math
from dataclasses import dataclass

Bounds = tuple[float | None, float | None]
"""The least and the greatest value that a number can have; ``None``: there is no such end."""

UNBOUNDED: Bounds = (None, None)


def is_bounded(bounds: Bounds) -> bool:
    """Return whether at least one end is known."""
    return any(end is not None for end in bounds)


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """The moments of one mean. Two are the same only if they are one object: they then rest on the same samples.

    Attributes:
        mean: The mean.
        n: The number of values.
        variance: The variance of the mean, estimated for the interval; clusters count.
        third: The third central moment of the mean.
        df: Degrees of freedom of ``variance``; infinite where it follows from the mean.
        trials: The number of independent values that these are worth if all are equal, so that nothing else shows it.
        least_trials: The number of independent values that they are worth at least, however uncertain the variance is.
        seen_trials: The number of independent values that they are worth if the members of a cluster are as alike as
            they look, for the bound next to the end of the range; 0: as for the other bound.
        bounds: The range of the values.
        is_continuous: Whether most values, or clusters, lie between the bounds.
        problem: Why neither it nor a group that contains it can have an interval; empty: they can.
    """

    mean: float
    n: int
    variance: float
    third: float = 0.0
    df: float = math.inf
    trials: float = 1.0
    least_trials: float = 0.0
    seen_trials: float = 0.0
    bounds: Bounds = UNBOUNDED
    is_continuous: bool = False
    problem: str = ""


Terms = tuple[tuple[float, Spread], ...]
"""A sum of independent means, each with its coefficient."""
