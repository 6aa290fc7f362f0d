"""The lines of EvalScope's prediction and review files, as answers in neutral words.

In 0.17 a line of either file is an answer with all its repeats as choices, and a review is that line with a score in
each choice. In 1.x there is a line for each repeat; a prediction has the conversation and what it cost, a review the
conversation and the score.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from polymeter.core.acting.tools import Call, logged_call
from polymeter.core.logs import LoggedExchange, LoggedMedium, LoggedMessage, LoggedOutput
from polymeter.core.records.log_values import logged_settings, logged_text

_USABLE = frozenset({"success", "fallback", "degraded"})
_SETTINGS = {
    **{name: name for name in ("max_new_tokens", "temperature", "top_p", "stop")},
    "max_tokens": "max_new_tokens",
    "stop_seqs": "stop",
}
_RUNNING = ("batch_size", "timeout", "stream", "retries", "retry_interval")
_NO_SCORE = "The log has an answer and no score."

Record = tuple[Mapping[str, Any], Mapping[str, Any]]
"""The prediction and the review of an answer; empty if it is missing."""


@dataclass(frozen=True, slots=True)
class LogAnswer:
    """The content of the lines of a sample's answers.

    Attributes:
        scores: The mean of each metric over the answers that have a value.
        why: The reason why scores are missing, if they are.
        doc: The row, or what the log has of it.
        exchanges: What was asked and answered.
        target: What was expected.
        answer: What was scored.
        explanation: Why.
        log: The score of each answer, if there are several.
    """

    scores: Mapping[str, float]
    why: str
    doc: Mapping[str, Any] | None
    exchanges: tuple[LoggedExchange, ...]
    target: str | None
    answer: str | None
    explanation: str | None = None
    log: Mapping[str, Any] = field(default_factory=dict)


def answered(records: Sequence[Record], generation: Mapping[str, Any], metrics: Sequence[str] = ()) -> LogAnswer:
    """Read the lines of a sample's answers, in either version's form.

    Args:
        records: The lines of each of its answers.
        generation: The settings of the generation, as a configuration has them.
        metrics: The benchmark's metrics, for lines that do not name theirs.
    """
    is_new = any("sample_score" in review or "model_output" in prediction for prediction, review in records)
    settings = logged_settings(generation, _SETTINGS, _RUNNING)
    return _new_answer(records, settings) if is_new else _old_answer(records, settings, metrics)


def _old_answer(records: Sequence[Record], settings: Mapping[str, Any], metrics: Sequence[str]) -> LogAnswer:
    """An answer of 0.17: one line with all its repeats as choices. Prompts are not written."""
    prediction, review = records[0]
    line = review or prediction
    choices = list(line.get("choices") or ())
    reviews = [choice["review"] for choice in choices if isinstance(choice.get("review"), Mapping)]
    usage = line.get("usage") or {}
    outputs = []
    for place, choice in enumerate(choices):
        message = choice.get("message") or {}
        outputs.append(
            LoggedOutput(
                text=logged_text(message.get("content")),
                reasoning=message.get("reasoning_content"),
                finish_reason=choice.get("finish_reason"),
                input_tokens=usage.get("prompt_tokens") if place == 0 else None,
                output_tokens=usage.get("completion_tokens") if place == 0 else None,
            )
        )
    raw = line.get("raw_input")
    preds = [item.get("pred") for item in reviews]
    return LogAnswer(
        _old_scores(
            [item.get("result") for item in reviews], (line.get("reviewer_spec") or {}).get("metric") or metrics
        ),
        ("EvalScope gave no number." if reviews else _NO_SCORE) if choices else "The log has a line without an answer.",
        raw if isinstance(raw, Mapping) else None if raw is None else {"raw_input": raw},
        (LoggedExchange(tuple(outputs), settings=settings),) if outputs else (),
        logged_text(reviews[0].get("gold")) if reviews else None,
        logged_text(preds[0] if len(preds) == 1 else preds) if preds else None,
        log={"reviews": reviews} if reviews else {},
    )


def _old_scores(results: Sequence[Any], metrics: Sequence[str]) -> dict[str, float]:
    """The mean of each metric over the answers to a sample, as Polymeter scores an adapter's answers."""
    if results and all(isinstance(result, Mapping) for result in results):
        named = {str(name): [result.get(name) for result in results] for name in results[0]}
    else:
        named = {str(metrics[0]): list(results)} if len(metrics) == 1 and results else {}
    return {
        name: math.fsum(map(float, values)) / len(values)
        for name, values in named.items()
        if all(_is_finite(value) for value in values)
    }


def _new_answer(records: Sequence[Record], settings: Mapping[str, Any]) -> LogAnswer:
    """The answers of 1.x to a sample: a line for each repeat, with the conversation."""
    values: dict[str, list[float]] = {}
    exchanges = []
    statuses = []
    answers = []
    scored = []
    for prediction, review in records:
        score = (review.get("sample_score") or {}).get("score") or {}
        exchanges.append(_exchange(prediction, review, settings))
        if not review:
            statuses.append("")
            continue
        statuses.append(str(score.get("status") or "success"))
        answers.append(score.get("extracted_prediction"))
        own = score.get("value") if statuses[-1] in _USABLE else {}
        numbers = {str(name): float(value) for name, value in (own or {}).items() if _is_finite(value)}
        scored.append(numbers)
        for name, value in numbers.items():
            values.setdefault(name, []).append(value)
    review = next((review for _, review in records if review), {})
    prediction = next((prediction for prediction, _ in records if prediction), {})
    score = (review.get("sample_score") or {}).get("score") or {}
    metadata = (review.get("sample_score") or {}).get("sample_metadata") or prediction.get("metadata")
    target = review.get("target")
    return LogAnswer(
        {name: math.fsum(own) / len(own) for name, own in values.items()},
        _why_unscored(statuses),
        metadata or None,
        tuple(exchanges),
        logged_text(target[0] if isinstance(target, list) and len(target) == 1 else target),
        logged_text(answers[0] if len(answers) == 1 else answers) if answers else None,
        score.get("explanation"),
        {"repeats": scored} if len(records) > 1 else {},
    )


def _why_unscored(statuses: Sequence[str]) -> str:
    known = [status for status in statuses if status]
    if not known:
        return _NO_SCORE
    bad = [status for status in known if status not in _USABLE]
    return f"EvalScope gave no score: {bad[0]}." if bad else "EvalScope gave no score."


def _exchange(prediction: Mapping[str, Any], review: Mapping[str, Any], settings: Mapping[str, Any]) -> LoggedExchange:
    """Return a request and its answer: all turns but the last answer are the prompt."""
    turns = list(prediction.get("messages") or review.get("messages") or ())
    output = prediction.get("model_output") or {}
    choices = output.get("choices") or ()
    if turns and turns[-1].get("role") == "assistant":
        last, turns = turns[-1], turns[:-1]
    else:
        last = choices[0].get("message") or {} if choices else {}
    usage = output.get("usage") or {}
    text, reasoning = _answer_text(last.get("content"))
    return LoggedExchange(
        (
            LoggedOutput(
                text=text,
                reasoning=reasoning,
                finish_reason="length"
                if choices and choices[0].get("stop_reason") == "max_tokens"
                else (choices[0].get("stop_reason") if choices else None),
                input_tokens=usage.get("input_tokens"),
                output_tokens=usage.get("output_tokens"),
                reasoning_tokens=usage.get("reasoning_tokens"),
                calls=_logged_calls(last),
            ),
        ),
        tuple(_logged_message(turn) for turn in turns),
        settings=settings,
    )


def _answer_text(content: Any) -> tuple[str | None, str | None]:
    """The text of an answer, and the reasoning that is set apart from it."""
    if not isinstance(content, list):
        return logged_text(content), None
    texts = [str(part.get("text") or "") for part in content if part.get("type") == "text"]
    reasoning = [str(part.get("reasoning") or "") for part in content if part.get("type") == "reasoning"]
    return "".join(texts), "".join(reasoning) or None


def _logged_message(turn: Mapping[str, Any]) -> LoggedMessage:
    content = turn.get("content")
    role = str(turn.get("role"))
    return LoggedMessage(
        role if role in ("system", "assistant", "tool") else "user",
        tuple(map(_logged_part, content)) if isinstance(content, list) else (logged_text(content) or "",),
        _logged_calls(turn),
        str(turn.get("tool_call_id") or ""),
    )


def _logged_calls(turn: Mapping[str, Any]) -> tuple[Call, ...]:
    return tuple(
        logged_call(call.get("id"), function.get("name"), function.get("arguments"), call.get("parse_error"))
        for call in turn.get("tool_calls") or ()
        if isinstance(function := call.get("function"), Mapping)
    )


def _logged_part(part: Mapping[str, Any]) -> str | LoggedMedium:
    kind = part.get("type")
    if kind not in ("image", "audio", "video"):
        return str(part.get("text") or part.get("reasoning") or "")
    source = str(part.get(kind) or "")
    return LoggedMedium(kind, "" if source.startswith("data:") else source)


def _is_finite(value: Any) -> bool:
    return isinstance(value, Real) and math.isfinite(float(value))
