"""``lmms_eval.llm_judge.protocol``: settings, questions and answers of judges, and what an answer amounts to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from polymeter.core.errors import UnscoredError
from polymeter.core.guest_context import refuse_verdict

DEFAULT_NUM_RETRIES = 5
DEFAULT_RETRY_DELAY = 10


@dataclass
class ServerConfig:
    """A judge's settings.

    ``temperature``, ``max_tokens``, ``top_p``, ``system_prompt`` and ``response_format`` go into each question. Which
    model answers is the run's choice (``--judge``), and so are time limits, retries and how many questions are open at
    a time.
    """

    model_name: str = "gpt-4"
    temperature: float = 0.0
    max_tokens: int = 1024
    top_p: float | None = None
    timeout: int = 60
    num_retries: int = DEFAULT_NUM_RETRIES
    retry_delay: float = DEFAULT_RETRY_DELAY
    max_concurrent: int = 10
    system_prompt: str | None = None
    response_format: str | None = None
    judge_type: str = "general"
    output_format: str | None = None
    score_range: tuple[float, float] | None = None
    evaluation_criteria: dict[str, Any] | None = None


@dataclass
class Request:
    """A question: messages, images that go with the last of the user's, and settings that win over the server's.

    The other fields say what the question is about; they are not sent.
    """

    messages: list[dict[str, Any]]
    images: list[Any] | None = None
    config: ServerConfig | None = None
    question: str | None = None
    answer: str | None = None
    prediction: str | None = None
    context: str | None = None
    options: list[str] | None = None
    response1: str | None = None
    response2: str | None = None
    custom_prompt: str | None = None
    prompt_kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass
class Response:
    """A judge's answer. Without ``success`` there is none, and ``error_message`` says why."""

    content: str
    model_used: str
    usage: dict[str, int] | None = None
    raw_response: Any = None
    parsed_result: Any = None
    success: bool = True
    error_message: str | None = None


class Verdict(dict[str, Any]):
    """``{result | scores, raw_response, model, prompt, success}``.

    A verdict that could not be read is there, and using it is an error: a task with a prompt of its own may read
    ``raw_response`` itself, and a task that takes the verdict must not take a failure for a no: the sample has no score
    then, also where the task catches the error.
    """

    _key = ""
    _why: UnscoredError | None = None

    @classmethod
    def of(cls, key: str, response: Response, read: Callable[[str], Any], prompt: str) -> Verdict:
        """The verdict in a response.

        Args:
            key: Under which name it stands.
            response: The judge's answer.
            read: Reads the verdict out of the text; may raise ``UnscoredError``.
            prompt: What was asked.
        """
        made = cls(raw_response=response.content, model=response.model_used, prompt=prompt, success=response.success)
        value: Any = None
        if response.success:
            try:
                value = read(response.content)
            except UnscoredError as error:
                made._key, made._why = key, error
        else:
            made["error_message"] = response.error_message
        made[key] = value
        return made

    def __getitem__(self, key: str) -> Any:
        self._check(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._check(key)
        return super().get(key, default)

    def _check(self, key: str) -> None:
        if self._why is not None and key == self._key:
            refuse_verdict(str(self._why))
            raise self._why
