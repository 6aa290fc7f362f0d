"""``lmms_eval.llm_judge.protocol``: settings, questions, answers and verdicts of judges."""

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

    ``temperature``, ``max_tokens``, ``top_p``, ``system_prompt`` and ``response_format`` apply to each question. The
    run decides which model answers (``--judge``), and owns time limits, retries and concurrency.
    """

    model_name: str = "gpt-4"
    temperature: float = 0.0
    max_tokens: int | None = 1024
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
    """A question: messages, images for the user's last message, and settings that override the server's.

    The other fields describe the question; they are not sent.
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
    """A judge's answer. If ``success`` is false, the answer is missing, and ``error_message`` has the reason."""

    content: str
    model_used: str
    usage: dict[str, int] | None = None
    raw_response: Any = None
    parsed_result: Any = None
    success: bool = True
    error_message: str | None = None


class Verdict(dict[str, Any]):
    """``{result | scores, raw_response, model, prompt, success}``.

    Using a verdict that could not be read is an error, so that a task does not take a failure for a no: the sample then
    has no score, even if the task catches the error. A task with its own prompt may read ``raw_response`` itself.
    """

    _key = ""
    _why: UnscoredError | None = None

    @classmethod
    def of(cls, key: str, response: Response, read: Callable[[str], Any], prompt: str) -> Verdict:
        """The verdict in a response.

        Args:
            key: The verdict's key.
            response: The judge's answer.
            read: Reads the verdict from the text; may raise ``UnscoredError``.
            prompt: The prompt.
        """
        verdict = cls(raw_response=response.content, model=response.model_used, prompt=prompt, success=response.success)
        value: Any = None
        if response.success:
            try:
                value = read(response.content)
            except UnscoredError as error:
                verdict._key, verdict._why = key, error
        else:
            verdict["error_message"] = response.error_message
        verdict[key] = value
        return verdict

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
