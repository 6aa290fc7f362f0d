"""The model's arguments about requests that can change an answer, and the endpoints' names of generation settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from polymeter.core.acting.tools import TOOL_CHOICES
from polymeter.core.request import Generate

Api = Literal["chat", "responses", "completions", "images"]
Way = Literal["prompt_logprobs", "echo", "first_token"]

DETAILS = ("auto", "low", "high")
"""The values of OpenAI's ``detail``, the resolution at which its models see an image."""

MAX_STOPS = 4
"""The number of stop strings that most endpoints accept; the engine applies all of them to the answer."""

_BEAMS = "endpoints sample and have no beam search"
_INSIDE = "it is settled inside the server"
_MEANINGLESS: Mapping[str, tuple[Any, str]] = {
    "num_beams": (1, _BEAMS),
    "num_beam_groups": (1, _BEAMS),
    "diversity_penalty": (0, _BEAMS),
    "length_penalty": (1, _BEAMS),
    "early_stopping": (False, _BEAMS),
    "no_repeat_ngram_size": (0, "no endpoint has it"),
    "num_return_sequences": (1, "one answer is requested at a time"),
    "use_cache": (True, _INSIDE),
    "cache_implementation": (None, _INSIDE),
    "pad_token_id": (None, _INSIDE),
    "eos_token_id": (None, _INSIDE),
    "bos_token_id": (None, _INSIDE),
    "return_dict_in_generate": (False, _INSIDE),
    "output_scores": (False, _INSIDE),
}
"""Settings of Transformers that endpoints have no name for: the neutral value, and why other values are ignored."""

EXTRA_BODY = "extra_body"
"""The setting whose fields are sent unchanged, with any names."""

MEANINGLESS = frozenset(_MEANINGLESS)
"""Names of settings that are never sent."""

_NOT_HOSTED = frozenset({"top_k", "min_p", "top_a", "typical_p", "repetition_penalty", "chat_template_kwargs"})


_NEVER_SENT = frozenset({*MEANINGLESS, "do_sample", EXTRA_BODY})


@dataclass(frozen=True, slots=True)
class OpenAISettings:
    """A model's arguments about its requests.

    Attributes:
        name: The model's name at the endpoint.
        api: ``chat``, ``responses``, ``completions`` or ``images``.
        draws_in_chat: Whether images are requested in a chat, and not at a separate URL.
        system_role: Name of the role of system prompts.
        image_detail: OpenAI's ``detail`` of images; empty: not sent.
        video: ``frames``, or ``url``: videos are sent unchanged.
        omit: Names of settings that are never sent.
        extra_body: Sent unchanged with every request.
        is_hosted: Whether the endpoint is OpenAI's own and rejects names that it does not know.
    """

    name: str
    api: Api = "chat"
    draws_in_chat: bool = False
    system_role: str = "system"
    image_detail: str = ""
    video: Literal["frames", "url"] = "frames"
    omit: frozenset[str] = frozenset()
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    is_hosted: bool = False

    def ignored(self, parameters: Generate) -> dict[str, str]:
        """Settings that are not sent, each with the reason. ``do_sample`` is sent as a temperature."""
        wanted = {
            "max_new_tokens": parameters.max_new_tokens,
            "temperature": parameters.temperature,
            "top_p": parameters.top_p,
            **parameters.extra,
        }
        reasons: dict[str, str] = {}
        for name, value in wanted.items():
            neutral, reason = _MEANINGLESS.get(name, (None, ""))
            if value is None or (reason and value == neutral):
                continue
            if _same_setting(name) & self.omit:
                reasons[name] = "it is left out by omit="
            elif reason:
                reasons[name] = reason
            elif self.is_hosted and name in _NOT_HOSTED:
                reasons[name] = "this endpoint does not know it"
        return reasons

    def of(self, parameters: Generate) -> dict[str, Any]:
        """The settings under the endpoints' names, without seeds."""
        ignored = self.ignored(parameters)
        body: dict[str, Any] = {
            name: value
            for name, value in parameters.extra.items()
            if value is not None and name not in _NEVER_SENT and name not in ignored
        }
        temperature = 0.0 if parameters.extra.get("do_sample") is False else parameters.temperature
        stops = [stop for stop in parameters.stop if stop][:MAX_STOPS]
        typed = {
            "temperature": temperature,
            "top_p": parameters.top_p,
            "max_tokens": parameters.max_new_tokens,
            "stop": stops or None,
        }
        body.update({name: value for name, value in typed.items() if value is not None})
        body |= self._tools(parameters)
        sent = {name: value for name, value in body.items() if name not in self.omit}
        return {**sent, **(parameters.extra.get(EXTRA_BODY) or {})}

    def _tools(self, parameters: Generate) -> dict[str, Any]:
        """The tools, and which of them is to be called. The two APIs write both a little differently."""
        if not parameters.tools:
            return {}
        is_flat, choice = self.api == "responses", parameters.tool_choice
        named: Any = choice
        if choice not in TOOL_CHOICES:
            named = {"type": "function", **({"name": choice} if is_flat else {"function": {"name": choice}})}
        functions = [tool.as_function() for tool in parameters.tools]
        tools = [
            {"type": "function", **({**each, "strict": False} if is_flat else {"function": each})} for each in functions
        ]
        return {"tools": tools, "tool_choice": named}


def _same_setting(name: str) -> set[str]:
    return {"max_new_tokens", "max_tokens", "max_completion_tokens"} if name == "max_new_tokens" else {name}
