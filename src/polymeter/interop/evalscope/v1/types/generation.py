"""``GenerateConfig``: settings of an answer."""

from __future__ import annotations

import copy
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from polymeter.interop.evalscope.v1.types.json_schema import JSONSchema


class ResponseSchema(BaseModel):
    """The form that an answer must have."""

    name: str
    json_schema: JSONSchema
    description: str | None = None
    strict: bool | None = None


class AnthropicCacheControl(BaseModel):
    """A mark up to which a prompt is cached by the endpoint."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["ephemeral"] = "ephemeral"
    ttl: Literal["5m", "1h"] | None = None


class GenerateConfig(BaseModel):
    """Settings of an answer, under EvalScope's names; what is ``None`` is the model's business. Others are kept.

    Attributes:
        timeout: Seconds for a request.
        retries: Further tries of a request.
        retry_interval: Seconds between tries.
        stop_seqs: Texts at which an answer ends.
        extra_body: Further fields of the request.
    """

    model_config = ConfigDict(extra="allow")

    timeout: float | None = None
    retries: int | None = 5
    retry_interval: int | None = 10
    batch_size: int | None = None
    stream: bool | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    temperature: float | None = None
    stop_seqs: list[str] | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    repetition_penalty: float | None = None
    logit_bias: dict[int, float] | None = None
    seed: int | None = None
    do_sample: bool | None = None
    top_k: int | None = None
    n: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: str | None = None
    reasoning_tokens: int | None = None
    anthropic_cache_control: AnthropicCacheControl | None = None
    anthropic_cache_strategy: Literal["evaluation", "recent_messages"] = "evaluation"
    reasoning_summary: Literal["concise", "detailed", "auto"] | None = None
    reasoning_history: Literal["none", "think_tag", "reasoning_field"] | None = None
    response_schema: ResponseSchema | None = None
    extra_body: dict[str, Any] | None = None
    extra_query: dict[str, Any] | None = None
    extra_headers: dict[str, Any] | None = None
    height: int | None = None
    width: int | None = None
    num_inference_steps: int | None = None
    guidance_scale: float | None = None

    @model_validator(mode="before")
    @classmethod
    def reject_renamed(cls, data: Any) -> Any:
        """Refuse the earlier name of ``anthropic_cache_control``.

        Raises:
            ValueError: if it is used.
        """
        if isinstance(data, dict) and "anthropic_content_cache_control" in data:
            raise ValueError(
                "anthropic_content_cache_control is named anthropic_cache_control; "
                "anthropic_cache_strategy chooses where the marks are put."
            )
        return data

    def merge(self, other: GenerateConfig) -> GenerateConfig:
        """Return a copy in which all that was set in another one, and is not ``None``, replaces this one's."""
        merged = copy.deepcopy(self)
        for name in other.model_fields_set & set(type(self).model_fields):
            value = getattr(other, name)
            if value is not None:
                setattr(merged, name, value)
        if other.model_extra and merged.model_extra is not None:
            merged.model_extra.update(other.model_extra)
        return merged
