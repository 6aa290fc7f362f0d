"""`computed` as a model of Polymeter; `record.computed_model` is the one of lm-eval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.lm_eval import computed
from conformance.lm_eval.record import turns
from polymeter import BatchModel, Generate, ModelTraits, Output, Request, Response
from polymeter.core.request import ChoiceLogprob, Loglikelihood


class Computed(BatchModel):
    """Answers with what is computed from the text that it is shown.

    Args:
        is_chat: Whether that text is the made chat template's.
    """

    traits = ModelTraits(family="computed")
    batch_hint = 64

    def __init__(self, *, is_chat: bool) -> None:
        self.is_chat = is_chat

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"computed": self.is_chat}

    def respond(self, requests: list[Request]) -> list[Response]:
        return [Response((self._answer(request),)) for request in requests]

    def _answer(self, request: Request) -> Output:
        asked = request.parameters
        messages = [{"role": one.role, "content": one.text} for one in request.messages]
        shown = render(messages, is_chat=self.is_chat and getattr(asked, "template", "") != "none")
        if not isinstance(asked, Loglikelihood):
            assert isinstance(asked, Generate)
            return Output(text=computed.said(shown, asked.repeat), finish_reason="stop")
        if asked.is_rolling:
            values = [(computed.rolling(text), False) for text in asked.continuations]
        else:
            values = [computed.likelihood(shown, text) for text in asked.continuations]
        return Output(logprobs=tuple(ChoiceLogprob(*value, 1) for value in values))


def render(messages: Sequence[Mapping[str, str]], *, is_chat: bool) -> str:
    """Messages as the text that `Computed` is shown."""
    if not is_chat:
        return "".join(message["content"] for message in messages)
    return turns([dict(one) for one in messages], is_asked=messages[-1]["role"] != "assistant")
