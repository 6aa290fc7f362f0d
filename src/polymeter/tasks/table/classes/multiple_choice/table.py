"""The table of accuracies that VLMEvalKit prints for multiple choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from polymeter.tasks.table.classes.cells import text_of
from polymeter.tasks.table.classes.prediction_files import distinct

if TYPE_CHECKING:
    import pandas as pd

HIT = "hit"
_GROUPS = ("l2-category", "category")
NO_SPLIT = "none"
ABILITIES: Mapping[str, str] = {
    "coarse_perception": "CP",
    "finegrained_perception (instance-level)": "FP-S",
    "finegrained_perception (cross-instance)": "FP-C",
    "logic_reasoning": "LR",
    "relation_reasoning": "RR",
    "attribute_reasoning": "AR",
}
"""MMBench's abilities, under the names of its leaderboard."""


def accuracy_table(data: pd.DataFrame) -> pd.DataFrame:
    """Mean of ``hit`` for each split (a row) over all questions and over each category (columns), from 0 to 1.

    Args:
        data: One row per question with ``hit``, and optionally ``split``, ``l2-category`` and ``category``. NaN hits
            are not counted.

    Returns:
        Columns ``split``, ``Overall``, the broad and then the fine categories in alphabetical order.
    """
    import pandas as pd

    splits = data["split"].map(split_name) if "split" in data.columns else pd.Series(NO_SPLIT, index=data.index)
    rows = sorted(set(splits))
    table: dict[str, list[object]] = {"split": [*rows], "Overall": [data[HIT][splits == row].mean() for row in rows]}
    for group in _GROUPS:
        if group in data.columns:
            names = data[group].map(text_of)
            for name in distinct(data[group]):
                chosen = names == name
                table[ABILITIES.get(name, name)] = [data[HIT][chosen & (splits == row)].mean() for row in rows]
    return pd.DataFrame(table)


def split_name(cell: Any) -> str:
    """The split of a row: ``none`` if its cell is empty."""
    return text_of(cell) or NO_SPLIT
