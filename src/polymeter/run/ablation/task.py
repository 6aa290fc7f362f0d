"""A task that asks without a part of its prompts, made of any compiled one."""

from __future__ import annotations

from dataclasses import replace

from polymeter.core.errors import UnfitError
from polymeter.core.records.lint_finding import NO_MEDIUM_SHOWN, LintFinding
from polymeter.core.settings.ablations import ABLATIONS, Ablation, shown_media
from polymeter.core.task import Task
from polymeter.run.ablation.partners import SampleCycle
from polymeter.run.ablation.requests import Ablating

OPTION = "--ablation"


def ablated(task: Task, name: str, seed: int) -> Task:
    """Return a task that asks without a part of its prompts.

    Args:
        task: The task.
        name: The name of the ablation; empty: none.
        seed: The seed of the run.

    Raises:
        UnfitError: if its prompts do not show what the ablation changes.
    """
    if not name:
        return task
    ablation = ABLATIONS[name]
    modalities = task.needs.modalities
    if ablation.modalities and not (ablation.modalities & modalities or task.needs.are_prompts_unknown):
        raise unfit(task, ablation, f"its prompts show no {shown_media(ablation.modalities)}")
    if task.environment is not None:
        raise unfit(task, ablation, "its tools return what the prompts would not show")
    if ablation.way == "shuffled" and len(task.samples) < 2:
        raise unfit(task, ablation, "it has only one sample, so no other one can lend its media")
    needs = replace(task.needs, modalities=modalities - ablation.modalities) if ablation.is_blind else task.needs
    said = LintFinding(
        # A task whose rows have media, which no prompt shows, is what an ablation makes on purpose.
        NO_MEDIUM_SHOWN if ablation.is_blind else "ablation",
        f"The model is asked {ablation.words} ({OPTION} {name}).",  # of the whole run, so that it is said once
        severity="note",
    )
    ablating = Ablating(task, ablation, SampleCycle(task.spec.name, len(task.samples), seed))
    return replace(task, rollout=ablating.rollout, needs=needs, findings=(*task.findings, said))


def unfit(task: Task, ablation: Ablation, why: str) -> UnfitError:
    """Return the error for a task that an ablation cannot change."""
    return UnfitError(
        f"Task {task.spec.name!r} cannot be asked {ablation.words}: {why}.",
        where=f"{OPTION} {ablation.name}",
        hint="Leave the task out, or choose another ablation.",
    )
