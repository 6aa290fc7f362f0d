"""Steps that the engine applies to every answer alike, with any backend.

It is checked when it arrives, and journaled as it was received. It is read when its task gets it: cut at stop strings,
and set apart from its reasoning. So a change of how answers are read never asks a model again.

Formats say whose rules apply: ``ReadingRules.is_separated`` is false where a benchmark's own code reads the answer.
The version of the rules belongs to what scores rest on, and to no fingerprint of a request.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from polymeter.core.acting.tools import Call, with_ids
from polymeter.core.errors import ModelError, PolymeterError, boundary
from polymeter.core.media.sources import is_pil
from polymeter.core.request import (
    Generate,
    GenerateImage,
    Loglikelihood,
    Output,
    Parameters,
    Request,
    Response,
    Step,
)
from polymeter.core.task import ReadingRules
from polymeter.reading.reasoning import separated
from polymeter.reading.stops import cut_at_stop

_SHOWN = 160
_READING = boundary(ModelError, "Reading the model's answer")


def checked(request: Request, response: Any) -> Response:
    """A model's answer as it was received; what is not an answer to the request becomes an error. Never raises.

    Args:
        request: What was asked.
        response: What the model gave, whatever it is.
    """
    try:
        with _READING:
            _check_response(request, response)
            return _with_ids(request, cast(Response, response))
    except PolymeterError as error:
        return Response.failed(error)


@dataclass(frozen=True, slots=True)
class AnswerReader:
    """Reads the answers of a run's models.

    Attributes:
        uncut: The roles of models whose answers are used unchanged: wrapped models apply stop strings themselves.
    """

    uncut: frozenset[str] = frozenset()

    def read(self, role: str, stops: Sequence[str], response: Response, rules: ReadingRules) -> Response:
        """An answer as its task gets it; the same object if nothing of it is changed.

        Args:
            role: The role of the model that gave it.
            stops: The stop strings of the request.
            response: The answer as it was received.
            rules: How the task's answers are read.
        """
        if response.error is not None:
            return response
        stops = () if role in self.uncut else stops
        outputs = tuple([_read_output(output, stops, rules) for output in response.outputs])
        changed = (read for read, output in zip(outputs, response.outputs, strict=True) if read is not output)
        return response if next(changed, None) is None else replace(response, outputs=outputs)


def stops_of(request: Step) -> tuple[str, ...]:
    """The stop strings of a request."""
    parameters = request.parameters if isinstance(request, Request) else None
    return parameters.stop if isinstance(parameters, Generate) else ()


def n_unfinished(response: Response, rules: ReadingRules) -> int:
    """Return the number of outputs of a received answer that ended inside their reasoning, so that they are read as
    empty. This includes an answer that reached its limit empty while its reasoning arrived apart from it.
    """
    if not (rules.is_separated or rules.is_scored_apart):
        return 0
    return sum(_is_unfinished(output, rules) for output in response.outputs)


def may_be_cut(response: Response, stops: Sequence[str], rules: ReadingRules) -> bool:
    """Return whether an answer that was stored after it was cut may have lost all of what is read now: it ended at a
    stop string, the model wrote more than one token, and nothing of it is behind the reasoning. Servers stopped inside
    reasoning too.
    """
    return bool(stops) and any(
        output.text is not None
        and output.finish_reason == "stop"
        and not separated(output.text, rules.tags).text.strip()
        and (output.usage is None or output.usage.output_tokens is None or output.usage.output_tokens > 1)
        for output in response.outputs
    )


def why_no_choice(responses: Sequence[Response]) -> str:
    """Return the reason why the log-probabilities of a sample choose nothing; empty if they do. A single continuation
    that is impossible is an answer.
    """
    by_request = [
        [choice.logprob for output in response.outputs for choice in output.logprobs] for response in responses
    ]
    found = [logprob for each in by_request for logprob in each]
    if any(math.isnan(logprob) for logprob in found):
        return "The model gave a log-probability that is not a number (NaN): its logits overflowed."
    if any(logprob == math.inf for logprob in found):
        return "The model gave an infinite log-probability: its logits overflowed."
    # Choices may be asked together, each alone, or once more without their question.
    for each in (found, *by_request):
        if len(each) > 1 and all(logprob == -math.inf for logprob in each):
            return f"The model gave all {len(each)} choices the log-probability -inf, so it prefers none."
    return ""


def _with_ids(request: Request, response: Response) -> Response:
    """An answer whose calls each have an id that no other call of the conversation has."""
    if not any(output.calls for output in response.outputs):
        return response
    taken = {call.id for message in request.messages for call in message.calls}
    outputs = tuple(replace(output, calls=with_ids(output.calls, taken)) for output in response.outputs)
    return replace(response, outputs=outputs)


def _check_response(request: Request, response: Any) -> None:
    if not isinstance(response, Response):
        raise ModelError(
            f"The model gave a {type(response).__name__} in place of a Response.",
            hint="Response.of_text(text) makes one.",
        )
    if response.error is not None:
        return
    ask, outputs = request.parameters, response.outputs
    if not outputs or not all(isinstance(output, Output) for output in outputs):
        raise ModelError("The model gave a Response without outputs and without an error.")
    is_single = request.origin is None or request.origin.protocol == "single"
    for output in outputs:
        _check_output(output)
        if is_single:
            _check_kind(ask, output)
    if isinstance(ask, Loglikelihood):
        if len(outputs[0].logprobs) != len(ask.continuations):
            given = len(outputs[0].logprobs)
            raise ModelError(f"The model gave {given} log-probabilities for {len(ask.continuations)} continuations.")
    elif is_single and len(outputs) != 1:
        asked = "1 image(s)" if isinstance(ask, GenerateImage) else "1"
        raise ModelError(f"The model gave {len(outputs)} outputs where {asked} were asked for.")


def _check_output(output: Output) -> None:
    text, images = output.text, output.images
    if text is not None and not isinstance(text, str):
        raise ModelError(f"The model gave a {type(text).__name__} in place of text.")
    if not isinstance(images, (tuple, list)):
        raise ModelError(
            f"The model gave a {type(images).__name__} in place of the images of an output.",
            hint="Output(images=(image,)) holds one.",
        )
    if not all(isinstance(call, Call) for call in output.calls):
        raise ModelError(
            "The model gave something else in place of calls of tools.", hint="Output(calls=(Call(…),)) holds one."
        )
    for image in images:
        if not is_pil(image):
            raise ModelError(
                f"The model gave a {type(image).__name__} in place of an image.", hint="Images are Pillow images."
            )
        if not all(image.size):
            raise ModelError(f"The model gave an empty image of {image.width} x {image.height} pixels.")


def _check_kind(ask: Parameters, output: Output) -> None:
    """Refuse an output of another kind than the request asked for: images or text."""
    if isinstance(ask, GenerateImage) and not output.images:
        given = "neither an image nor text" if not output.text else f"text and no image: {_shortened(output.text)!r}"
        raise ModelError(f"The request asked for an image, but the model gave {given}.")
    if isinstance(ask, Generate) and output.images and output.text is None:
        raise ModelError(f"The request asked for text, but the model gave {len(output.images)} image(s) and no text.")


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def _read_output(output: Output, stops: Sequence[str], rules: ReadingRules) -> Output:
    text = output.text
    if text is None:
        return output
    read = cut_at_stop(text, stops, rules.tags, is_whole=rules.stops_anywhere) if stops else text
    reason = output.finish_reason if read is text else "stop"
    if rules.is_separated:
        apart = separated(read, rules.tags)
        read = apart.text if apart.has_reasoning else read
    return output if read is text else replace(output, text=read, finish_reason=reason)


def _is_unfinished(output: Output, rules: ReadingRules) -> bool:
    if not output.text:
        return output.text is not None and bool(output.reasoning) and output.finish_reason == "length"
    apart = separated(output.text, rules.tags)
    return apart.is_unfinished and not apart.text.strip()
