"""Several pictures of one row: each is scored, and the row has their mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Scored = Mapping[str, Any]


def mean_over(answers: Sequence[Any], score: Callable[[Any], Scored]) -> dict[str, Any]:
    """The mean of each metric over the answers that have it. Texts are listed, numbered from 1.

    Args:
        answers: What the model gave for the row.
        score: One answer → metric → number, and texts such as ``explanation``.
    """
    found = [score(answer) for answer in answers]
    if len(found) == 1:
        return dict(found[0])
    whole: dict[str, Any] = {}
    for name in dict.fromkeys(name for item in found for name in item):
        values = [item[name] for item in found if name in item]
        if isinstance(values[0], str):
            texts = (f"{place}: {item[name]}" for place, item in enumerate(found, 1) if name in item)
            whole[name] = "\n".join(texts)
        else:
            had = [float(value) for value in values if not math.isnan(value)]
            whole[name] = math.fsum(had) / len(had) if had else math.nan
    return whole
