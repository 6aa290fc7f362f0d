"""Opens the runs that ``--reuse`` names, before anything is sent."""

from __future__ import annotations

from pathlib import Path

from polymeter.core.errors import PlanError, StorageError, count
from polymeter.core.records.progress import Progress
from polymeter.run.plan.plan import Plan
from polymeter.run.reuse.index import AnswerIndex
from polymeter.run.reuse.lookup import Reuse
from polymeter.run.reuse.sources import NO_RUNS, OPTION, open_runs, reusing_models


def open_reuse(plan: Plan, own: Path, progress: Progress) -> None:
    """Set the reuse of a plan, if its options name runs.

    Args:
        plan: The plan.
        own: The folder of this run.
        progress: Reports the stage, and what the user should know.

    Raises:
        PlanError: if a folder is missing or contains no run, a run is damaged, or none has an answer by a model of this
            run.
    """
    options = plan.options
    if options.reuse in ((), NO_RUNS):
        if options.reuse_days is not None:
            raise PlanError("--reuse-days needs runs to reuse.", where="--reuse-days", hint=f"Name them with {OPTION}.")
        return
    progress.stage("reading answers of other runs")
    runs, models = open_runs(plan, own, progress.note), reusing_models(plan)
    try:
        index = AnswerIndex(runs, models, options.reuse_days)
    except StorageError as error:
        raise PlanError(f"A run cannot be reused: {error.what}", where=error.where, hint=error.hint) from error
    for run, n_missing in zip(runs, index.n_without_image, strict=True):
        if n_missing:
            images = f"{count(n_missing, 'answer')} of the run {run.name}"
            progress.note(f"{OPTION}: images of {images} are missing. They are asked for again.")
    plan.reuse = Reuse(runs, models, index)
