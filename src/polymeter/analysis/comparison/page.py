"""The page of a comparison: selection of the samples, and reading of the run folders."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.analysis.comparison.runs import ComparedRun
from polymeter.analysis.comparison.scores import mains
from polymeter.core.errors import PlanError
from polymeter.store.exports.export import read_sample_file, read_samples, sample_file
from polymeter.store.reading.outcomes import ScoreKey

if TYPE_CHECKING:
    from polymeter.analysis.comparison.comparing import Comparison

_MOST_DIFFERING = 150
"""The most samples of a task that are shown because their scores differ."""
_MOST_EQUAL = 20
"""The most samples of a task that are shown although their scores are equal."""


def write_page(comparison: Comparison, path: Path) -> None:
    """Write a page with the answers of all runs side by side, those that differ first.

    Raises:
        PlanError: if samples are not compared one by one.
        StorageError: if the page cannot be written.
    """
    from polymeter.report.comparison.page import SideBySide, make_comparison_page
    from polymeter.store.folder import write_text
    from polymeter.store.media import read_media

    if not comparison.is_paired:
        raise PlanError("Unpaired runs have no samples to show side by side.", where="--output", hint="Leave it out.")
    runs = [comparison.first, *(other.run for other in comparison.others)]
    shared: dict[str, list[str]] = {}
    keys: dict[str, ScoreKey] = {}
    for line in (line for other in comparison.others for line in mains(other.scores) if line.kind == "task"):
        keys.setdefault(line.name, (line.metric, line.filter))
        known = [{outcome.id for outcome in run.outcomes(line.name)} for run in runs if line.name in run.tasks]
        if len(known) == len(runs):
            in_all = set.intersection(*known)
            shared[line.name] = [own.id for own in comparison.first.outcomes(line.name) if own.id in in_all]
    chosen: list[tuple[float, SideBySide]] = []
    for task, ids in shared.items():
        values = [{own.id: own.values.get(keys[task]) for own in run.outcomes(task)} for run in runs]
        of_each = {name: [own[name] for own in values] for name in ids}
        wanted = _telling(of_each)
        sides = [_wanted_samples(run, task, set(wanted)) for run in runs]
        subsets = _subsets(comparison.first, task)
        for name in wanted:
            shown = SideBySide(task, name, [side[name] for side in sides], of_each[name], subsets.get(name, []))
            chosen.append((_gap(of_each[name]), shown))
    chosen.sort(key=lambda entry: -entry[0])

    def media(name: str) -> tuple[bytes, str] | None:
        return next((found for run in runs if (found := read_media(run.folder.media, name)) is not None), None)

    n_samples = sum(map(len, shared.values()))
    write_text(path, make_comparison_page(comparison.document(), [one for _, one in chosen], n_samples, media))


def _telling(values: Mapping[str, Sequence[float | None]]) -> list[str]:
    """Return the ids of the samples of a task to show: those that differ most, and some equal ones, evenly spread."""
    differing = sorted((name for name in values if _gap(values[name])), key=lambda name: -_gap(values[name]))
    equal = [name for name in values if not _gap(values[name])]
    return [*differing[:_MOST_DIFFERING], *equal[:: max(1, -(-len(equal) // _MOST_EQUAL))]]


def _gap(values: Sequence[float | None]) -> float:
    """Return the distance between the values of a sample. A sample without a score in some run differs more than any
    other.
    """
    scored = [item for item in values if item is not None]
    if 0 < len(scored) < len(values):
        return math.inf
    return max(scored) - min(scored) if scored else 0.0


def _subsets(run: ComparedRun, task: str) -> dict[str, list[str]]:
    """Return the subsets that each sample of a task belongs to."""
    found: dict[str, list[str]] = {}
    for subset in run.subsets(task):
        for outcome in run.part(task, subset):
            found.setdefault(outcome.id, []).append("/".join(subset))
    return found


def _wanted_samples(run: ComparedRun, task: str, wanted: Collection[str]) -> dict[str, Any]:
    read = read_sample_file if sample_file(run.folder, task).exists() else read_samples
    named = ((run.named_as(task, str(sample["id"])), sample) for sample in read(run.folder, task))
    return {name: sample for name, sample in named if name in wanted}
