"""Responses from what a wrapper returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.errors import ModelError, PolymeterError, boundary
from polymeter.core.request import Output, Request, Response, Usage
from polymeter.interop.lm_family.models.answers import as_list, check_count, logprob_of, named
from polymeter.interop.lmms_eval.models.base import unwrap_generation_output
from polymeter.interop.lmms_eval.models.calls import WrapperCall

_FAILURES = ("[LMMS_EVAL_REQUEST_FAILED", "[LMMS_EVAL_BUDGET_EXCEEDED]")
"""Beginnings of the texts that lmms-eval's endpoint wrappers return in place of an answer they did not get."""


@dataclass(frozen=True, slots=True)
class AnswerReading:
    """The user's rules for reading a wrapper's answers.

    Attributes:
        strips_prompt: Whether answers begin with the prompt, which is then cut off.
        returns_loss: Whether ``loglikelihood`` returns losses (lower is likelier) rather than log-probabilities.
    """

    strips_prompt: bool = False
    returns_loss: bool = False


def read_answers(call: WrapperCall, returned: Any, reading: AnswerReading) -> list[Response]:
    """A response for each request of a call.

    Raises:
        ModelError: if the wrapper returned no list, or not one answer for each instance: no answer can then be
            assigned to its request.
    """
    method = f"The wrapper's {call.method}"
    answers = as_list(returned, method)
    check_count(answers, len(call.instances), method)
    return list(_responses(call, answers, reading))


def _responses(call: WrapperCall, answers: Sequence[Any], reading: AnswerReading) -> Iterator[Response]:
    start = 0
    for request, count in zip(call.requests, call.counts, strict=True):
        own_answers = answers[start : start + count]
        start += count
        try:
            with boundary(ModelError, "Reading the wrapper's answer"):
                yield Response(_outputs(call, request, own_answers, reading))
        except PolymeterError as error:
            yield Response.failed(error)


def _outputs(call: WrapperCall, request: Request, answers: Sequence[Any], reading: AnswerReading) -> tuple[Output, ...]:
    if call.method == "loglikelihood":
        return (
            Output(logprobs=tuple(logprob_of(item, "The wrapper", is_loss=reading.returns_loss) for item in answers)),
        )
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
            f"The wrapper gave {named(text)} in place of text.",
            hint="An answer is a text, a GenerationResult, or a pair of a text and its token counts.",
        )
    if text.startswith(_FAILURES):
        raise ModelError(f"The wrapper reports that it got no answer: {text}")
    usage = Usage(counts.input_tokens, counts.output_tokens, counts.reasoning_tokens) if counts is not None else None
    return Output(text=_without(prompt, text) if reading.strips_prompt else text, usage=usage)


def _without(prompt: str, text: str) -> str:
    """The text after the prompt, before which a chat template may stand; all of it if the prompt is not in it."""
    _, separator, answer = text.partition(prompt) if prompt else ("", "", "")
    return answer if separator else text
