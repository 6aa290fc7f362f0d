"""Responses from what a wrapper returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.errors import ModelError, PolymeterError, boundary
from polymeter.core.request import ChoiceLogprob, Output, Request, Response, Usage
from polymeter.interop.lmms_eval.models.base import unwrap_generation_output
from polymeter.interop.lmms_eval.models.calls import Call

_FAILURES = ("[LMMS_EVAL_REQUEST_FAILED", "[LMMS_EVAL_BUDGET_EXCEEDED]")
"""How the text begins that lmms-eval's endpoint wrappers return in place of an answer they did not get."""


@dataclass(frozen=True, slots=True)
class AnswerReading:
    """How the user says that a wrapper's answers are to be read.

    Attributes:
        strips_prompt: Whether answers begin with the prompt, which is then cut off.
        returns_loss: Whether ``loglikelihood`` returns losses (lower is likelier) rather than log-probabilities.
    """

    strips_prompt: bool = False
    returns_loss: bool = False


def read_answers(call: Call, returned: Any, reading: AnswerReading) -> list[Response]:
    """A response for each request of a call.

    Raises:
        ModelError: if the wrapper returned no list, or not one answer for each instance: no answer can then be
            assigned to its request.
    """
    if not isinstance(returned, (list, tuple)):
        if returned is None or isinstance(returned, (str, dict)) or not hasattr(returned, "__iter__"):
            raise ModelError(
                f"The wrapper's {call.method} gave {_named(returned)} in place of a list.",
                hint="Return one answer for each request, in their order.",
            )
        returned = list(returned)
    if len(returned) != len(call.instances):
        raise ModelError(
            f"The wrapper's {call.method} gave {len(returned)} answers to {len(call.instances)} requests.",
            hint="Return one answer for each request, in their order.",
        )
    return list(_responses(call, returned, reading))


def _responses(call: Call, answers: Sequence[Any], reading: AnswerReading) -> Iterator[Response]:
    start = 0
    for request, count in zip(call.requests, call.counts, strict=True):
        own_answers = answers[start : start + count]
        start += count
        try:
            with boundary(ModelError, "Reading the wrapper's answer"):
                yield Response(_outputs(call, request, own_answers, reading))
        except PolymeterError as error:
            yield Response.failed(error)


def _outputs(call: Call, request: Request, answers: Sequence[Any], reading: AnswerReading) -> tuple[Output, ...]:
    if call.method == "loglikelihood":
        return (Output(logprobs=tuple(_logprob(item, reading) for item in answers)),)
    if call.method == "generate_until_multi_round":
        answer = answers[0]
        pair = unwrap_generation_output(answer)
        rounds = answer if isinstance(answer, (list, tuple)) and pair[0] is answer else [answer]
        return tuple([_output(item, "", reading) for item in rounds])
    return tuple([_output(item, request.text, reading) for item in answers])


def _output(answer: Any, prompt: str, reading: AnswerReading) -> Output:
    text, counts = unwrap_generation_output(answer)
    if not isinstance(text, str):
        raise ModelError(
            f"The wrapper gave {_named(text)} in place of text.",
            hint="An answer is a text, a GenerationResult, or a pair of a text and its token counts.",
        )
    if text.startswith(_FAILURES):
        raise ModelError(f"The wrapper says that it got no answer: {text}")
    usage = Usage(counts.input_tokens, counts.output_tokens, counts.reasoning_tokens) if counts is not None else None
    return Output(text=_without(prompt, text) if reading.strips_prompt else text, usage=usage)


def _without(prompt: str, text: str) -> str:
    """The text after the prompt, before which a chat template may stand; all of it if the prompt is not in it."""
    _, separator, answer = text.partition(prompt) if prompt else ("", "", "")
    return answer if separator else text


def _logprob(item: Any, reading: AnswerReading) -> ChoiceLogprob:
    """Read a pair of numbers, which may be tensors. The number of tokens is unknown: 0."""
    if not isinstance(item, (list, tuple)) or len(item) != 2:
        raise ModelError(
            f"The wrapper gave {_named(item)} in place of (log-probability, is_greedy).",
            hint="loglikelihood returns such a pair for each request.",
        )
    value, is_greedy = float(item[0]), bool(item[1])
    return ChoiceLogprob(-value if reading.returns_loss else value, is_greedy, 0)


def _named(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
