"""The table of accuracies that VLMEvalKit prints for multiple choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.tasks.table.classes.cells import text_of
from polymeter.tasks.table.classes.prediction_files import distinct

if TYPE_CHECKING:
    import pandas as pd

HIT = "hit"
_GROUPS = ("l2-category", "category")
_NO_SPLIT = "none"
_SHORT = {
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

    splits = data["split"].map(text_of) if "split" in data.columns else pd.Series(_NO_SPLIT, index=data.index)
    rows = sorted(set(splits))
    table: dict[str, list[object]] = {"split": [*rows], "Overall": [data[HIT][splits == row].mean() for row in rows]}
    for group in _GROUPS:
        if group in data.columns:
            names = data[group].map(text_of)
            for name in distinct(data[group]):
                chosen = names == name
                table[_SHORT.get(name, name)] = [data[HIT][chosen & (splits == row)].mean() for row in rows]
    return pd.DataFrame(table)
