"""Scoring: each answer to a record is reviewed, by the adapter's rules or by a judge; the reviews make the score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number, Real
from typing import Any, TypedDict

from polymeter.core.errors import ScoreError
from polymeter.core.request import Response
from polymeter.core.task import MetricKey, Rollout, Sample, Score
from polymeter.interop.evalscope.tasks.base import DataAdapter
from polymeter.interop.evalscope.tasks.constants import OutputType
from polymeter.interop.evalscope.tasks.guest import OpenBenchmark
from polymeter.interop.evalscope.tasks.prompts import answers_to
from polymeter.interop.evalscope.tasks.scoring.judging import LLMJudge

REVIEW_KEY: MetricKey = ("review", "none")
"""The key of a score under which the values of ``match`` for each answer are kept, exactly as they were."""
_SAME_AS_INPUT = "*Same as Input*"
_MOST_CHARACTERS = 2000
_NUMBERS = frozenset({int, float, bool})


class Review(TypedDict):
    """The scoring of one answer, under the names that EvalScope's files and ``compute_metric`` know.

    Attributes:
        gold: The reference; a note where it is the whole record.
        pred: What was compared with it.
        result: What ``match`` or ``llm_match`` gave.
    """

    gold: Any
    pred: Any
    result: Any


ReviewAnswer = Callable[[Any, Any], Review]
"""From a record and an answer to the review."""


@dataclass(frozen=True, slots=True)
class JudgeUse:
    """When a judge is asked, and which.

    Attributes:
        always: The judge scores every answer.
        where_wrong: The judge is asked again about answers to which the rule gives 0.
        judge: Who is asked; ``None`` where nobody can be.
    """

    always: bool = False
    where_wrong: bool = False
    judge: Any = None

    @property
    def is_needed(self) -> bool:
        """True if a judge may be asked."""
        return self.always or self.where_wrong


def judge_use(adapter: DataAdapter, strategy: str, judge_args: Mapping[str, Any]) -> JudgeUse:
    """When a strategy (``auto``, ``rule``, ``llm``, ``llm_recall``) has the judge asked about a benchmark's answers."""
    always = strategy == "llm" or (strategy == "auto" and bool(adapter.llm_as_a_judge))
    where_wrong = strategy == "llm_recall"
    return JudgeUse(always, where_wrong, LLMJudge(**judge_args) if always or where_wrong else None)


def review_answer(adapter: DataAdapter, eval_type: str, judging: JudgeUse, record: Any, answer: Any) -> Review:
    """Review one answer. If a judge's verdict is missing or cannot be used, the engine leaves the sample without a
    score, whatever the adapter made of that.
    """
    reference = adapter.get_gold_answer(record)

    def by_judge() -> tuple[Any, Any]:
        shown = adapter.llm_parse_pred_result(result=answer, raw_input_d=record, eval_type=eval_type)
        return shown, adapter.llm_match(reference, shown, judging.judge, raw_input=record)

    if judging.always:
        pred, result = by_judge()
    else:
        pred = adapter.parse_pred_result(result=answer, raw_input_d=record, eval_type=eval_type)
        result = adapter.match(reference, pred)
        if judging.where_wrong and isinstance(result, Number) and not bool(result):
            pred, result = by_judge()
    return Review(gold=_SAME_AS_INPUT if _is_same(reference, record) else reference, pred=pred, result=result)


def keep_answer(record: Any, answer: Any) -> Review:
    """A review without reference and result, for runs that score nothing (EvalScope's stage ``infer``). No code of the
    benchmark is called; the answer stands as the model gave it and can be scored later.
    """
    return Review(gold="", pred=answer, result=None)


def score_rollout(
    benchmark: OpenBenchmark, review: ReviewAnswer, sample: Sample, rollout: Rollout, *, is_judged: bool = False
) -> Score:
    """Review every answer to one record.

    Args:
        benchmark: The benchmark.
        review: Reviews one answer.
        sample: The record.
        rollout: Its rollout.
        is_judged: Whether a judge may be shown the answer, so that it is not known what was read from it.

    Raises:
        ScoreError: if the adapter raised, or there is no answer.
        UnscoredError: if a judge's verdict could not be had or used.
    """
    answers = answers_of(benchmark, sample.index, rollout.responses)
    if not answers:
        raise ScoreError(f"Sample {sample.id} of benchmark {benchmark.name!r} has no answer to score.")
    reviews = [review(sample.doc, answer) for answer in answers]
    log: dict[str, Any] = {"reviews": reviews}
    if benchmark.mode.output_type in (OutputType.MULTIPLE_CHOICE, OutputType.CONTINUOUS):
        log["contents"] = answers  # made of several numbers; other answers stand in their exchanges
    preds = [item["pred"] for item in reviews]
    values = _values([item["result"] for item in reviews], benchmark.adapter.metric_list)
    is_read = len(preds) == 1 and not is_judged
    return Score(
        values,
        _as_text(reviews[0]["gold"]),
        _as_text(preds[0] if len(preds) == 1 else preds),
        log=log,
        extracted=dict.fromkeys(values, _part(preds[0])) if is_read else {},
    )


def answers_of(benchmark: OpenBenchmark, index: int, responses: Sequence[Response]) -> list[Any]:
    """Return the values that the adapter parses from the responses to a record."""
    prompt = benchmark.records[index].prompt
    return answers_to(prompt, benchmark.mode.output_type, responses, benchmark.image_folder)


def _values(results: list[Any], metric_list: Sequence[str]) -> dict[MetricKey, Any]:
    """Return the values of ``match``, exactly as they were, and numbers by the metrics that they are averaged for."""
    values: dict[MetricKey, Any] = {}
    if len(results) == 1 and type(results[0]) in _NUMBERS:  # most benchmarks: neither generator nor abstract class
        if len(metric_list) == 1:
            values[metric_list[0], "none"] = 0 + float(results[0])  # as in any sum, -0.0 becomes 0.0
    elif all(isinstance(result, Mapping) for result in results):
        for name in results[0]:
            _add_mean(values, str(name), [result.get(name) for result in results])
    elif len(metric_list) == 1:
        _add_mean(values, metric_list[0], results)
    return {**values, REVIEW_KEY: results}


def _add_mean(values: dict[MetricKey, Any], metric: str, results: Sequence[Any]) -> None:
    if all(isinstance(result, Real) for result in results):
        values[metric, "none"] = sum(float(result) for result in results) / len(results)


def _is_same(reference: Any, record: Any) -> bool:
    """Return whether the reference is the whole record, which need not be stored twice."""
    if reference is record:
        return True
    return type(reference) is type(record) and isinstance(reference, (dict, str)) and reference == record


def _part(pred: Any) -> str | None:
    """Return what an adapter has read from an answer, as text."""
    return None if pred is None or pred == "" else pred if isinstance(pred, str) else repr(pred)


def _as_text(value: Any) -> str:
    return (value if isinstance(value, str) else repr(value))[:_MOST_CHARACTERS]
