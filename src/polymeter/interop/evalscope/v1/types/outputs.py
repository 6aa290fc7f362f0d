"""A model's answer: ``ModelOutput``, its choices, log-probabilities and counts of tokens."""

from __future__ import annotations

import builtins
import uuid
from typing import Any, Literal, get_args

from pydantic import BaseModel, Field, JsonValue, computed_field, model_validator

from polymeter.interop.evalscope.v1.types.content import Content
from polymeter.interop.evalscope.v1.types.messages import ChatMessageAssistant
from polymeter.interop.evalscope.v1.types.performance import PerformanceMetrics
from polymeter.interop.evalscope.v1.types.tools import ToolCall, ToolFunction

StopReason = Literal["stop", "max_tokens", "model_length", "tool_calls", "content_filter", "unknown"]
_OF_ENDPOINTS: dict[str, StopReason] = {
    "eos": "stop",
    "length": "max_tokens",
    "function_call": "tool_calls",
}


class ModelUsage(BaseModel):
    """Counts of tokens; usages can be added."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    input_tokens_cache_write: int | None = None
    input_tokens_cache_read: int | None = None
    reasoning_tokens: int | None = None

    def __add__(self, other: ModelUsage) -> ModelUsage:
        def together(name: str) -> Any:
            counts = [getattr(self, name), getattr(other, name)]
            known = [count for count in counts if count is not None]
            return sum(known) if known else None

        return ModelUsage(**{name: together(name) for name in type(self).model_fields})


class TopLogprob(BaseModel):
    """A token that could have come, with its log-probability."""

    token: str
    logprob: float
    bytes: list[int] | None = None


class Logprob(BaseModel):
    """A token that came, with its log-probability, and the likeliest at its place."""

    token: str
    logprob: float
    bytes: builtins.list[int] | None = None
    top_logprobs: list[TopLogprob] | None = None


class Logprobs(BaseModel):
    """The log-probabilities of all tokens of an answer."""

    content: list[Logprob]


class ChatCompletionChoice(BaseModel):
    """One of the answers to a request."""

    message: ChatMessageAssistant
    stop_reason: StopReason = "unknown"
    logprobs: Logprobs | None = None

    @model_validator(mode="before")
    @classmethod
    def migrate_stop_reason(cls, values: Any) -> Any:
        """Read ``length`` as ``max_tokens``."""
        if isinstance(values, dict) and values.get("stop_reason") == "length":
            values["stop_reason"] = "max_tokens"
        return values

    @classmethod
    def from_content(cls, content: str | list[Content]) -> ChatCompletionChoice:
        """Make a choice that ended by itself."""
        return cls(message=ChatMessageAssistant(content=content), stop_reason="stop")


class ModelOutput(BaseModel):
    """A model's answer to a request.

    Attributes:
        id: The endpoint's id of it.
        model: The model's name.
        choices: The answers.
        usage: Counts of tokens.
        time: Seconds from the request to the answer.
        metadata: Whatever comes with it.
        error: A message, where the request failed or was declined.
    """

    id: str | None = None
    model: str = ""
    choices: list[ChatCompletionChoice] = Field(default_factory=list)
    usage: ModelUsage | None = None
    time: float | None = None
    metadata: dict[str, Any] | None = None
    error: str | None = None

    @model_validator(mode="before")
    @classmethod
    def move_perf_metrics(cls, data: Any) -> Any:
        """Move ``perf_metrics``, which files of earlier versions have here, into the first message."""
        if isinstance(data, dict):
            metrics = data.pop("perf_metrics", None)
            choices = data.get("choices")
            first = choices[0] if isinstance(choices, list) and choices else None
            message = first.get("message") if isinstance(first, dict) else None
            if metrics is not None and isinstance(message, dict) and message.get("perf_metrics") is None:
                message["perf_metrics"] = metrics
        return data

    @computed_field  # type: ignore[prop-decorator]
    @property
    def perf_metrics(self) -> PerformanceMetrics | None:
        """Times and token counts of the first message."""
        return self.choices[0].message.perf_metrics if self.choices else None

    @property
    def empty(self) -> bool:
        """True if there is no answer."""
        return not self.choices

    @property
    def stop_reason(self) -> StopReason:
        """The reason why the first answer ended."""
        return self.choices[0].stop_reason

    @property
    def message(self) -> ChatMessageAssistant:
        """The first answer's message."""
        return self.choices[0].message

    @property
    def completion(self) -> str:
        """The first answer's text; empty if there is none."""
        return self.choices[0].message.text if self.choices else ""

    @completion.setter
    def completion(self, completion: str) -> None:
        """Replace the first answer's text, or add an answer."""
        if self.choices:
            self.choices[0].message.text = completion
        else:
            message = ChatMessageAssistant(content=completion, model=self.model)
            self.choices.append(ChatCompletionChoice(message=message, stop_reason="stop"))

    @property
    def completions(self) -> list[str]:
        """The texts of all answers."""
        return [choice.message.text for choice in self.choices]

    @staticmethod
    def from_content(
        model: str, content: str | list[Content], stop_reason: StopReason = "stop", error: str | None = None
    ) -> ModelOutput:
        """Make an output of one answer."""
        message = ChatMessageAssistant(content=content, model=model, source="generate")
        return ModelOutput(
            model=model, choices=[ChatCompletionChoice(message=message, stop_reason=stop_reason)], error=error
        )

    @staticmethod
    def for_tool_call(
        model: str,
        tool_name: str,
        tool_arguments: dict[str, Any],
        internal: JsonValue | None = None,
        tool_call_id: str | None = None,
        content: str | None = None,
    ) -> ModelOutput:
        """Make an output that calls a tool."""
        call = ToolCall(
            id=tool_call_id if tool_call_id is not None else f"for_tool_call_{uuid.uuid4()}",
            internal=internal,
            function=ToolFunction(name=tool_name, arguments=tool_arguments),
        )
        message = ChatMessageAssistant(
            content=content if content is not None else f"tool call for tool {tool_name}",
            model=model,
            source="generate",
            tool_calls=[call],
        )
        return ModelOutput(model=model, choices=[ChatCompletionChoice(message=message, stop_reason="tool_calls")])


def as_stop_reason(reason: str | None) -> StopReason:
    """Return an endpoint's reason for an answer's end by its name here."""
    if reason in get_args(StopReason):
        return reason  # type: ignore[return-value]
    return _OF_ENDPOINTS.get(reason or "", "unknown")
