"""Scores of repeats: each by the task's own scoring, and together as the score of one sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from polymeter.core.content import is_image
from polymeter.core.records.attempts import filter_of, majority, repeats_in, with_means
from polymeter.core.task import Rollout, Sample, Score
from polymeter.run.repeats.asking import OneRepeat

REPEATS = "repeats"
"""The key of what each repeat has besides its values in the log of a score: the answer that was read, the explanation,
the places of its responses, and its own log."""


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
    repeats: Sequence[OneRepeat] = rollout.returned
    return _joint([score(one.sample, one.rollout) for one in repeats], [one.places for one in repeats])


def score_of_repeat(score: Score, number: int) -> Score:
    """Return the score of one repeat, from that of its sample.

    Args:
        score: The score of the sample.
        number: The number of the repeat, from 0.
    """
    own = score.log[REPEATS][number]
    values = {key: each[number] for key, each in repeats_in(score.values).items()}
    return Score(values, score.target, own.get("answer"), own.get("explanation"), own.get("log") or {})


def places_of_repeat(score: Score, number: int) -> Sequence[int]:
    """Return the places of a repeat's responses among those of its sample."""
    places: Sequence[int] = score.log[REPEATS][number]["responses"]
    return places


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
        _numbered([one.explanation for one in scores]),
        _log(scores, places),
    )


def _numbered(texts: Sequence[str | None]) -> str | None:
    """Return explanations as one text; equal ones once."""
    known = dict.fromkeys(text for text in texts if text)
    if len(known) < 2:
        return next(iter(known), None)
    return "\n".join(f"repeat {number}: {text}" for number, text in enumerate(texts, 1) if text)


def _log(scores: Sequence[Score], places: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return what the repeats have besides their values. Images, of which the run makes previews, stand by themselves;
    one that is not the first's names its repeat.
    """
    images: dict[str, Any] = {}
    records = []
    for number, (one, own) in enumerate(zip(scores, places, strict=True), 1):
        record: dict[str, Any] = {"responses": list(own)}
        if one.answer is not None:
            record["answer"] = one.answer
        if one.explanation is not None:
            record["explanation"] = one.explanation
        log = {}
        for name, value in one.log.items():
            if not is_image(value):
                log[name] = value
            elif number == 1 or value is not scores[0].log.get(name):
                images[name if number == 1 else f"{name}, repeat {number}"] = value
        if log:
            record["log"] = log
        records.append(record)
    return {**images, REPEATS: records}
