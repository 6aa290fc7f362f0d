"""Values that are not shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr

SECRET_HEADER_KEYS = frozenset({"authorization", "proxy-authorization", "x-api-key", "x-auth-token"})


def get_secret_value(value: Any) -> Any:
    """The value itself of what is hidden, also inside of lists and dictionaries."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, dict):
        return {key: get_secret_value(each) for key, each in value.items()}
    return [get_secret_value(each) for each in value] if isinstance(value, list) else value


def secretize_auth_headers(headers: Mapping[str, Any] | None) -> Any:
    """Headers with the values of those that let in hidden."""
    if not headers:
        return headers
    return {
        key: SecretStr(value) if str(key).lower() in SECRET_HEADER_KEYS and isinstance(value, str) else value
        for key, value in headers.items()
    }
