"""Any endpoint that speaks OpenAI's protocol: vLLM, SGLang, Ollama, OpenAI, Azure, OpenRouter."""

from polymeter.models.openai.model import OpenAIModel

__all__ = ["OpenAIModel"]
