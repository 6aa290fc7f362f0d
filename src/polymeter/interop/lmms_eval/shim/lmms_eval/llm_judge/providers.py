"""Stand-in for ``lmms_eval.llm_judge.providers``: every provider asks the run's judge, but for one that asks nobody."""

from __future__ import annotations

from polymeter.interop.lmms_eval.shim.lmms_eval.llm_judge.base import AsyncServerInterface, ServerInterface
from polymeter.interop.lmms_eval.shim.lmms_eval.llm_judge.protocol import Request, Response


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
    """Says ``dummy`` to everything and asks nobody."""

    def evaluate(self, request: Request) -> Response:
        return Response("dummy", "dummy")
