"""``lmms_eval.llm_judge``: judges that answer through the run.

Whatever type of server a task names, its questions go to the model in the role *judge*: scheduled, journaled, cached
and retried like any request. A server can be made anywhere, without keys; only a question needs a judge.

lmms-eval reads verdicts loosely (any ``1`` in the text is a yes, anything else a no). Here an unreadable verdict is an
error of the judge: using it leaves the sample without a score.
"""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

from polymeter.core.errors import did_you_mean
from polymeter.interop.lmms_eval.shim.lmms_eval.judge_asking import ask_judge
from polymeter.interop.lmms_eval.shim.lmms_eval.judge_prompts import JudgePromptBuilder, ResponseParser
from polymeter.interop.lmms_eval.shim.lmms_eval.judge_protocol import Request, Response, ServerConfig, Verdict
from polymeter.judge.llm_judge import ROLE

AskJudge = Callable[[Request], Response]


class ServerInterface:
    """A judge.

    Args:
        config: Its settings; a request may bring its own.
    """

    def __init__(self, config: ServerConfig | None = None) -> None:
        self.config = config or ServerConfig()

    def is_available(self) -> bool:
        """Always true: whether the run has a judge shows at the first question."""
        return True

    def prepare_messages(self, request: Request) -> list[dict[str, Any]]:
        """The question's messages, after the system prompt of the settings unless they have one."""
        messages = copy.copy(request.messages)
        prompt = (request.config or self.config).system_prompt
        if prompt and not any(message.get("role") == "system" for message in messages):
            messages.insert(0, {"role": "system", "content": prompt})
        return messages

    def evaluate(self, request: Request) -> Response:
        """The judge's answer, with ``success=False`` if the judge could not answer.

        Raises:
            PlanError: if the run has no judge.
        """
        config = request.config or self.config
        answer = ask_judge(
            self.prepare_messages(request),
            request.images or (),
            max_tokens=config.max_tokens,
            temperature=config.temperature,
            top_p=config.top_p,
            extra={"response_format": config.response_format} if config.response_format else None,
        )
        if answer.error is not None:
            return Response("", ROLE, success=False, error_message=answer.error.message)
        used = answer.outputs[0].usage if answer.outputs else None
        usage = None
        if used is not None:
            usage = {"prompt_tokens": used.input_tokens or 0, "completion_tokens": used.output_tokens or 0}
        return Response(answer.text.strip(), ROLE, usage, answer)

    def evaluate_binary(
        self,
        question: str,
        answer: str,
        prediction: str,
        output_format: str = "0/1",
        custom_prompt: str | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return whether a prediction is right. ``result`` is 1 or 0; with another ``output_format`` it is true or
        false.
        """
        prompt = JudgePromptBuilder.build_binary_prompt(
            question, answer, prediction, output_format, custom_prompt, **kwargs
        )
        request = self._question(prompt, question=question, answer=answer, prediction=prediction)
        return self._verdict(
            "result", request, lambda text: ResponseParser.parse_binary_response(text, output_format), prompt
        )

    def evaluate_comparative(
        self,
        question: str,
        response1: str,
        response2: str,
        context: str | None = None,
        score_range: tuple[int, int] = (1, 10),
        custom_prompt: str | None = None,
        images: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Rate two answers: ``scores`` is a pair."""
        prompt = JudgePromptBuilder.build_comparative_prompt(
            question, response1, response2, context, score_range, custom_prompt, **kwargs
        )
        request = self._question(
            prompt, images=images, question=question, response1=response1, response2=response2, context=context
        )
        return self._verdict("scores", request, ResponseParser.parse_comparative_response, prompt)

    def evaluate_with_rubric(
        self, question: str, prediction: str, rubric: dict[str, Any], **kwargs: Any
    ) -> dict[str, Any]:
        """Rate a prediction by each item of a rubric: ``scores`` is the judge's object."""
        prompt = JudgePromptBuilder.build_rubric_prompt(question, prediction, rubric)
        request = self._question(prompt, question=question, prediction=prediction)
        return self._verdict("scores", request, ResponseParser.parse_json_response, prompt)

    def _question(self, prompt: str, *, images: Sequence[Any] | None = None, **about: Any) -> Request:
        messages = [{"role": "user", "content": prompt}]
        return Request(messages, list(images) if images else None, self.config, **about)

    def _verdict(self, key: str, request: Request, read: Callable[[str], Any], prompt: str) -> dict[str, Any]:
        response = self.evaluate(request)
        return Verdict.of(key, response, read, prompt)


class AsyncServerInterface(ServerInterface):
    """A judge that can be awaited as well."""

    async def evaluate_async(self, request: Request) -> Response:
        """As ``evaluate``; the question waits in its own thread."""
        return await asyncio.to_thread(self.evaluate, request)

    async def evaluate_batch(self, requests: Sequence[Request]) -> list[Response]:
        """The answers to several questions, asked together."""
        return await self._together([self.evaluate_async(request) for request in requests])

    async def evaluate_binary_async(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """As ``evaluate_binary``."""
        return await asyncio.to_thread(self.evaluate_binary, *args, **kwargs)

    async def evaluate_comparative_async(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """As ``evaluate_comparative``."""
        return await asyncio.to_thread(self.evaluate_comparative, *args, **kwargs)

    async def evaluate_with_rubric_async(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """As ``evaluate_with_rubric``."""
        return await asyncio.to_thread(self.evaluate_with_rubric, *args, **kwargs)

    async def evaluate_binary_batch_async(
        self,
        questions: Sequence[str],
        answers: Sequence[str],
        predictions: Sequence[str],
        output_format: str = "0/1",
        custom_prompt: str | None = None,
        **kwargs: Any,
    ) -> list[dict[str, Any]]:
        """``evaluate_binary`` for several predictions, asked together.

        Raises:
            ValueError: if the lists differ in length.
        """
        return await self._together(
            [
                self.evaluate_binary_async(*one, output_format, custom_prompt, **kwargs)
                for one in zip(questions, answers, predictions, strict=True)
            ]
        )

    async def evaluate_comparative_batch_async(
        self,
        questions: Sequence[str],
        responses1: Sequence[str],
        responses2: Sequence[str],
        contexts: Sequence[str | None] | None = None,
        score_range: tuple[int, int] = (1, 10),
        custom_prompt: str | None = None,
        images_list: Sequence[Sequence[Any] | None] | None = None,
        **kwargs: Any,
    ) -> list[dict[str, Any]]:
        """``evaluate_comparative`` for several pairs, asked together.

        Raises:
            ValueError: if the lists differ in length.
        """
        count = len(questions)
        rows = zip(
            questions, responses1, responses2, contexts or [None] * count, images_list or [None] * count, strict=True
        )
        return await self._together(
            [
                self.evaluate_comparative_async(*texts, context, score_range, custom_prompt, images, **kwargs)
                for *texts, context, images in rows
            ]
        )

    async def _together(self, waiting: Sequence[Awaitable[Any]]) -> list[Any]:
        gate = asyncio.Semaphore(max(1, self.config.max_concurrent))

        async def one(question: Awaitable[Any]) -> Any:
            async with gate:
                return await question

        return list(await asyncio.gather(*map(one, waiting)))


class OpenAIProvider(AsyncServerInterface):
    """The run's judge."""


class AzureOpenAIProvider(OpenAIProvider):
    """The run's judge."""


class AsyncOpenAIProvider(OpenAIProvider):
    """The run's judge."""


class AsyncAzureOpenAIProvider(OpenAIProvider):
    """The run's judge."""


class BedrockProvider(OpenAIProvider):
    """The run's judge."""


class LocalProvider(OpenAIProvider):
    """The run's judge."""


class DummyProvider(ServerInterface):
    """Answers ``dummy`` to everything, without a judge."""

    def evaluate(self, request: Request) -> Response:
        return Response("dummy", "dummy")


class ProviderFactory:
    """Makes judges."""

    _provider_classes: ClassVar[dict[str, type[ServerInterface]]] = {
        "openai": OpenAIProvider,
        "azure": AzureOpenAIProvider,
        "async_openai": AsyncOpenAIProvider,
        "async_azure": AsyncAzureOpenAIProvider,
        "bedrock": BedrockProvider,
        "local": LocalProvider,
        "dummy": DummyProvider,
    }

    @classmethod
    def create_provider(cls, api_type: str | None = None, config: ServerConfig | None = None) -> ServerInterface:
        """A judge of a type; without one, of the type that ``API_TYPE`` names.

        Raises:
            ValueError: if there is no such type.
        """
        name = (api_type or os.environ.get("API_TYPE", "openai")).lower()
        provider = cls._provider_classes.get(name)
        if provider is None:
            known = ", ".join(cls._provider_classes)
            raise ValueError(
                f"There is no type of judge {name!r}. {did_you_mean(name, cls._provider_classes) or f'Known: {known}.'}"
            )
        return provider(config)

    @classmethod
    def register_provider(cls, api_type: str, judge_class: type[ServerInterface]) -> None:
        """Register a task's own judge.

        Raises:
            TypeError: if it is not a subclass of ``ServerInterface``.
        """
        if not issubclass(judge_class, ServerInterface):
            raise TypeError(f"{judge_class!r} must be a subclass of ServerInterface")
        cls._provider_classes[api_type] = judge_class


def get_server(
    server_name: str | None = None, config: ServerConfig | None = None
) -> AsyncServerInterface | ServerInterface:
    """A judge of a type; see ``ProviderFactory``. Without one, of the type that ``API_TYPE`` names."""
    return ProviderFactory.create_provider(server_name, config)
