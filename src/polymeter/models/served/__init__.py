"""Models behind servers that the run starts: vLLM, SGLang, llama.cpp, and Transformers' own.

The program of a package is started as a child process on a free loopback port. It is used like any other
OpenAI-compatible endpoint (``polymeter.models.openai``), and stopped when the run ends in any way.
"""

from polymeter.models.served.model import LlamaCppModel, SglangModel, TransformersServeModel, VllmModel

__all__ = ["LlamaCppModel", "SglangModel", "TransformersServeModel", "VllmModel"]
