"""Stand-in for ``lmms_eval.llm_judge.factory``: judges by the type of their server."""

from __future__ import annotations

import os
from typing import ClassVar

from polymeter.core.errors import did_you_mean
from polymeter.interop.lmms_eval.shim.lmms_eval.llm_judge import providers
from polymeter.interop.lmms_eval.shim.lmms_eval.llm_judge.base import AsyncServerInterface, ServerInterface
from polymeter.interop.lmms_eval.shim.lmms_eval.llm_judge.protocol import ServerConfig


class ProviderFactory:
    """Makes judges."""

    _provider_classes: ClassVar[dict[str, type[ServerInterface]]] = {
        "openai": providers.OpenAIProvider,
        "azure": providers.AzureOpenAIProvider,
        "async_openai": providers.AsyncOpenAIProvider,
        "async_azure": providers.AsyncAzureOpenAIProvider,
        "bedrock": providers.BedrockProvider,
        "local": providers.LocalProvider,
        "dummy": providers.DummyProvider,
    }

    @classmethod
    def create_provider(cls, api_type: str | None = None, config: ServerConfig | None = None) -> ServerInterface:
        """A judge of a type; without one, of the type that ``API_TYPE`` names.

        Raises:
            ValueError: There is no such type.
        """
        name = (api_type or os.environ.get("API_TYPE", "openai")).lower()
        made = cls._provider_classes.get(name)
        if made is None:
            known = ", ".join(cls._provider_classes)
            raise ValueError(
                f"There is no type of judge {name!r}. {did_you_mean(name, cls._provider_classes) or f'Known: {known}.'}"
            )
        return made(config)

    @classmethod
    def register_provider(cls, api_type: str, judge_class: type[ServerInterface]) -> None:
        """Make a judge of a task's own known.

        Raises:
            TypeError: It is no subclass of ``ServerInterface``.
        """
        if not issubclass(judge_class, ServerInterface):
            raise TypeError(f"{judge_class!r} must be a subclass of ServerInterface")
        cls._provider_classes[api_type] = judge_class


def get_server(
    server_name: str | None = None, config: ServerConfig | None = None
) -> AsyncServerInterface | ServerInterface:
    """A judge of a type; see ``ProviderFactory``. Without one, of the type that ``API_TYPE`` names."""
    return ProviderFactory.create_provider(server_name, config)
