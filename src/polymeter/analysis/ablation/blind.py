"""The samples that a model answers right without their media, and what guessing would get."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from polymeter.analysis.ablation.running import AblatedRun
from polymeter.analysis.comparison.comparing import Comparison
from polymeter.analysis.comparison.runs import ComparedRun
from polymeter.analysis.comparison.scores import ScoreComparison, mains
from polymeter.report.scales import axis
from polymeter.run.ablation.questions import options_of_row
from polymeter.store.reading.outcomes import SampleOutcome

_FEWEST_OPTIONS = 2


def answered_blind(compared: Comparison, runs: list[AblatedRun]) -> dict[str, dict[str, list[str]]]:
    """Return the ids of the samples that were answered right without their media, by task and ablation.

    A sample counts if its value lies beyond the middle of the scale of the first metric of its task, as the viewer
    calls it right, and if its request did show media that were left out.

    Args:
        compared: The run, compared with its ablations.
        runs: These ablations, in the same order.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for ablated, other in zip(runs, compared.others, strict=True):
        if not ablated.ablation.is_blind:
            continue
        for line in mains(other.scores):
            if line.kind == "task":
                found.setdefault(line.name, {})[ablated.ablation.name] = [*_right(compared.first, other.run, line)]
    return found


def _right(first: ComparedRun, other: ComparedRun, line: ScoreComparison) -> Iterator[str]:
    key = (line.metric, line.filter)
    whole = {outcome.id: outcome for outcome in first.outcomes(line.name)}
    means, _ = first.means(line.name)
    values = [
        outcome.values[key] for own in (first, other) for outcome in own.outcomes(line.name) if key in outcome.values
    ]
    scale = axis(means[key].bounds if key in means else (None, None), values)
    if scale is None:
        return
    middle = (scale.low + scale.high) / 2
    for outcome in other.outcomes(line.name):
        value = outcome.values.get(key)
        if value is None or outcome.id not in whole or not _is_changed(whole[outcome.id], outcome):
            continue
        if value < middle if line.higher_is_better is False else value > middle:
            yield outcome.id


def n_unchanged(first: ComparedRun, other: ComparedRun, task: str) -> int:
    """Return the number of samples of both runs that were asked the same: their prompts have no such part."""
    whole = {outcome.id: outcome for outcome in first.outcomes(task)}
    shared = [outcome for outcome in other.outcomes(task) if outcome.id in whole]
    return sum(not _is_changed(whole[outcome.id], outcome) for outcome in shared)


def chance_of(run: ComparedRun, task: str, samples: Collection[str]) -> float | None:
    """Return the share of right answers that guessing among the listed options would get; ``None``: unknown.

    The options of a sample are known from its log-probabilities, or from its row if its request lists them.
    """
    outcomes = [outcome for outcome in run.outcomes(task) if outcome.id in samples]
    if not outcomes:
        return None
    if all(outcome.logprobs for outcome in outcomes):
        return math.fsum(1 / len(outcome.logprobs or ()) for outcome in outcomes) / len(outcomes)
    rows = run.rows(task)
    options = {outcome.id: [*_options_in(rows.get(outcome.id))] for outcome in outcomes}
    if any(len(own) < _FEWEST_OPTIONS for own in options.values()):
        return None
    asked = run.requests(task, {outcome.id: outcome.request for outcome in outcomes if outcome.request})
    if not all(_lists(asked.get(name), own) for name, own in options.items()):
        return None
    return math.fsum(1 / len(own) for own in options.values()) / len(options)


def _is_changed(whole: SampleOutcome, outcome: SampleOutcome) -> bool:
    return not whole.request or not outcome.request or whole.request != outcome.request


def _options_in(row: str | None) -> Iterator[str]:
    doc = json.loads(row or "null")
    if isinstance(doc, dict):
        yield from options_of_row(doc)


def _lists(request: Any, options: Collection[str]) -> bool:
    messages: Collection[Mapping[str, Any]] = (request or {}).get("messages") or ()
    text = " ".join(str(part["text"]) for message in messages for part in message["parts"] if "text" in part)
    return all(option in text for option in options)
