"""Scoring a sample: the adapter scores the state that its inference made, and the score is kept whole, so that the
adapter's aggregation gets it back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from polymeter.core.errors import ScoreError, UnscoredError, boundary
from polymeter.core.task import MetricKey, Rollout, Score
from polymeter.core.task import Sample as Row
from polymeter.core.text.codec import jsonable
from polymeter.interop.evalscope.choices.adapters_1x import in_order_of
from polymeter.interop.evalscope.v1.constants import ScoreStatus
from polymeter.interop.evalscope.v1.tasks.guest import OpenAdapter
from polymeter.interop.evalscope.v1.tasks.hooks import has_rounds
from polymeter.interop.evalscope.v1.tasks.rollout import Inference, state_of
from polymeter.interop.evalscope.v1.types.content import ContentText
from polymeter.interop.evalscope.v1.types.identities import MetricIdentity, canonicalize_producer_identity
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.interop.evalscope.v1.types.scores import JudgeSummary, SampleScore
from polymeter.interop.evalscope.v1.types.scores import Score as AuthorsScore
from polymeter.interop.evalscope.v1.types.state import TaskState

_SCORE_KEY: MetricKey = ("review", "none")
"""The key of a score under which the author's own is kept where JSON cannot hold it: by then it cannot stand in the log
alone, under ``_LOGGED``.
"""
OF_VALUES = frozenset({"mean", "identity"})
"""Aggregations that may be the mean of the samples' own values."""
_LOGGED = "sample_score"
_SEVERAL = 2
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
    kept = plain_score(sample_score, in_order_of(benchmark.samples[row.index], row.order))
    values: dict[MetricKey, Any] = dict(_named_as_results(score.value))
    is_judged = score.judge_summary is not None or (score.metadata or {}).get("source") == "llm_judge"
    kept_whole = {} if _is_json(kept) or is_judged else {_SCORE_KEY: kept}
    answer = score.extracted_prediction if score.extracted_prediction is not None else score.prediction
    return Score(
        {**values, **kept_whole},
        _text(state.target),
        _text(answer if answer is not None else state.output.completion),
        score.explanation,
        log={_LOGGED: {**jsonable(kept), **_place(sample_score, state), **_led(benchmark.adapter, rollout, state)}},
        extracted={} if is_judged else dict.fromkeys(values, score.extracted_prediction or None),
    )


def _named_as_results(values: Mapping[str, Any]) -> Iterator[tuple[MetricKey, float]]:
    """The numbers of a sample under the names that their means have in results: authors write ``acc`` for
    ``accuracy``. Of several numbers of one such name, all keep their own.
    """
    names = {name: shown_name(canonicalize_producer_identity(str(name), "mean")) for name in values}
    shared = Counter(names.values())
    for name, value in values.items():
        yield (names[name] if shared[names[name]] == 1 else str(name), "none"), float(value)


def shown_name(identity: MetricIdentity) -> str:
    """The name of a metric in results: that of the metric alone where it is a plain mean."""
    if identity.dimensions or identity.aggregation not in OF_VALUES:
        return identity.key
    return identity.name


def _place(sample_score: SampleScore, state: TaskState) -> dict[str, Any]:
    """The place of a sample among its repeats, and what was expected of it, as reviews have them."""
    return {
        "sample_id": sample_score.sample_id,
        "group_id": sample_score.group_id,
        "generation_index": sample_score.generation_index,
        "target": list(state.target_values) or None,
    }


def _led(adapter: Any, rollout: Rollout, state: TaskState) -> dict[str, Any]:
    """The conversation that an author led, as far as the sample's requests and answers do not show it: of each message
    the role and the parts, of media only their kinds; and its trace.
    """
    trace = {} if state.agent_trace is None else {"agent_trace": jsonable(state.agent_trace)}
    if not has_rounds(adapter) or len(rollout.responses) < _SEVERAL:
        return trace
    return {"messages": [{"role": one.role, "parts": list(_parts(one.content))} for one in state.messages], **trace}


def _parts(content: Any) -> Iterator[list[str]]:
    for part in [ContentText(text=content)] if isinstance(content, str) else content:
        if part.type != "reasoning":
            yield ["text", part.text] if part.type == "text" else [str(part.type), ""]


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
    values = authors_score(score)
    metadata = values.pop("sample_metadata", sample.metadata)
    return _placed(AuthorsScore.model_validate(values), sample, metadata, repeats)


def authors_score(score: Score) -> dict[str, Any]:
    """The author's score as plain data, with the numbers that count: a panel joins those of judges, and people may set
    others.
    """
    kept = {"value": {}, "metadata": {}, **score.log.get(_LOGGED, {}), **score.values.get(_SCORE_KEY, {})}
    names = {name: key for name, (key, _) in zip(kept["value"], _named_as_results(kept["value"]), strict=True)}
    counted = {name: score.values.get(names[name], number) for name, number in kept["value"].items()}
    kept["value"] = {
        name: number if number == counted[name] else counted[name] for name, number in kept["value"].items()
    }
    return kept


def _is_json(value: Any) -> bool:
    """Return whether JSON gives the same value back."""
    if isinstance(value, Mapping):
        return type(value) is dict and all(type(key) is str and _is_json(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(_is_json, value))
    return value is None or type(value) in (str, int, float, bool)


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
