"""Addresses of endpoints and authentication: URLs, keys from the environment, headers.

An address does not determine the answers, so it is not part of the model's identity. Keys are not written anywhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from polymeter.core.errors import PlanError
from polymeter.core.text.secrets import hidden_address, hide_secrets, remember, remember_values
from polymeter.models.endpoint.addresses import check_headers, check_line, checked_address

_OPENAI = "https://api.openai.com/v1"
_OPENAI_HOST = "api.openai.com"
_AZURE_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
_BETWEEN = re.compile(r",(?!.*@)|,(?=\s*https?://)")
"""The commas between addresses; a user may hold others."""
_OPERATIONS = ("/chat/completions", "/responses", "/completions", "/models", "/images/generations", "/images/edits")


@dataclass(frozen=True, slots=True)
class Address:
    """An endpoint.

    Attributes:
        base_url: What the URLs have in common, without secrets.
        chat_url: Where chats are sent.
        responses_url: Where chats are sent in the form of OpenAI's API of responses.
        completions_url: Where texts to be continued are sent.
        models_url: Where the models are listed.
        generations_url: Where images are requested.
        edits_url: Where edits of images are requested.
        headers: Sent with every request, the key included.
        secrets: Texts that must never be shown.
        key_env: The environment variable of the key.
        has_key: Whether that variable is set.
        is_hosted: Whether the endpoint is OpenAI's own, also at Azure, and not another server with the same protocol.
        where: Model and host, for messages.
    """

    base_url: str
    chat_url: str = field(repr=False)
    responses_url: str = field(repr=False)
    completions_url: str = field(repr=False)
    models_url: str = field(repr=False)
    generations_url: str = field(repr=False)
    edits_url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    key_env: str
    has_key: bool
    is_hosted: bool
    where: str


def find_addresses(name: str, *, base_url: str, **given: Any) -> Sequence[Address]:
    """The addresses that a model's arguments and the environment give: as ``find_address``, for each base URL of a list
    that is separated by commas.

    Raises:
        PlanError: as for ``find_address``, if one is named twice, or if only some are OpenAI's own, which accepts other
            settings than self-hosted servers.
    """
    azure = given.get("azure_endpoint")
    listed = "" if azure and not base_url else base_url or os.environ.get("OPENAI_BASE_URL", "")
    urls = [url.strip() for url in _BETWEEN.split(listed)]
    if len(urls) > 1 and not all(urls):
        raise PlanError(f"An address in {hidden_address(listed)!r} is empty.", where="base_url")
    found = [find_address(name, base_url=url, **given) for url in urls]
    for address in found:
        if sum(address.chat_url == other.chat_url for other in found) > 1:
            raise PlanError(f"The address {address.base_url} is listed twice.", where="base_url")
    if len({address.is_hosted for address in found}) > 1:
        raise PlanError(
            "OpenAI's own endpoint and another one cannot serve the same model.",
            where="base_url",
            hint="List only servers of one kind.",
        )
    return found


def find_address(
    name: str,
    *,
    base_url: str,
    api_key_env: str,
    headers: Mapping[str, str],
    organization: str,
    azure_endpoint: str,
    api_version: str,
) -> Address:
    """The address that a model's arguments and the environment give. Arguments take precedence over the environment.

    Raises:
        PlanError: if a URL is malformed, OpenAI itself is used without a key, or Azure without an API version; if a key
            has a line break, or is given besides a user.
    """
    azure = azure_endpoint.rstrip("/")
    if azure and base_url:
        raise PlanError("Both base_url and azure_endpoint are set.", where="--model-args", hint="Set only one of them.")
    base = azure or _base(base_url)
    parts = checked_address(base, "base_url")
    host = parts.hostname or ""
    is_azure = bool(azure) or host.endswith(_AZURE_HOSTS)
    key_env = api_key_env or ("AZURE_OPENAI_API_KEY" if is_azure else "OPENAI_API_KEY")
    key = os.environ.get(key_env, "").strip()
    if not key and not headers and (is_azure or host == _OPENAI_HOST):
        raise PlanError(
            f"The endpoint {host} needs a key, and the environment variable {key_env} is not set.",
            hint=f"Set {key_env}, or name another variable with --model-args api_key_env=NAME.",
        )
    remember({"headers": dict(headers), "base_url": base})
    remember_values([key])
    check_line(key, "The key", key_env)
    sent = {"api-key": key} if is_azure else {"Authorization": f"Bearer {key}"}
    sent = {**(sent if key else {}), **({"OpenAI-Organization": organization} if organization else {}), **headers}
    check_headers(sent, parts, key_env if key else "headers")
    stem, query = (f"{base}/openai/deployments/{quote(name)}", _version(api_version)) if azure else (base, "")
    if not azure and api_version:
        query = f"?api-version={quote(api_version)}"
    return Address(
        hide_secrets(base),
        f"{stem}/chat/completions{query}",
        f"{azure or base}{'/openai' if azure else ''}/responses{query}",
        f"{stem}/completions{query}",
        f"{base}/openai/models{query}" if azure else f"{base}/models{query}",
        f"{stem}/images/generations{query}",
        f"{stem}/images/edits{query}",
        sent,
        (key, parts.password or ""),
        key_env,
        bool(key),
        is_azure or host == _OPENAI_HOST,
        f"{name} at {host}{f':{parts.port}' if parts.port else ''}",
    )


def _base(base_url: str) -> str:
    base = (base_url or os.environ.get("OPENAI_BASE_URL", "") or _OPENAI).strip().rstrip("/")
    for operation in _OPERATIONS:
        base = base.removesuffix(operation)
    return base


def _version(api_version: str) -> str:
    version = api_version or os.environ.get("OPENAI_API_VERSION", "")
    if not version:
        raise PlanError(
            "An azure_endpoint needs an API version.",
            where="--model-args",
            hint="Add api_version=2024-10-21 or set OPENAI_API_VERSION. An address that ends in /openai/v1 is a "
            "base_url and needs no version.",
        )
    return f"?api-version={quote(version)}"
