"""Scoring a sample: the adapter scores the state that its inference made, and the score is kept whole, so that the
adapter's aggregation gets it back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.core.errors import ScoreError, UnscoredError, boundary
from polymeter.core.task import MetricKey, Rollout, Score
from polymeter.core.task import Sample as Row
from polymeter.core.text.codec import jsonable
from polymeter.interop.evalscope.v1.constants import ScoreStatus
from polymeter.interop.evalscope.v1.tasks.guest import OpenAdapter
from polymeter.interop.evalscope.v1.tasks.rollout import Inference, state_of
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.interop.evalscope.v1.types.scores import JudgeSummary, SampleScore
from polymeter.interop.evalscope.v1.types.scores import Score as AuthorsScore
from polymeter.interop.evalscope.v1.types.state import TaskState

SCORE_KEY: MetricKey = ("review", "none")
"""The key of a score under which the author's own is kept, as plain data; of a judge's only the numbers, which a panel
joins. Its words stand in the log, under ``_LOGGED``.
"""
_LOGGED = "sample_score"
_MOST_CHARACTERS = 2000


def score_rollout(benchmark: OpenAdapter, inference: Inference, row: Row, rollout: Rollout) -> Score:
    """Score a sample.

    Raises:
        ScoreError: if the adapter's code failed.
        UnscoredError: if the adapter says that there is no score.
    """
    state = state_of(inference, row, rollout.responses, rollout.returned)
    with boundary(ScoreError, f"calculate_metrics of benchmark {benchmark.name!r}"):
        sample_score = benchmark.adapter.calculate_metrics(task_state=state)
    if not isinstance(sample_score, SampleScore):
        raise ScoreError(
            f"calculate_metrics of benchmark {benchmark.name!r} gave a {type(sample_score).__name__}.",
            hint="It must return a SampleScore.",
        )
    score = sample_score.score
    score.value = _numbers(score.value, benchmark.name)
    if not score.status.is_usable:
        raise UnscoredError(_why(score))
    kept = plain_score(sample_score, benchmark.samples[row.index])
    values: dict[MetricKey, Any] = {(str(name), "none"): float(value) for name, value in score.value.items()}
    is_judged = score.judge_summary is not None or (score.metadata or {}).get("source") == "llm_judge"
    answer = score.extracted_prediction if score.extracted_prediction is not None else score.prediction
    return Score(
        {**values, SCORE_KEY: {"value": dict(score.value)} if is_judged else kept},
        _text(state.target),
        _text(answer if answer is not None else state.output.completion),
        score.explanation,
        log={_LOGGED: {**jsonable(kept), **_place(sample_score, state)}},
        extracted={} if is_judged else dict.fromkeys(values, score.extracted_prediction or None),
    )


def _place(sample_score: SampleScore, state: TaskState) -> dict[str, Any]:
    """The place of a sample among its repeats, and what was expected of it, as reviews have them."""
    return {
        "sample_id": sample_score.sample_id,
        "group_id": sample_score.group_id,
        "generation_index": sample_score.generation_index,
        "target": list(state.target_values) or None,
    }


def plain_score(sample_score: SampleScore, sample: Sample) -> dict[str, Any]:
    """A score as plain data, without what equals its default, and without metadata that the sample has."""
    score = sample_score.score
    kept: dict[str, Any] = {
        "value": dict(score.value),
        "status": score.status.value,
        "extracted_prediction": score.extracted_prediction,
        "prediction": score.prediction,
        "explanation": score.explanation,
        "metadata": score.metadata,
        "main_score_name": score.main_score_name,
    }
    if score.judge_summary is not None:
        kept["judge_summary"] = score.judge_summary.model_dump(mode="json")
    if sample_score.sample_metadata != sample.metadata:
        kept["sample_metadata"] = sample_score.sample_metadata
    return {key: value for key, value in kept.items() if value not in (None, {})}


def restored_score(score: Score, sample: Sample, repeats: int) -> SampleScore:
    """The author's score of what ``score_rollout`` gave."""
    kept = score.values[SCORE_KEY]
    logged = score.log.get(_LOGGED) if kept.keys() == {"value"} else None
    values = {"metadata": {}, **(logged or {}), **kept}
    metadata = values.pop("sample_metadata", sample.metadata)
    return _placed(AuthorsScore.model_validate(values), sample, metadata, repeats)


def excluded_score(sample: Sample, repeats: int, *, n_verdicts: int = 0) -> SampleScore:
    """The score of a sample that has none: it has its place among the repeats, and no value.

    Args:
        sample: The sample.
        repeats: How many times each sample is asked.
        n_verdicts: How many verdicts were asked for; they count in the report's summary of the judge.
    """
    score = AuthorsScore(status=ScoreStatus.EXCLUDED)
    if n_verdicts:
        score.judge_summary = JudgeSummary(status=ScoreStatus.EXCLUDED, total_observations=n_verdicts)
    return _placed(score, sample, sample.metadata, repeats)


def _placed(score: AuthorsScore, sample: Sample, metadata: Any, repeats: int) -> SampleScore:
    return SampleScore(
        score=score,
        sample_id=sample.id,
        group_id=sample.group_id,
        generation_index=(sample.id or 0) % repeats if repeats > 1 else 0,
        sample_metadata=metadata,
    )


def target_of(sample: Sample) -> str:
    """The reference of a sample as text."""
    return TaskState(model="", sample=sample).target


def _why(score: AuthorsScore) -> str:
    """The reason that an adapter gives for a score that does not count."""
    metadata = score.metadata or {}
    errors = [str(value) for value in metadata.values() if isinstance(value, str) and value.startswith("error: ")]
    judged = score.judge_summary.error if score.judge_summary is not None else None
    if judged:
        attempts = metadata.get("judge_attempts") or []
        tried = [one["error"] for one in attempts if isinstance(one, Mapping) and one.get("error")]
        return f"There is no verdict of the judge. {'; '.join([judged, *tried[-1:]])}"
    told = score.explanation or "; ".join(errors) or str(metadata.get("error") or "")
    return f"The adapter excludes this sample ({score.status.value}). {told}".strip()


def _numbers(values: Mapping[str, Any], benchmark: str) -> dict[str, Any]:
    """Values of a score as plain numbers; those of arrays may be of types of their own.

    Raises:
        ScoreError: if one is not a number.
    """
    numbers = {}
    for name, value in values.items():
        if isinstance(value, str) or not hasattr(value, "__float__"):
            raise ScoreError(
                f"The score of benchmark {benchmark!r} has {value!r} as {name!r}.",
                hint="The values of a Score must be numbers.",
            )
        with boundary(ScoreError, f"Reading {name!r} of the score of benchmark {benchmark!r}"):
            numbers[name] = value if isinstance(value, (int, float)) else float(value)
    return numbers


def _text(value: Any) -> str:
    return (value if isinstance(value, str) else repr(value))[:_MOST_CHARACTERS]
