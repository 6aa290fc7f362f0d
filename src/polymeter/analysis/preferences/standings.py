"""Standings from verdicts on pairs: win rates, scores, and the reliability of the judge, as one document for all
outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polymeter.metrics.basic import MEAN
from polymeter.stats import Estimate, Partition, bradley_terry, estimate
from polymeter.stats.intervals import ends_of
from polymeter.store.folder import RunFolder
from polymeter.store.reading.outcomes import SampleOutcome, read_outcomes
from polymeter.tasks.pairs.compile import CONSISTENT, FIRST_SHOWN, WIN_RATE
from polymeter.tasks.pairs.file import AnswerPair, AnswerPairs

SCHEMA_VERSION = 1
_NO_FILTER = "none"


def standings(folder: RunFolder, task: str, file: Path, judge: str) -> dict[str, Any]:
    """Return the standings from the verdicts so far, as plain data, as ``polymeter pairwise --json`` prints them.

    Args:
        folder: The run with the verdicts.
        task: Its task.
        file: The pairs.
        judge: The judge's name.
    """
    pairs = AnswerPairs(file)
    head = pairs.head
    outcomes = {outcome.id: outcome for outcome in read_outcomes(folder, task)}
    judged = [(pair, outcomes[pair.id]) for pair in pairs if pair.id in outcomes]
    scored = [(pair, outcome) for pair, outcome in judged if (WIN_RATE, _NO_FILTER) in outcome.values]
    runs = [*head["runs"]]
    comparisons = [
        (runs.index(pair.first), runs.index(pair.second), outcome.values[WIN_RATE, _NO_FILTER])
        for pair, outcome in scored
    ]
    found = bradley_terry(comparisons, len(runs), clusters=[pair.unit for pair, _ in scored])
    shown = [(pair, outcome) for pair, outcome in scored if (FIRST_SHOWN, _NO_FILTER) in outcome.values]
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "pairwise",
        "judge": judge,
        "rubric": head["rubric"],
        "n_pairs": len(pairs),
        "n_scored": len(scored),
        "n_equal_answers": len(scored) - len(shown),
        "runs": [
            {
                "name": name,
                "model": head["models"][number],
                **_tally([(got if i == number else 1 - got) for i, j, got in comparisons if number in (i, j)]),
                "score": found.values[number],
                "stderr": found.stderrs[number],
                "interval": ends_of(found.intervals[number]),
            }
            for number, name in enumerate(runs)
        ],
        "no_scores": found.problem,
        "no_intervals": found.no_interval,
        "tiers": [[runs[number] for number in tier] for tier in found.tiers] if found.problem else [],
        "pairs": [
            _pair(first, second, [one for one in scored if (one[0].first, one[0].second) == (first, second)])
            for first, second in sorted(
                {(pair.first, pair.second) for pair, _ in scored}, key=lambda names: [*map(runs.index, names)]
            )
        ],
        "position": {
            "n": len(shown),
            "n_contradictory": sum(not outcome.values[CONSISTENT, _NO_FILTER] for _, outcome in shown),
            "consistent": _mean_of(shown, CONSISTENT),
            "first_shown": _mean_of(shown, FIRST_SHOWN),
        },
        "warnings": [*head.get("notes", ())],
        "folder": str(folder.path),
    }


def _pair(first: str, second: str, own: Sequence[tuple[AnswerPair, SampleOutcome]]) -> dict[str, Any]:
    got = [outcome.values[WIN_RATE, _NO_FILTER] for _, outcome in own]
    return {"first": first, "second": second, **_tally(got), "win_rate": _mean_of(own, WIN_RATE)}


def _tally(got: Sequence[float]) -> dict[str, int]:
    wins, ties, losses = (sum(value == wanted for value in got) for wanted in (1.0, 0.5, 0.0))
    return {"n": len(got), "wins": wins, "ties": ties, "losses": losses}


def _mean_of(own: Sequence[tuple[AnswerPair, SampleOutcome]], metric: str) -> dict[str, Any]:
    """Return the mean of a metric over pairs, with its uncertainty."""
    values = [outcome.values[metric, _NO_FILTER] for _, outcome in own]
    if not values:
        return {"value": None, "stderr": None, "interval": None, "no_interval": "no pair was judged"}
    partition = Partition.of([pair.unit for pair, _ in own])
    found: Estimate = estimate(
        values, MEAN, clusters=partition if partition.count < len(values) else None, bounds=(0.0, 1.0)
    )
    # With ties alone, or contradictions alone, the mean lies inside its range, but its spread is unknown.
    is_flat = not found.stderr and 0 < found.value < 1 and found.interval is not None
    problem = "the verdicts show no spread" if is_flat else found.no_interval
    return {
        "value": found.value,
        "stderr": found.stderr,
        "interval": None if is_flat else ends_of(found.interval),
        **({"no_interval": problem} if problem else {}),
    }
