"""Settings of models that transcribe what they are shown, whatever the prompt asks."""

from __future__ import annotations

from collections.abc import Mapping

from polymeter.core.request import Generate, Parameters

_SHORT = 32
"""Tokens below which a limit asks for a short answer; a higher one only ends models that repeat themselves."""


def ignored_limit(parameters: Parameters, reason: str) -> Mapping[str, str]:
    """Return the limit of tokens with the reason why it is ignored, if it asks for a short answer."""
    limit = parameters.max_new_tokens if isinstance(parameters, Generate) else None
    return {"max_new_tokens": reason} if limit is not None and limit < _SHORT else {}
