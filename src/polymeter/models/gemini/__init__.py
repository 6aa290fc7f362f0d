"""Gemini models, and Imagen on Vertex AI, through Google's own SDK."""

from polymeter.models.gemini.model import GeminiModel

__all__ = ["GeminiModel"]
