"""Stand-in for ``vlmeval.dataset.utils.multiple_choice``: which option an answer names, and accuracies. An option is
never chosen by chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.compat.ulmeval._refusals import absent_function
from polymeter.dialects.tsv.native.cells import column, options_of
from polymeter.dialects.tsv.native.multiple_choice.extract import NO_OPTION, can_infer
from polymeter.dialects.tsv.native.multiple_choice.reading import read_choice
from polymeter.dialects.tsv.native.multiple_choice.table import accuracy_table as report_acc

__all__ = [
    "build_choices",
    "extract_answer_from_item",
    "mcq_circular_eval",
    "mcq_vanilla_eval",
    "prefetch_answer",
    "report_acc",
]

_INSTEAD = "Derive from ImageMCQDataset, whose evaluate does it, or leave evaluate out."
mcq_vanilla_eval = absent_function("mcq_vanilla_eval", _INSTEAD, kit="VLMEvalKit")
mcq_circular_eval = absent_function("mcq_circular_eval", _INSTEAD, kit="VLMEvalKit")


def build_choices(item: Mapping[str, Any]) -> dict[str, str]:
    """The options of a row: letter → text."""
    return options_of(item)


def prefetch_answer(item: Mapping[str, Any]) -> Any:
    """The option that the prediction of a row names by rules alone; ``False`` where they find none."""
    return can_infer(str(item["prediction"]), build_choices(item))


def extract_answer_from_item(model: Any, item: Mapping[str, Any], dataset_name: str | None = None) -> dict[str, str]:
    """The option that the prediction of a row names, and how it was read.

    Args:
        model: A judge for what the rules leave open; ``None`` for rules alone.
        item: The row.
        dataset_name: Not used.

    Returns:
        ``opt``: a letter, ``Z`` for none; ``log``: who read it.

    Raises:
        UnscoredError: The judge gave no verdict.
    """
    reading = read_choice(
        str(item["prediction"]), build_choices(item), column(item, "question"), is_judged=model is not None
    )
    return {"opt": reading.option or NO_OPTION, "log": f"read by: {reading.how}"}
