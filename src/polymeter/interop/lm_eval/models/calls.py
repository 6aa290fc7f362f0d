"""Calls of a model's methods: their arguments, and the values that they return.

===========================  ==========================================================================
``loglikelihood``            an instance with ``(context, continuation)`` for each continuation
``loglikelihood_rolling``    an instance with ``(text,)`` for each text
``generate_until``           an instance with ``(context, settings)``
===========================  ==========================================================================

With media, a mapping with ``visual`` or ``audio`` follows in the tuple.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from polymeter.core.content import Audio, Image
from polymeter.core.errors import ModelError, PolymeterError, boundary
from polymeter.core.request import ChoiceLogprob, Generate, Loglikelihood, Message, Origin, Output, Request, Response
from polymeter.core.rows import RowAccess
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_family.models.answers import logprob_of, named

Render = Callable[[list[dict[str, str]], bool], str]
"""A conversation, and whether an answer is to begin, as text."""


def method_of(request: Request) -> str:
    """The method that answers a request."""
    parameters = request.parameters
    if isinstance(parameters, Loglikelihood):
        return "loglikelihood_rolling" if parameters.is_rolling else "loglikelihood"
    return "generate_until"


def instances_of(request: Request, rows: RowAccess | None, render: Render | None) -> list[Instance]:
    """The instances that stand for a request.

    Args:
        request: The request.
        rows: Leads to its task's row.
        render: The model's chat template; ``None``: the context is plain text.

    Raises:
        ModelError: if the model's chat template raises.
        DataError: if a medium cannot be read.
    """
    origin, parameters = request.origin or Origin("", ""), request.parameters
    handle = rows(origin) if rows is not None and request.origin is not None else None
    doc = {} if handle is None else handle.full_doc()
    metadata = (origin.task, origin.index, 1)
    if isinstance(parameters, Loglikelihood) and parameters.is_rolling:
        pieces: list[tuple[Any, ...]] = [(text,) for text in parameters.continuations]
    elif isinstance(parameters, Loglikelihood):
        context = context_of(request, render)
        pieces = [(context, continuation) for continuation in parameters.continuations]
    else:
        pieces = [(context_of(request, render), settings_of(request))]
    media = _media_of(request)
    method = method_of(request)
    return [
        Instance(method, doc, (*piece, *([dict(media)] if media else [])), number, metadata)
        for number, piece in enumerate(pieces)
    ]


def context_of(request: Request, render: Render | None) -> str:
    """The text before an answer: rendered as a conversation, or the messages' texts.

    A conversation that is not rendered is joined by empty lines, unless the request is a text that was put together
    already (``template`` is ``none``).
    """
    template = getattr(request.parameters, "template", "auto")
    if render is None or template == "none":
        is_whole = template == "none"
        return "".join(message.text for message in request.messages) if is_whole else request.text
    history = [{"role": message.role, "content": message.text} for message in request.messages]
    with boundary(ModelError, "apply_chat_template"):
        return render(history, not _is_begun(request.messages))


def settings_of(request: Request) -> dict[str, Any]:
    """The generation settings of a request, as its task's author wrote them; for a request without any, made from its
    parameters under the names that lm-eval's models read. A fresh dictionary each time: models pop what they have read.
    """
    parameters = request.parameters
    if not isinstance(parameters, Generate):
        return {}
    written = request.origin.generation_kwargs if request.origin is not None else {}
    settings: dict[str, Any] = copy.deepcopy(dict(written)) or {
        "max_gen_toks": parameters.max_new_tokens,
        "temperature": parameters.temperature or 0.0,
        "top_p": parameters.top_p,
        "do_sample": bool(parameters.temperature),
        **copy.deepcopy(dict(parameters.extra)),
    }
    settings.setdefault("until", list(parameters.stop))
    return {name: value for name, value in settings.items() if value is not None}


def read_answers(request: Request, answers: Sequence[Any]) -> Response:
    """The response that the answers to a request's instances make; a failure if one of them is of no use."""
    try:
        with boundary(ModelError, "Reading the model's answer"):
            if isinstance(request.parameters, Loglikelihood):
                is_rolling = request.parameters.is_rolling
                read = _rolling if is_rolling else partial(logprob_of, giver="The model")
                return Response((Output(logprobs=tuple([read(answer) for answer in answers])),))
            return Response(tuple([Output(text=_text(answer)) for answer in answers]))
    except PolymeterError as error:
        return Response.failed(error)


def _is_begun(messages: Sequence[Message]) -> bool:
    """Return whether the answer has begun: the last message is the assistant's."""
    return bool(messages) and messages[-1].role == "assistant"


def _media_of(request: Request) -> Mapping[str, list[Any]]:
    visual = [medium.open().copy() for medium in request.media() if isinstance(medium, Image)]
    audio = [medium.source for medium in request.media() if isinstance(medium, Audio)]
    return {name: values for name, values in (("visual", visual), ("audio", audio)) if values}


def _text(answer: Any) -> str:
    if not isinstance(answer, str):
        raise ModelError(f"The model gave {named(answer)} in place of text.", hint="generate_until returns texts.")
    return answer


def _rolling(answer: Any) -> ChoiceLogprob:
    """A number or, as in lm-eval's documentation, a tuple that begins with it."""
    number = answer[0] if isinstance(answer, (list, tuple)) and answer else answer
    return ChoiceLogprob(float(number), False, 0)
