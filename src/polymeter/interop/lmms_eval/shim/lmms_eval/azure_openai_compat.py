"""``lmms_eval.azure_openai_compat``, which tasks import and lmms-eval does not have.

A client as the ``openai`` package makes them, as far as a judge needs one, whose questions go to the run's judge.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from polymeter.core.errors import ModelError
from polymeter.interop.lmms_eval.shim.lmms_eval.llm_judge.asking import ROLE, ask_judge


def has_endpoint_support() -> bool:
    """Yes: the run's judge is asked. Only asking shows whether the run has one."""
    return True


def build_client(base_url: str | None = None, model: str | None = None) -> tuple[JudgeClient, str]:
    """A client, and the name to put into ``model=``. Neither the address nor the name chooses who answers: ``--judge``
    does.
    """
    return JudgeClient(), model or os.environ.get("OPENAI_JUDGE_MODEL") or ROLE


@dataclass(frozen=True)
class ChatMessage:
    """What the judge said."""

    content: str
    role: str = "assistant"


@dataclass(frozen=True)
class Choice:
    """One answer."""

    message: ChatMessage
    index: int = 0
    finish_reason: str | None = "stop"


@dataclass(frozen=True)
class ChatCompletion:
    """The answers."""

    choices: list[Choice]
    model: str
    usage: None = None


class _Completions:
    def create(
        self,
        *,
        messages: list[dict[str, Any]],
        model: str = ROLE,
        max_tokens: int | None = None,
        max_completion_tokens: int | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        **extra: Any,
    ) -> ChatCompletion:
        """The judge's answer.

        Raises:
            ModelError: The judge could not answer.
            PlanError: The run has no judge.
        """
        answer = ask_judge(
            messages,
            max_tokens=max_tokens if max_tokens is not None else max_completion_tokens,
            temperature=temperature,
            top_p=top_p,
            extra=extra,
        )
        if answer.error is not None:
            raise ModelError(answer.error.message, kind=answer.error.kind, where=ROLE)
        return ChatCompletion([Choice(ChatMessage(answer.text), finish_reason=answer.outputs[0].finish_reason)], ROLE)


class _Chat:
    def __init__(self) -> None:
        self.completions = _Completions()


class JudgeClient:
    """``client.chat.completions.create(model=…, messages=…)``, asking the run's judge."""

    def __init__(self) -> None:
        self.chat = _Chat()
