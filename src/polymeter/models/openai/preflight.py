"""One small request before anything is spent: it checks the address, the key and the model's name. If the server is
only busy, or rejects the form of this request, the run starts all the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from polymeter.core.errors import ModelError, PlanError, did_you_mean
from polymeter.models.endpoint.errors import EndpointError
from polymeter.models.endpoint.http import UnreachedError
from polymeter.models.openai.address import Address
from polymeter.models.openai.client import Client, PageError
from polymeter.models.openai.content import dumps
from polymeter.models.openai.settings import OpenAISettings

_LOG = logging.getLogger("polymeter")
_DEADLINE_S = 30.0
_SEEN_TOKENS = 16
"""Enough for the tag that begins reasoning, which many tokenizers take apart."""
_N_PAGES = 2
_MISSING_WORDS = ("not found", "not exist", "unknown model", "invalid model", "no such model", "not a valid model")
_MAX_NAMES = 8
_AZURE = ".azure.com"


class NobodyThereError(PlanError):
    """An error: no server exists at an address, or it cannot be reached now."""


async def check_all(clients: Sequence[Client], settings: OpenAISettings) -> None:
    """Check every address of a model. Some may be out of reach, since the others take over, but not all; an address
    with a server that can never answer is a mistake in any case.

    Raises:
        PlanError: as for ``check``.
    """
    found = await asyncio.gather(*(check(client, settings) for client in clients), return_exceptions=True)
    failures = [failure for failure in found if failure is not None]
    for failure in failures:
        if not isinstance(failure, NobodyThereError) or len(failures) == len(clients):
            raise failure
    for failure in failures:
        _LOG.warning("%s The other addresses are used.", failure)


async def check(client: Client, settings: OpenAISettings) -> None:
    """Request one token; a model that only makes images is looked up in the endpoint's list.

    Raises:
        NobodyThereError: if the endpoint cannot be reached.
        PlanError: if it rejects the key, does not know the model, or is not an OpenAI-compatible endpoint.
    """
    address = client.address
    try:
        await asyncio.wait_for(_ping(client, settings), _DEADLINE_S)
    except asyncio.TimeoutError:
        _LOG.warning("%s did not answer a small request within %g s.", address.where, _DEADLINE_S)
    except UnreachedError as error:
        if not error.has_connected:
            raise NobodyThereError(
                f"The endpoint cannot be reached: {error.reason}.",
                where=address.base_url,
                hint="Is the server running, and is --base-url right?",
            ) from error
    except PageError as error:
        raise _no_endpoint(address, error) from error
    except EndpointError as error:
        refusal = await _refusal(client, settings, error)
        if refusal is not None:
            raise refusal from error
    except ModelError as error:
        if error.kind == "permanent":
            raise PlanError(error.what, where=address.base_url, hint=error.hint) from error


async def ask_little(client: Client, settings: OpenAISettings) -> None:
    """Request one token once; a model that only makes images is looked up in the endpoint's list.

    Raises:
        ModelError: if there is no answer.
    """
    if settings.api == "images":
        await _model_names(client)
    else:
        await _ask(client, settings, _least(settings, 1))


def _least(settings: OpenAISettings, n_tokens: int) -> dict[str, Any]:
    return {"max_tokens": n_tokens, **({"temperature": 0} if "temperature" not in settings.omit else {})}


async def _ping(client: Client, settings: OpenAISettings) -> None:
    settings_sent = _least(settings, _SEEN_TOKENS if settings.api == "chat" else 1)
    for pages_left in reversed(range(_N_PAGES)):  # a proxy may show a page for a moment
        try:
            return await _ask(client, settings, settings_sent)
        except PageError:
            if not pages_left:
                raise
        except EndpointError as error:
            if not client.quirks.learn_ahead(error, settings_sent):
                raise
            return await _ask(client, settings, settings_sent)


async def _ask(client: Client, settings: OpenAISettings, settings_sent: Mapping[str, Any]) -> None:
    if settings.api == "images":  # an image would cost time or money
        await _look_up(client, settings)
    elif settings.api == "completions":
        await client.completion(dumps("ping"), settings_sent)
    elif settings.api == "responses":
        await client.response(
            dumps([{"role": "user", "content": "ping"}]), {**settings_sent, "max_tokens": _SEEN_TOKENS}
        )
    else:
        payload = await client.chat(dumps([{"role": "user", "content": "ping"}]), settings_sent)
        client.quirks.shown += _answer_texts(payload)


def _answer_texts(payload: Mapping[str, Any]) -> list[str]:
    """The texts of an answer in any form."""
    choices = payload.get("choices")
    messages = [choice.get("message") for choice in choices or () if isinstance(choice, dict)]
    texts = [message.get("content") for message in messages if isinstance(message, dict)]
    return [text for text in texts if isinstance(text, str)]


async def _look_up(client: Client, settings: OpenAISettings) -> None:
    """Warn if this model is not in the endpoint's list. A missing or empty list proves nothing, and Azure's list does
    not contain deployments.
    """
    known = await _model_names(client)
    if known and settings.name not in known and _AZURE not in client.address.base_url:
        _LOG.warning("%s does not list the model %r.%s", client.address.where, settings.name, _serves(settings, known))


async def _model_names(client: Client) -> list[str]:
    """The models that the endpoint lists; none if it has no list."""
    try:
        return await client.model_names()
    except EndpointError as error:
        if error.status in (404, 405, 501):
            return []
        raise


async def _refusal(client: Client, settings: OpenAISettings, error: EndpointError) -> PlanError | None:
    """Return the reason in an answer why the run cannot start; ``None`` if there is none."""
    address, status = client.address, error.status
    if status in (401, 403):
        return _bad_key(address, error)
    if error.kind != "permanent":
        return None
    words = error.what.lower()
    if status in (400, 404, 422) and "model" in words and any(word in words for word in _MISSING_WORDS):
        return await _unknown_model(client, settings, error)
    if status in (404, 405) or 300 <= status < 400:
        return _no_endpoint(address, error)
    if status in (402, 501):
        return PlanError(error.what, where=address.base_url, hint=error.hint)
    return None


def _bad_key(address: Address, error: EndpointError) -> PlanError:
    if not address.has_key:
        what = f"The endpoint requires a key, and the environment variable {address.key_env} is not set"
        hint = f"Set {address.key_env}, or name another variable with --model-args api_key_env=NAME."
    else:
        what = f"The endpoint rejects the key in {address.key_env}"
        hint = f"Check {address.key_env} and what its key may use."
    return PlanError(f"{what} ({error.what}).", where=address.base_url, hint=hint)


async def _unknown_model(client: Client, settings: OpenAISettings, error: EndpointError) -> PlanError:
    try:
        known = await client.model_names()
    except ModelError:
        known = []
    hint = _serves(settings, known)
    what = f"The endpoint does not know the model {settings.name!r} ({error.what})."
    return PlanError(what, where=client.address.base_url, hint=hint)


def _serves(settings: OpenAISettings, known: Sequence[str]) -> str:
    hint = did_you_mean(settings.name, known)
    if known and not hint:
        more = ", …" if len(known) > _MAX_NAMES else ""
        hint = f"It serves: {', '.join(sorted(known)[:_MAX_NAMES])}{more}."
    return hint


def _no_endpoint(address: Address, error: ModelError) -> PlanError:
    hint = error.hint if isinstance(error, EndpointError) and error.status < 400 else ""
    if not hint and not address.base_url.endswith("/v1"):
        hint = f"Most servers need /v1 at the end: --base-url {address.base_url}/v1"
    return PlanError(f"This is not an OpenAI-compatible endpoint: {error.what}", where=address.base_url, hint=hint)
