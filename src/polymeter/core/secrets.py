"""Keys and tokens never reach a log, a manifest or a report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from polymeter.core.sources import digest

HIDDEN = "***"
_OWNERS = "api|access|secret|private|account|subscription|openai|azure|anthropic|gemini|google|aws|hf|hub|auth|app"
_NAMES = (
    rf"(?:x-)?(?:\w+[_-])?(?:{_OWNERS})[_-]?key"
    rf"|(?:\w+[_-])?(?:{_OWNERS}|bearer|refresh|session|github|huggingface)[_-]?token"
    r"|token|key|(?:\w+[_-])?(?:secret|passwd|password)|(?:proxy-)?authorization"
)
_NAME = re.compile(rf"(?i)(?:{_NAMES})")
_PAIR = re.compile(rf"(?i)(?<![\w-])((?:{_NAMES}))(=|[\"']\s*:\s*[\"'])([^,\s\"'}}]+)")
_USER_INFO = re.compile(r"(?<=://)[^/\s@:]+:[^/\s@]+@")


def is_secret_name(name: str) -> bool:
    """Whether a setting of this name holds a secret. ``eos_token`` (text) and ``score_key`` (a column) do not."""
    return _NAME.fullmatch(name) is not None


def hide_secrets(text: str) -> str:
    """The text with the values of keys and tokens hidden: in ``name=value``, in JSON, and before the ``@`` of a URL."""
    return _USER_INFO.sub(f"{HIDDEN}@", _PAIR.sub(rf"\1\2{HIDDEN}", text))


def hide_in_arguments(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command line with secrets hidden, also a value that follows ``--api-key`` after a space or
    ``=``.
    """
    hidden: list[str] = []
    for position, argument in enumerate(arguments):
        before = arguments[position - 1] if position else ""
        is_value = before.startswith("--") and is_secret_name(before[2:]) and not argument.startswith("--")
        option, equals, _ = argument.partition("=")
        if equals and option.startswith("--") and is_secret_name(option[2:]):
            hidden.append(f"{option}={HIDDEN}")
        else:
            hidden.append(HIDDEN if is_value else hide_secrets(argument))
    return hidden


def without_secrets(value: Any) -> Any:
    """Plain data with the values of keys and tokens hidden, in mappings at any depth and in texts."""
    return _replaced(value, lambda _: HIDDEN)


def with_digests(value: Any) -> Any:
    """Plain data with digests in place of secrets: different secrets stay different, and none can be read back."""
    return _replaced(value, lambda secret: f"digest:{digest(secret.encode())}")


def _replaced(value: Any, replace: Any) -> Any:
    if isinstance(value, str):
        return hide_secrets(value)
    if isinstance(value, dict):
        return {
            key: replace(item)
            if isinstance(item, str) and item and is_secret_name(str(key))
            else _replaced(item, replace)
            for key, item in value.items()
        }
    return [_replaced(item, replace) for item in value] if isinstance(value, (list, tuple)) else value
