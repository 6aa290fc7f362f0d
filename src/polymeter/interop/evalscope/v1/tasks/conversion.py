"""Between EvalScope 1.x's messages, settings and outputs and the engine's requests and responses."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polymeter.core.acting.tools import Call, Tool, read_call
from polymeter.core.content import Audio, Given, Image, Part, Text, Video
from polymeter.core.errors import DataError, boundary
from polymeter.core.guest_context import guest_context
from polymeter.core.media.sources import is_url
from polymeter.core.request import Generate, GenerateImage, Message, Output, RequestKind, Response
from polymeter.core.settings.generation import image_parameters, text_parameters
from polymeter.interop.evalscope.v1.nested_settings import NOT_SENT, OF_TRANSPORT
from polymeter.interop.evalscope.v1.types.content import (
    Content,
    ContentAudio,
    ContentImage,
    ContentReasoning,
    ContentText,
    ContentVideo,
)
from polymeter.interop.evalscope.v1.types.generation import GenerateConfig
from polymeter.interop.evalscope.v1.types.messages import ChatMessage, ChatMessageAssistant, ChatMessageTool
from polymeter.interop.evalscope.v1.types.outputs import (
    ChatCompletionChoice,
    ModelOutput,
    ModelUsage,
    as_stop_reason,
)
from polymeter.interop.evalscope.v1.types.performance import PerformanceMetrics
from polymeter.interop.evalscope.v1.types.tools import ToolCall, ToolFunction, ToolInfo, parse_tool_call

_SHORTEST_ENCODED = 256
"""Characters above which a text without a dot or a slash in its head is encoded bytes and no file's name."""
_NOT_ASKED = frozenset({*OF_TRANSPORT, "n"})
"""Settings that are the engine's and the model's business, or change nothing of an answer."""


def request_messages(messages: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """The engine's messages. Reasoning of earlier answers is not sent again.

    Raises:
        DataError: if a message has a part that cannot be shown.
    """
    return tuple(_message(message) for message in messages)


def _message(message: ChatMessage) -> Message:
    calls = tuple(map(_call, message.tool_calls or ())) if isinstance(message, ChatMessageAssistant) else ()
    call_id = str(message.tool_call_id) if isinstance(message, ChatMessageTool) else ""
    if isinstance(message, ChatMessageTool) and message.error:
        return Message("tool", (Text(f"Error: {message.error.message}"),), call_id=call_id)
    if isinstance(message.content, str):
        return Message(message.role, (Text(message.content),), calls=calls, call_id=call_id)
    if isinstance(message, ChatMessageAssistant) and guest_context().parity.on("earlier-answers"):
        return Message(message.role, (Text(f"\n{message.text}"),), calls=calls)
    parts = [_part(part) for part in message.content if not isinstance(part, ContentReasoning)]
    return Message(message.role, tuple(parts), is_listed=True, calls=calls, call_id=call_id)


def _call(call: ToolCall) -> Call:
    """A call of an earlier turn, its arguments as EvalScope writes them into a request."""
    return read_call(call.id, call.function.name, json.dumps(call.function.arguments))


def offered(tools: Iterable[Any]) -> tuple[Tool, ...]:
    """The engine's tools.

    Raises:
        DataError: if one is not described as a tool.
    """
    with boundary(DataError, "A tool of a sample"):
        read = [tool if isinstance(tool, ToolInfo) else ToolInfo.model_validate(tool) for tool in tools]
    return tuple(Tool(tool.name, tool.description, tool.parameters.model_dump(exclude_none=True)) for tool in read)


def chosen(choice: Any) -> str:
    """The engine's word for which tools are called."""
    if isinstance(choice, ToolFunction):
        return choice.name
    return "required" if choice == "any" else str(choice or "auto")


def _part(part: Content) -> Part:
    if isinstance(part, ContentText):
        return Text(part.text)
    if isinstance(part, ContentImage):
        # An endpoint reads an image in less or more detail; ``auto`` is what it does unasked.
        given = None if part.detail == "auto" else Given(item={"type": "image", "detail": part.detail})
        return Image(_source(part.image, "image/png"), given=given)
    if isinstance(part, ContentAudio):
        return Audio(_source(part.audio, f"audio/{part.format}"))
    if isinstance(part, ContentVideo):
        return Video(_source(part.video, f"video/{part.format}"), start_s=part.start, end_s=part.end)
    raise DataError(f"A message has a part of the kind {part.type!r}.", hint="Known: text, image, audio, video.")


def _source(written: str, mime: str) -> str:
    """Return an address or a path unchanged, and bare Base64 as a data URI."""
    head = written[:_SHORTEST_ENCODED]
    is_encoded = len(written) > _SHORTEST_ENCODED and "." not in head and not is_url(written)
    return f"data:{mime};base64,{written}" if is_encoded else written


def parameters_of(
    kind: RequestKind, run: Mapping[str, Any], defaults: Mapping[str, Any], config: GenerateConfig | None
) -> Generate | GenerateImage:
    """The parameters of a request.

    Args:
        kind: What is asked for: ``generate`` or ``generate_image``.
        run: Settings of the run, under any of their usual names.
        defaults: Settings that count if the run has none at all.
        config: What the author sets for this request; it wins.

    Raises:
        DataError: if the author sets what cannot be sent.
        PlanError: if a setting is not of its type.
    """
    settings = {**(run or defaults), **own_settings(config)}
    settings.pop("n", None)  # a request is for one answer; several are repeats of the sample
    return image_parameters(settings)[0] if kind == "generate_image" else text_parameters(settings)[0]


def own_settings(config: GenerateConfig | None) -> dict[str, Any]:
    """Return the settings that an author has set, under the engine's names.

    Raises:
        DataError: if one of them cannot be sent.
    """
    if config is None:
        return {}
    for name, hint in NOT_SENT.items():
        if getattr(config, name, None):
            raise DataError(f"Polymeter's requests carry no {name}, which the adapter sets.", hint=hint)
    values = {**config.model_dump(include=set(config.model_fields_set)), **(config.model_extra or {})}
    settings = {key: value for key, value in values.items() if value is not None and key not in _NOT_ASKED}
    renamed = {"max_tokens": "max_new_tokens", "stop_seqs": "stop"}
    return {renamed.get(key, key): value for key, value in settings.items()}


def model_output(response: Response, model: str, tools: Sequence[ToolInfo] = ()) -> ModelOutput:
    """The output that an answer is, for code of authors. Images are PNG data URIs.

    Args:
        response: The answer, which is no error.
        model: The model's name.
        tools: The tools that it was offered.
    """
    seconds = None if response.latency_ms is None else response.latency_ms / 1000
    usage = [output.usage for output in response.outputs if output.usage is not None]
    counted = None
    if usage:
        inputs, outputs = sum(one.input_tokens or 0 for one in usage), sum(one.output_tokens or 0 for one in usage)
        counted = ModelUsage(input_tokens=inputs, output_tokens=outputs, total_tokens=inputs + outputs)
    perf = PerformanceMetrics(
        latency=seconds or 0.0,
        input_tokens=counted.input_tokens if counted else 0,
        output_tokens=counted.output_tokens if counted else 0,
    )
    choices = [
        _choice(output, model, perf if number == 0 else None, tools) for number, output in enumerate(response.outputs)
    ]
    return ModelOutput(model=model, choices=choices, usage=counted, time=seconds)


def _choice(
    output: Output, model: str, perf: PerformanceMetrics | None, tools: Sequence[ToolInfo]
) -> ChatCompletionChoice:
    content: str | list[Content] = output.text or ""
    if output.images:
        texts: list[Content] = [ContentText(text=output.text)] if output.text else []
        content = [*texts, *(ContentImage(image=_data_uri(image)) for image in output.images)]
    elif output.reasoning:
        content = [ContentReasoning(reasoning=output.reasoning), ContentText(text=output.text or "")]
    message = ChatMessageAssistant(
        content=content,
        model=model,
        source="generate",
        perf_metrics=perf,
        tool_calls=[parse_tool_call(call.id, call.name, call.raw, tools) for call in output.calls] or None,
    )
    return ChatCompletionChoice(message=message, stop_reason=as_stop_reason(output.finish_reason))


def _data_uri(image: Any) -> str:
    written = io.BytesIO()
    image.save(written, format="PNG")
    return f"data:image/png;base64,{base64.b64encode(written.getvalue()).decode('ascii')}"
