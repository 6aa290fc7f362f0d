"""Stand-in for ``ulmeval.api``: wrappers of endpoints."""

from polymeter.compat.ulmeval._refusals import absent_class
from polymeter.compat.ulmeval.api.base import BaseAPI
from polymeter.compat.ulmeval.api.gpt import GPT4V, OpenAIWrapper

__all__ = ["GPT4V", "GPTIMAGE1", "BaseAPI", "GeminiFlashGeneration", "Imagen", "OpenAIWrapper"]

_INSTEAD = "Use the model by its own name: supported_ULM[{name!r}](), or --model {model} on the command line."

GPTIMAGE1 = absent_class("GPTIMAGE1", _INSTEAD.format(name="gpt-image-1", model="openai:gpt-image-1"))
GeminiFlashGeneration = absent_class(
    "GeminiFlashGeneration",
    _INSTEAD.format(
        name="GeminiFlashPreviewImageGeneration2-0", model="gemini:gemini-2.0-flash-preview-image-generation"
    ),
)
Imagen = absent_class("Imagen", _INSTEAD.format(name="Imagen4", model="gemini:imagen-4.0-generate-preview-06-06"))
