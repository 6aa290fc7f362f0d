"""Scores of repeats: each by the task's own scoring, and together as the score of one sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from polymeter.core.records.attempts import filter_of, majority, repeats_in, with_means
from polymeter.core.task import Rollout, Sample, Score
from polymeter.run.variants.asking import OneVariant
from polymeter.run.variants.scoring import VariantKind

REPEATS = VariantKind("repeat", "repeats")


def score_repeats(score: Callable[[Sample, Rollout], Score], sample: Sample, rollout: Rollout) -> Score:
    """Score every repeat of a sample, and join the scores.

    Args:
        score: The task's own scoring.
        sample: The sample.
        rollout: The rollout of ``ask_repeats``.

    Raises:
        ScoreError: if the task's own code failed for one of them.
        UnscoredError: if a judge's verdict on one of them is missing.
    """
    repeats: Sequence[OneVariant] = rollout.returned
    return _joint([score(one.sample, one.rollout) for one in repeats], [one.places for one in repeats])


def score_of_repeat(score: Score, number: int) -> Score:
    """Return the score of one repeat, from that of its sample.

    Args:
        score: The score of the sample.
        number: The number of the repeat, from 0.
    """
    values = {key: each[number] for key, each in repeats_in(score.values).items()}
    return REPEATS.score(score, number, values)


def _joint(scores: Sequence[Score], places: Sequence[Sequence[int]]) -> Score:
    keys = dict.fromkeys(key for one in scores for key in one.values)
    each = {key: [one.values.get(key, math.nan) for one in scores] for key in keys}
    of_repeats = {
        (metric, filter_of(f"repeat {number}", own)): value
        for (metric, own), values in each.items()
        for number, value in enumerate(values, 1)
    }
    means = {key: value for key, value in with_means(of_repeats).items() if key in keys}
    voted = [key for key in means if all(key in one.extracted for one in scores)]
    winners = {key: majority([one.extracted[key] for one in scores]) for key in voted}
    votes = {
        (metric, filter_of(f"maj@{len(scores)}", own)): each[metric, own][winner]
        for (metric, own), winner in winners.items()
    }
    return Score(
        {**means, **votes, **of_repeats},
        scores[0].target,
        scores[next(iter(winners.values()), 0)].answer,
        REPEATS.numbered([one.explanation for one in scores]),
        REPEATS.log(scores, places),
    )
