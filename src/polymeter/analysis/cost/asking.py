"""Estimating what a run needs, from Python or from the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from polymeter.analysis.cost.costing import estimate_run
from polymeter.analysis.cost.estimate import CostEstimate
from polymeter.api.imports import refuse_while_loading
from polymeter.api.running import ModelLike, Roles, allowances, make_request, run_request
from polymeter.core.errors import PlanError, PolymeterError, count
from polymeter.core.machine.places import naming_places
from polymeter.core.records.progress import Progress, Silence
from polymeter.run.pilot.drawing import EndedPilot
from polymeter.run.pilot.rendering import opened_plan
from polymeter.run.plan.request import RunRequest
from polymeter.tasks.python.files.session import Tasks, holding, tasks_given


@naming_places()
def estimate_cost(
    model: ModelLike,
    tasks: Tasks,
    *,
    model_path: str = "",
    model_args: Mapping[str, Any] | None = None,
    roles: Roles | None = None,
    sources: Sequence[Path | str] | None = None,
    progress: Progress | None = None,
    command: str = "",
    **options: Any,
) -> CostEstimate:
    """Estimate the requests, tokens, money and time of a run. Nothing is sent, unless ``pilot`` is given.

    Args:
        model: As for ``evaluate``.
        tasks: As for ``evaluate``.
        model_path: As for ``evaluate``.
        model_args: As for ``evaluate``.
        roles: As for ``evaluate``.
        sources: Runs, or folders of runs, that show how long answers are; default: those in ``./runs``.
        progress: Receives progress; default: none.
        command: The command to record.
        **options: Fields of ``polymeter.RunOptions``, those of the run. ``pilot``: ask this many samples of each task,
            in a run that ``evaluate`` with the same options and ``output``, or ``resume``, continues.

    Raises:
        PlanError: if the run is impossible as specified, or ``sources`` has no runs.
        DataError: if a dataset cannot be opened.
    """
    refuse_while_loading()
    named, objects = tasks_given(tasks)
    request = make_request(
        model, named, options, model_path=model_path, model_args=model_args, roles=roles, command=command
    )
    told = progress or Silence()
    places = None if sources is None else [Path(source) for source in sources]
    with holding(objects):
        if request.options.pilot is None:
            with allowances(request.options), opened_plan(request, told) as plan:
                return estimate_run(plan, told, sources=places)
        return _with_pilot(request, told)


def _with_pilot(request: RunRequest, progress: Progress) -> CostEstimate:
    """Ask the samples of a pilot, and estimate the rest from them.

    Raises:
        PolymeterError: if the pilot could not be asked.
        KeyboardInterrupt: if the user has interrupted it.
    """
    made: list[CostEstimate] = []

    def after(pilot: EndedPilot) -> str:
        made.append(estimate_run(pilot.plan, progress, pilot=pilot))
        n = sum(len(drawn) for drawn in pilot.drawn.values())
        return f"The pilot of {count(n, 'sample')} has ended."

    result = run_request(replace(request, after_pilot=after), progress)
    if made:
        return made[0]
    if result.status == "interrupted":
        progress.note(f"The answers so far are kept in {result.folder.path}.")
        raise KeyboardInterrupt
    if result.is_complete:
        raise PlanError(
            "This run is complete, so there is nothing to estimate.",
            where=str(result.folder.path),
            hint="Choose another --output.",
        )
    reason, _, stated = (result.reason or result.status).partition("\n")
    command = stated or f"Continue with: polymeter resume {shlex.quote(str(result.folder.path))}"
    raise PolymeterError(
        f"The pilot was not finished: {reason.rstrip('.')}.",
        where=str(result.folder.path),
        hint=f"Its answers are kept. {command}",
    )
