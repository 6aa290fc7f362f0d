"""The model and version that an endpoint states in its answers.

A provider may serve another model under the same name tomorrow. Most state in each answer which one it was:
``gpt-4o-2024-08-06`` for ``gpt-4o``, or a fingerprint of the system. The echo of a requested name states nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NAMES = ("model", "modelVersion", "model_version")
_FINGERPRINT = "system_fingerprint"
_LONGEST = 200
_PINNED = re.compile(
    r".*[-@.:](?:20\d\d-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|00\d)"
)
"""Names that end with a date (``-2024-08-06``, ``-20241022``, ``-0613``) or with a number of a release (``-001``)."""


class StatedModels:
    """The statements of one endpoint.

    Args:
        name: The requested name.
    """

    def __init__(self, name: str) -> None:
        self._name = name.removeprefix("models/")
        self._found: set[str] = set()

    def note(self, answer: Mapping[str, Any]) -> None:
        """Note the statement in an answer, if it has one."""
        model = next((answer[key] for key in _NAMES if isinstance(answer.get(key), str)), "").removeprefix("models/")
        mark = answer.get(_FINGERPRINT)
        mark = mark if isinstance(mark, str) else ""
        if mark or model not in ("", self._name):
            self._found.add(f"{model} {mark}".strip()[:_LONGEST])

    @property
    def found(self) -> frozenset[str]:
        """The distinct statements so far."""
        return frozenset(self._found)


def is_pinned(name: str) -> bool:
    """Return whether a provider's name of a model names one version of it."""
    return _PINNED.fullmatch(name) is not None
