"""Options of a run for all of its dataset classes and tables, beyond those of every format
(``RunOptions.dialect_options["tsv"]``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.core.options import Options, identity, runtime


class TableRunOptions(Options):
    """Options of one run for its dataset classes and tables, which share them."""

    judge_args: dict[str, Any] = identity(dict, "Arguments of evaluate besides the judge: nproc, retry, and others.")
    failed_as_text: bool = identity(
        False, "Pass failed samples to evaluate with the text that stands for a failure; else leave them out."
    )
    circular: bool = identity(False, "Also ask every multiple-choice question with its choices in every rotation.")
    detector: str = identity("", "The detector that looks for objects in images: shapes, or hf:PATH_OR_ID.")
    predict_only: bool = identity(False, "Keep the answers and score nothing.")
    whole_videos: bool | None = identity(
        None, "Show videos whole, and not the frames that a class chooses; default: if the model takes whole videos."
    )
    num_generations: int | None = identity(None, "Images for each prompt, in place of the benchmark's number.", ge=1)
    arguments: dict[str, Any] = identity(dict, "Further arguments of the dataset class's constructor.")
    keep_predictions: bool = runtime(
        False, "Write the prediction file even if nothing evaluates it, or it is not scored yet."
    )
    predictions_as: str = runtime("", "Format of a plain table's prediction file; its accuracies are beside it.")
    scores_as: str = runtime("csv", "Format of those accuracies: csv, or json as rows.")
    model_id: str = runtime("", "The model's name in the prediction file's name; default: the last part of its name.")


def read_run_options(options: Mapping[str, Any]) -> TableRunOptions:
    """The options of a run.

    Raises:
        PlanError: if an option is unknown (the message names the nearest ones), or has a value of the wrong type.
    """
    return TableRunOptions.make(options, where="dialect_options tsv")
