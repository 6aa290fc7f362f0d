"""The numbers of a task's samples as arrays, from which plots are made, for ten samples or a million.

They come from the viewer's index, whose columns are mapped into memory. A plot reads arrays and leaves a few bins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.integer[Any]]
SCORE, LABEL = "score:", "label:"
COUNTS = ("answer_chars", "output_tokens", "latency_ms")


class PlottedIndex(Protocol):
    """The interface of an index of samples."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """The facts on its columns."""

    @property
    def n(self) -> int:
        """The number of its samples."""

    def column(self, name: str) -> npt.NDArray[Any]:
        """A column of numbers."""


@dataclass(frozen=True)
class LabelColumn:
    """A column of labels: the names, and the place of each sample's label among them; negative: it has none of them."""

    names: tuple[str, ...]
    codes: Codes


@dataclass(frozen=True)
class Columns:
    """The samples of a task that have ended, each array in their order.

    Attributes:
        n: Their number.
        scores: By metric (``metric`` or ``metric,filter``) the value of each sample; NaN: it has none.
        counts: By name the usage of each sample (``answer_chars``, ``output_tokens``, ``latency_ms``); NaN: not known.
        subset: The subset of each; without names if there are none.
        confidence: The probability, among its choices, of the one that each took; NaN: not known. Empty if no sample
            has log-probabilities.
        labels: By name (``target``, ``answer``, ``target_place``, ``answer_place``) the label of each sample.
    """

    n: int
    scores: Mapping[str, Floats] = field(default_factory=dict)
    counts: Mapping[str, Floats] = field(default_factory=dict)
    subset: LabelColumn = field(default_factory=lambda: LabelColumn((), np.empty(0, np.int64)))
    confidence: Floats = field(default_factory=lambda: np.empty(0))
    labels: Mapping[str, LabelColumn] = field(default_factory=dict)


def columns_of_index(index: PlottedIndex) -> Columns:
    """The columns of an index. Columns that an older index does not have are left out."""
    facts = index.facts
    counts = {}
    for name in COUNTS:
        values = np.asarray(index.column(name), dtype=np.float64)
        counts[name] = np.where(values < 0, np.nan, values)
    labels = {
        name: LabelColumn(tuple(names), index.column(LABEL + name)) for name, names in facts.get("labels", {}).items()
    }
    return Columns(
        index.n,
        {name: index.column(SCORE + name) for name in facts["metrics"]},
        counts,
        LabelColumn(tuple(facts["subsets"]), index.column("subset")),
        index.column("confidence") if "confidence" in facts else np.empty(0),
        labels,
    )
