"""The orders in which the choices of a question are shown. They depend on the run's seed, the task and the sample
alone, so that they are the same whatever the limit, the batch size, or the order of the rows.
"""

from __future__ import annotations

import math
import random
from itertools import islice, permutations

from polymeter.core.identity import seed_for
from polymeter.core.settings.choice_orders import Order

_MOST_SHIFTED = 5
_PURPOSE = "choices"


def orders_of(n: int, k: int, seed: int, task: str, sample: str) -> tuple[Order, ...]:
    """Return up to ``k`` different orders of the choices of a sample; the first is the author's.

    Up to 5 choices are shifted, if that gives as many orders: with as many orders as choices, each choice stands once
    at each place (the rotations of CircularEval, Liu et al. 2023, arXiv:2307.06281). Other orders are drawn at random,
    none twice.

    Args:
        n: The number of choices.
        k: The number of orders; there are fewer if the choices have fewer.
        seed: The run's seed.
        task: The task.
        sample: The sample's id.
    """
    if k <= n <= _MOST_SHIFTED:
        return tuple([tuple((place - shift) % n for place in range(n)) for shift in range(k)])
    own = tuple(range(n))
    generator = random.Random(seed_for(seed, task, sample, _PURPOSE))
    if n <= _MOST_SHIFTED:
        others = [*islice(permutations(own), 1, None)]
        return (own, *generator.sample(others, min(k - 1, len(others))))
    found = {own: None}
    while len(found) < min(k, math.factorial(n)):
        found.setdefault(tuple(generator.sample(own, n)))
    return tuple(found)
