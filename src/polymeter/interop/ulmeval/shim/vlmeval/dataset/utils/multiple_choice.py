"""Stand-in for ``vlmeval.dataset.utils.multiple_choice``: which option an answer names, and accuracies. An option is
never chosen by chance, and a verdict that the judge did not give is no wrong answer: its row has no ``hit`` (NaN).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, UnscoredError
from polymeter.formats.table.classes.cells import column, options_of
from polymeter.formats.table.classes.multiple_choice import circular
from polymeter.formats.table.classes.multiple_choice.datasets import gold_of
from polymeter.formats.table.classes.multiple_choice.extract import NO_OPTION, can_infer
from polymeter.formats.table.classes.multiple_choice.reading import read_choice
from polymeter.formats.table.classes.multiple_choice.table import HIT
from polymeter.formats.table.classes.multiple_choice.table import accuracy_table as report_acc
from polymeter.interop.ulmeval.shim.ulmeval.smp.file import dump
from polymeter.interop.ulmeval.shim.ulmeval.utils.mp_util import track_progress_rich
from polymeter.interop.ulmeval.shim.vlmeval.dataset.utils._tables import (
    MMMU_preproc,
    report_acc_MMSci,
    report_acc_MMT,
    report_acc_MMVP,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MMMU_preproc",
    "build_choices",
    "extract_answer_from_item",
    "mcq_circular_eval",
    "mcq_vanilla_eval",
    "prefetch_answer",
    "report_acc",
    "report_acc_MMSci",
    "report_acc_MMT",
    "report_acc_MMVP",
]


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
    is_judged = model is not None
    reading = read_choice(str(item["prediction"]), build_choices(item), column(item, "question"), is_judged=is_judged)
    return {"opt": reading.option or NO_OPTION, "log": f"how read: {reading.how}"}


def mcq_vanilla_eval(
    model: Any,
    data: pd.DataFrame,
    meta: pd.DataFrame,
    nproc: int,
    result_file: str,
    dataset_name: str | None = None,
) -> pd.DataFrame:
    """Predictions with what became of them, each row by itself.

    Args:
        model: A judge for what the rules leave open; ``None`` for rules alone.
        data: The predictions.
        meta: The rows with their answers.
        nproc: How many rows are read at a time.
        result_file: A ``.pkl`` file that keeps what was found.
        dataset_name: Not used.

    Returns:
        ``data`` with ``hit`` (1, 0, or NaN where the judge gave no verdict) and ``log``.

    Raises:
        DataError: A prediction belongs to no row of ``meta``, or a row's answer is none of its options.
    """
    rows = {str(row["index"]): row for row in meta.to_dict("records")}
    items = [{**rows.get(str(item["index"]), {}), **item} for item in data.to_dict("records")]
    lost = [str(item["index"]) for item in items if str(item["index"]) not in rows]
    if lost:
        raise DataError(f"Predictions belong to no row of the benchmark: {', '.join(lost[:5])}.")
    found = track_progress_rich(_checked, [(model, item) for item in items], nproc=nproc)
    dump({item["index"]: values for item, values in zip(items, found, strict=True)}, result_file)
    return data.assign(**{name: [values[name] for values in found] for name in (HIT, "log")})


def mcq_circular_eval(
    model: Any,
    data: pd.DataFrame,
    meta: pd.DataFrame,
    nproc: int,
    result_file: str,
    dataset_name: str | None = None,
) -> pd.DataFrame:
    """The same for a table with rotated copies of its questions: a row for each question, right where all its rotations
    are; without a ``hit`` where one of them has none. See ``mcq_vanilla_eval``.
    """
    whole = mcq_vanilla_eval(model, data, meta, nproc, result_file, dataset_name)
    groups = [group for group, _ in circular.groups_of(whole)]
    hits = [(group, hit) for group, hit in zip(groups, whole[HIT], strict=True) if not math.isnan(hit)]
    verdicts = circular.all_right(hits, Counter(groups))
    originals = [is_original for _, is_original in circular.groups_of(whole)]
    kept = [verdicts.get(group, math.nan) for group, is_one in zip(groups, originals, strict=True) if is_one]
    return whole[originals].assign(**{HIT: kept})


def _checked(model: Any, item: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found = extract_answer_from_item(model, item)
    except UnscoredError as error:
        return {HIT: math.nan, "log": str(error)}
    return {HIT: float(found["opt"] == gold_of(item)), "log": found["log"]}
