"""What the engine does to every answer alike, whatever the backend did: it is checked, and cut at stop strings."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from polymeter.core.errors import ModelError, PolymeterError, boundary
from polymeter.core.reasoning import REASONING_TAGS, Tags, answer_start
from polymeter.core.request import Generate, GenerateImage, Loglikelihood, Output, Parameters, Request, Response
from polymeter.core.sources import is_pil

_SHOWN = 160
_READING = boundary(ModelError, "Reading the model's answer")


def settle(request: Request, response: Any, *, is_cut: bool = True) -> Response:
    """A model's answer, checked and finished; what is no answer to the request becomes an error. Never raises.

    Args:
        request: What was asked.
        response: What the model gave, whatever it is.
        is_cut: Whether stop strings are applied.
    """
    try:
        with _READING:
            _check(request, response)
            return finish_response(request, response) if is_cut else response
    except PolymeterError as error:
        return Response.failed(error)


def finish_response(request: Request, response: Response) -> Response:
    """The answer with the author's and user's stop strings applied. What comes before the end of visible reasoning is
    not searched.
    """
    ask = request.parameters
    if not isinstance(ask, Generate) or not ask.stop or response.error is not None:
        return response
    tags = REASONING_TAGS if request.origin is None else request.origin.reasoning_tags
    outputs = tuple([_cut(output, ask.stop, tags) for output in response.outputs])
    return response if outputs == response.outputs else replace(response, outputs=outputs)


def _check(request: Request, response: Any) -> None:
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
        if any(math.isnan(choice.logprob) for choice in outputs[0].logprobs):  # every comparison with it is false
            raise ModelError("The model gave a log-probability that is not a number (NaN).")
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
    for image in images:
        if not is_pil(image):
            raise ModelError(
                f"The model gave a {type(image).__name__} in place of an image.", hint="Images are Pillow images."
            )
        if not all(image.size):
            raise ModelError(f"The model gave an empty image of {image.width} x {image.height} pixels.")


def _check_kind(ask: Parameters, output: Output) -> None:
    """Whether an output is of the kind that was asked for: images or text."""
    if isinstance(ask, GenerateImage) and not output.images:
        given = "neither an image nor text" if not output.text else f"text and no image: {_shortened(output.text)!r}"
        raise ModelError(f"An image was asked for, and the model gave {given}.")
    if isinstance(ask, Generate) and output.images and output.text is None:
        raise ModelError(f"Text was asked for, and the model gave {len(output.images)} image(s) and no text.")


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def _cut(output: Output, stops: tuple[str, ...], tags: Tags) -> Output:
    text = output.text
    if text is None:
        return output
    for stop in stops:
        if stop in text:
            break
    else:  # in most answers
        return output
    start = answer_start(text, tags)
    found = [place for stop in stops if stop and (place := text.find(stop, start)) >= 0]
    return replace(output, text=text[: min(found)], finish_reason="stop") if found else output
