"""``evalscope.run``: a script's evaluation, run by Polymeter, which prints the table at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.core.errors import ModelError, ScoreError

__all__ = ["run_task"]


def run_task(task_cfg: Any) -> Any:
    """Evaluate a model on the datasets of a configuration.

    Args:
        task_cfg: A ``TaskConfig``, a dictionary, parsed arguments, or the path of a YAML or JSON file; or a list of
            these, which run one after another in one work folder.

    Returns:
        The report of each dataset, or at the stage ``infer`` the predictions of each subset of each dataset; for a
        list, a list.

    Raises:
        PlanError: if it cannot run with these settings; nothing was spent.
        DataError: if a dataset cannot be opened; nothing was spent.
        ModelError: if the run stopped before its end.
        ScoreError: if no sample has a score; the message gives the first reason.
    """
    from polymeter.interop.evalscope.evaluation import time_stamp

    stamp = time_stamp()
    if isinstance(task_cfg, (list, tuple)):
        return [_run(config, stamp) for config in task_cfg]
    return _run(task_cfg, stamp)


def _run(task_cfg: Any, stamp: str) -> Mapping[str, Any]:
    from polymeter.cli.progress import make_progress
    from polymeter.interop.evalscope.command import show
    from polymeter.interop.evalscope.evaluation import evaluate_evalscope

    with make_progress(is_quiet=False) as progress:
        result = evaluate_evalscope(task_cfg, progress=progress, stamp=stamp)
    show(result)
    if not result.run.is_complete:
        raise ModelError(
            f"The run is {result.run.status}: there are no results.",
            where=str(result.folder),
            hint=f"Resume it with use_cache={str(result.folder)!r}.",
        )
    if result.why_nothing_scored:
        raise ScoreError(
            f"Nothing was scored. {result.why_nothing_scored}",
            where=str(result.folder),
            hint=f"The HTML report shows every sample: {result.run.report}.",
        )
    return result.reports or result.predictions
