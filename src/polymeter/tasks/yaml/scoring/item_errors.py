"""The standard errors of a metric's items, whatever aggregates them: lmms-eval states these beside every number.

An item is what a task's code gives for one sample: a number, or a dictionary that holds one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from polymeter.core.text.codec import jsonable

ItemErrors = tuple[float | None, float | None]
"""The standard error of the mean of the items' numbers, and the clustered one."""


def number_of(item: Any, score_key: str, cluster_key: str | None, cluster: Any = None) -> tuple[float, Any] | None:
    """The number of an item and its cluster; ``None`` if it has no number.

    Args:
        item: The item.
        score_key: Where a dictionary holds its number.
        cluster_key: Where it may hold its cluster.
        cluster: The cluster of an item that does not name its own.
    """
    if isinstance(item, Mapping):
        cluster = item.get(cluster_key, cluster) if cluster_key else None
        item = item.get(score_key)
    if hasattr(item, "dtype"):  # NumPy's integers and short floats are no Python numbers
        item = jsonable(item)
    return (item, cluster) if isinstance(item, (int, float)) else None


def item_errors(numbers: Sequence[tuple[float, Any]]) -> ItemErrors:
    """The standard error of the mean, and the one that adds what the members of a cluster have in common: equation 4 of
    Miller 2024, without a correction for few clusters. Items without a cluster form one.

    ``None`` for fewer than two numbers or clusters.
    """
    n = len(numbers)
    if n < 2:
        return None, None
    mean = sum(value for value, _ in numbers) / n
    clusters: dict[str, list[float]] = {}
    for value, cluster in numbers:
        clusters.setdefault(json.dumps(jsonable(cluster), sort_keys=True), []).append(value - mean)
    within = sum(deviation**2 for own in clusters.values() for deviation in own) / (n - 1)
    of_mean = math.sqrt(within / n)
    if len(clusters.keys() - {"null"}) < 2:
        return of_mean, None
    return of_mean, math.sqrt(within + sum(sum(own) ** 2 for own in clusters.values())) / n
