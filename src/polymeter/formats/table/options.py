"""What a run may say to all of its dataset classes and tables, beyond the options that every format knows
(``RunOptions.dialect_options["tsv"]``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.core.options import Options, identity, runtime


class TableRunOptions(Options):
    """Settings of one run for its dataset classes and tables, which share them."""

    judge_args: dict[str, Any] = identity(dict, "What evaluate is given besides the judge: nproc, retry, and others.")
    failed_as_text: bool = identity(
        False, "Give failed samples to evaluate as the text that ULMEvalKit puts there; else they are left out."
    )
    circular: bool = identity(False, "Ask every multiple-choice question with its choices in every rotation as well.")
    detector: str = identity("", "Who looks for objects in images: shapes, or hf:PATH_OR_ID.")
    predict_only: bool = identity(False, "Keep the answers and score nothing.")
    num_generations: int | None = identity(None, "How many images for each prompt, in place of the benchmark's.", ge=1)
    arguments: dict[str, Any] = identity(dict, "Further arguments of the dataset class's constructor.")
    keep_predictions: bool = runtime(
        False, "Write the prediction file also where nothing evaluates it, or where it is not scored yet."
    )
    model_id: str = runtime("", "The model's name in the prediction file; default: the last part of its own.")


def read_run_options(options: Mapping[str, Any]) -> TableRunOptions:
    """The settings.

    Raises:
        PlanError: if a setting is not known (the nearest ones are named), or has a value that it cannot have.
    """
    return TableRunOptions.make(options, where="dialect_options tsv")
