"""``Model``: the model as adapters ask it. Their code is plain and synchronous, and a run asks in its own time.

So a question that has no answer yet ends the author's code (``NeedsAnswer``); once the answer is there, the code runs
again from its start, with the answers so far. Code with k questions runs k + 1 times. It must ask the same again when
it is given the same answers, as a run that is resumed or scored again needs, too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from polymeter.core.errors import DataError, PlanError
from polymeter.core.request import Generate, Loglikelihood, Request, RequestKind, Response
from polymeter.interop.evalscope.v1.tasks.conversion import (
    chosen,
    model_output,
    offered,
    parameters_of,
    request_messages,
)
from polymeter.interop.evalscope.v1.types.generation import GenerateConfig
from polymeter.interop.evalscope.v1.types.messages import ChatMessageUser
from polymeter.interop.evalscope.v1.types.outputs import ModelOutput


class NeedsAnswer(BaseException):
    """An author's code has asked what has no answer yet.

    Attributes:
        request: What it asked.
    """

    def __init__(self, request: Request) -> None:
        super().__init__()
        self.request = request


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings that all questions to a model have in common.

    Attributes:
        name: The model's name.
        kind: What it is asked for: ``generate`` or ``generate_image``.
        generation: Settings of the run, under any of their usual names.
        defaults: Settings that count if the run has none at all.
    """

    name: str
    kind: RequestKind = "generate"
    generation: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)


class Model:
    """The model, for one execution of an author's code.

    Args:
        settings: What all questions have in common.
        answered: The questions that have answers, as they were sent, with these.
        repeated: From a question and the number of equal ones before it to the request that is sent.

    Attributes:
        config: Settings of the run, as authors read them.
        role: The part that it plays.
    """

    def __init__(
        self,
        settings: ModelSettings,
        answered: Sequence[tuple[Request, Response]] = (),
        repeated: Callable[[Request, int], Request] | None = None,
    ) -> None:
        self._settings = settings
        self._answered = list(answered)
        self._is_used = [False] * len(self._answered)
        self._repeated = repeated
        self._asked: list[Request] = []
        self.config = as_config(settings.generation or settings.defaults)
        self.role: str | None = None
        self.model_args: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The model's name."""
        return self._settings.name

    @property
    def api(self) -> Any:
        """Facts about the model's interface, as far as authors may know them: its name, and no address and no key."""
        return SimpleNamespace(model_name=self.name, config=self.config, base_url=None, api_key=None)

    def __str__(self) -> str:
        return self.name

    def generate(
        self, input: Any, tools: Any = None, tool_choice: Any = None, config: GenerateConfig | None = None
    ) -> ModelOutput:
        """Ask the model.

        Args:
            input: A text, or messages.
            tools: Tools that the model may call.
            tool_choice: Which of them it must call.
            config: Settings of this question.

        Raises:
            NeedsAnswer: if there is no answer yet.
            DataError: if a tool or a message cannot be shown.
            PlanError: if a setting is not of its type.
        """
        messages = [ChatMessageUser(content=input)] if isinstance(input, str) else list(input)
        settings = self._settings
        parameters = parameters_of(settings.kind, settings.generation, settings.defaults, config)
        if tools:
            if not isinstance(parameters, Generate):
                raise DataError("A model that makes images calls no tools.")
            parameters = replace(parameters, tools=offered(tools), tool_choice=chosen(tool_choice))
        plain = Request(request_messages(messages), parameters)
        number = sum(_is_same(plain, earlier) for earlier in self._asked)
        self._asked.append(plain)
        request = plain if self._repeated is None else self._repeated(plain, number)
        for place, (asked, response) in enumerate(self._answered):
            if not self._is_used[place] and _is_same(asked, request):
                self._is_used[place] = True
                return model_output(response, self.name, tools or ())
        raise NeedsAnswer(request)

    async def generate_async(
        self, input: Any, tools: Any = None, tool_choice: Any = None, config: GenerateConfig | None = None
    ) -> ModelOutput:
        """As ``generate``."""
        return self.generate(input, tools, tool_choice, config)

    @property
    def unused(self) -> int:
        """The number of answers that no question has asked for."""
        return self._is_used.count(False)


class LazyModel(Model):
    """The same model under the name by which some authors annotate it."""


def as_config(settings: Mapping[str, Any]) -> GenerateConfig:
    """Settings of a run as authors read them."""
    renamed = {"max_new_tokens": "max_tokens", "max_gen_toks": "max_tokens", "stop": "stop_seqs", "until": "stop_seqs"}
    values = {renamed.get(key, key): copy.deepcopy(value) for key, value in settings.items()}
    if isinstance(values.get("stop_seqs"), str):
        values["stop_seqs"] = [values["stop_seqs"]]
    try:
        return GenerateConfig(**values)
    except ValueError as error:
        raise PlanError(f"The generation settings cannot be used: {error}", where="--gen-kwargs") from error


def _is_same(one: Request, other: Request) -> bool:
    """Return whether two questions are the same. Media counts by what it was made of."""
    return (
        _parameters_key(one) == _parameters_key(other)
        and len(one.messages) == len(other.messages)
        and all(
            (a.role, a.calls, a.call_id) == (b.role, b.calls, b.call_id)
            and len(a.parts) == len(b.parts)
            and all(_part_key(x) == _part_key(y) for x, y in zip(a.parts, b.parts, strict=True))
            for a, b in zip(one.messages, other.messages, strict=True)
        )
    )


def _parameters_key(request: Request) -> Any:
    assert not isinstance(request.parameters, Loglikelihood)
    return request.parameters


def _part_key(part: Any) -> Any:
    return part.text if part.modality == "text" else (part.modality, part.source)
