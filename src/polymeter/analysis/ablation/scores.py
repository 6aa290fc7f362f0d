"""The worth of a part of the prompts, by the comparison of runs that every command uses.

``gain`` is the score with the part less the score without it, positive where the part helps: for media that are left
out it is the *multi-modal gain* S_v - S_wo of MMStar (arXiv 2403.20330, section 3). ``leakage`` is its max(0, S_wo -
S_t), where S_t is the score of the language model alone: what the model knows without seeing, and its language model
did not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from polymeter.analysis.ablation.blind import chance_of, n_unchanged
from polymeter.analysis.ablation.running import AblatedRun
from polymeter.analysis.comparison.comparing import Comparison, RunComparison, verdict
from polymeter.analysis.comparison.runs import ComparedRun
from polymeter.analysis.comparison.scores import ScoreComparison
from polymeter.report.table import title_of
from polymeter.stats.intervals import Interval

ALLOWED = ("samples", "prompts", "shown")
"""The differences between a run and its ablation that are meant: other prompts and media, and fewer samples."""
_VERDICTS = {"better": "hurts", "worse": "helps", "higher": "lowers", "lower": "raises"}
"""The effect of a part, by the verdict on the run without it."""


def part_scores(compared: Comparison, runs: Sequence[AblatedRun]) -> Iterator[dict[str, Any]]:
    """Yield the numbers of each ablation, task and metric, as plain data.

    Args:
        compared: The run, compared with its ablations.
        runs: These ablations, in the same order.
    """
    for ablated, other in zip(runs, compared.others, strict=True):
        for line in other.scores:
            facts = _facts(compared.first, other.run, line)
            yield {
                "how": ablated.ablation.name,
                "words": ablated.ablation.words,
                "is_blind": ablated.ablation.is_blind,
                **_head(compared.first, line),
                "with": line.first,
                "without": line.second,
                "gain": None if line.gain is None else -line.gain,
                "interval": _turned(line),
                **_test(line),
                "verdict": _VERDICTS.get(verdict(line), verdict(line)),
                **facts,
            }


def leakages(compared: Comparison, runs: Sequence[AblatedRun]) -> Iterator[dict[str, Any]]:
    """Yield the leakage of each task and metric by each ablation that leaves media out, as plain data.

    Args:
        compared: The run of the language model alone, compared with these ablations.
        runs: The ablations, in the same order.
    """
    for ablated, other in zip(runs, compared.others, strict=True):
        for line in other.scores:
            yield {
                "how": ablated.ablation.name,
                **_head(compared.first, line),
                "llm": line.first,
                "without": line.second,
                "leakage": None if line.gain is None else max(0.0, line.gain),
                "difference": line.gain,
                "interval": _upright(line),
                **_test(line),
            }


def unscored(other: RunComparison) -> Iterator[str]:
    """Yield a sentence for each task whose samples are not all compared."""
    from polymeter.report.formatting import count, listing

    for line in other.scores:
        sides = {
            "with the whole prompt": line.n_only_second,
            "without": line.n_only_first,
            "either way": line.n_neither,
        }
        if line.is_main and any(sides.values()):
            missing = listing(f"{count(n, 'sample')} {where}" for where, n in sides.items() if n)
            yield f"{line.name}: no score of {missing}, left out of both means."


def _facts(first: ComparedRun, other: ComparedRun, line: ScoreComparison) -> dict[str, Any]:
    if line.kind != "task" or not line.is_main:
        return {"n_unchanged": None, "chance": None}
    shared = {outcome.id for outcome in other.outcomes(line.name)}
    return {"n_unchanged": n_unchanged(first, other, line.name), "chance": chance_of(first, line.name, shared)}


def _head(first: ComparedRun, line: ScoreComparison) -> dict[str, Any]:
    return {
        "kind": line.kind,
        "name": line.name,
        "title": title_of(first.results, "group" if line.kind == "group" else "task", line.name),
        "metric": line.metric,
        "filter": line.filter,
        "higher_is_better": line.higher_is_better,
        "is_main": line.is_main,
        "n": line.n,
    }


def _test(line: ScoreComparison) -> dict[str, Any]:
    return {
        "no_interval": line.no_interval,
        "p_value": line.p_value,
        "p_corrected": line.p_corrected,
        "p_method": line.p_method,
        "family": line.family,
        "n_only_with": line.n_only_first,
        "n_only_without": line.n_only_second,
        "n_neither": line.n_neither,
    }


def _upright(line: ScoreComparison) -> list[float] | None:
    """The interval of the gain of the second run."""
    found: Interval | None = line.interval
    if found is None:
        return None
    return [-found[1], -found[0]] if line.higher_is_better is False else [found[0], found[1]]


def _turned(line: ScoreComparison) -> list[float] | None:
    """The interval of the gain of the first run."""
    found = _upright(line)
    return None if found is None else [-found[1] or 0.0, -found[0] or 0.0]
