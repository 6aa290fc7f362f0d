"""Values of other tools' logs in the form that ``core.logs`` has for them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any


def logged_text(value: Any) -> str | None:
    """Return a text unchanged, and any other value as JSON; ``None`` stays."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def logged_settings(given: Mapping[str, Any], names: Mapping[str, str], left_out: Collection[str]) -> dict[str, Any]:
    """The settings of a generation under the names that ``LoggedExchange`` has for them.

    Args:
        given: The settings; those that are ``None`` were not given.
        names: By the log's name, ours. A setting without one is kept under ``extra``.
        left_out: Settings of how a run went, which change no answer.
    """
    settings: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, value in given.items():
        if value is None or name in left_out:
            continue
        if name in names:
            settings[names[name]] = value
        else:
            extra[name] = value
    return {**settings, "extra": extra} if extra else settings
