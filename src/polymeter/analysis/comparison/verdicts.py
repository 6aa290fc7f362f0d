"""The verdicts of people in a comparison: their scores replace those of a run, and samples that they excluded in any of
the runs are left out of all, because only pairs are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from polymeter.analysis.comparison.runs import ComparedRun
from polymeter.core.records.human_scores import few_named
from polymeter.core.records.stored_samples import named
from polymeter.report.formatting import count
from polymeter.store.reading.used_verdicts import UsedVerdicts, require_any, used_verdicts


def use_verdicts(runs: Sequence[ComparedRun]) -> dict[str, UsedVerdicts]:
    """Have runs use the verdicts beside them. Return these by the name of the run.

    Raises:
        PlanError: if a file of verdicts is damaged, or no run has any.
        StorageError: if one cannot be read.
    """
    used = {
        run.name: used_verdicts(run.folder, {task: {one.id for one in run.stored(task)} for task in run.tasks})
        for run in runs
    }
    require_any(used.values(), ", ".join(str(run.folder.path) for run in runs))
    left_out: dict[str, set[str]] = {}
    for one in used.values():
        for task, human in one.tasks.items():
            left_out.setdefault(task, set()).update(human.excluded)
    for run in runs:
        run.human, run.left_out = used[run.name].tasks, left_out
    return used


def verdict_notes(first: ComparedRun, other: ComparedRun, used: Mapping[str, UsedVerdicts]) -> Iterator[str]:
    """Yield the notes on the verdicts in the comparison of two runs."""
    pair = (first, other)
    yield f"Verdicts of people: {'; '.join(f'{run.name}: {used[run.name].counted}' for run in pair)}."
    n_left_out = sum(map(len, first.left_out.values()))
    if n_left_out:
        verb = "is" if n_left_out == 1 else "are"
        yield f"{count(n_left_out, 'excluded sample')} {verb} left out of all runs."
    shares = [_share_excluded(run, used[run.name]) for run in pair]
    if shares[0] != shares[1]:
        said = " and ".join(f"{share:.1%} in {run.name}" for run, share in zip(pair, shares, strict=True))
        yield f"The share of excluded samples differs: {said}. Excluding samples after seeing results can favour a run."
    for run in pair:
        yield from (f"{run.name}: {problem}" for problem in used[run.name].problems)
        unused = unused_metrics(run)
        if unused:
            yield f"{run.name}: scores of people for {few_named(unused)} were not used: the run has no such score."


def _share_excluded(run: ComparedRun, used: UsedVerdicts) -> float:
    n = sum(len(run.stored(task)) for task in run.tasks)
    return sum(len(human.excluded) for human in used.tasks.values()) / n if n else 0.0


def unused_metrics(run: ComparedRun) -> list[str]:
    """Return the metrics of verdicts that the sample has no score for."""
    found: dict[str, None] = {}
    for task, human in run.human.items():
        by_id = {one.id: one for one in run.stored(task)} if human.values else {}
        for sample, values in human.values.items():
            own = {named(*key) for key in by_id[sample].values}
            found |= dict.fromkeys(metric for metric in values if metric not in own)
    return [*found]
