"""Log-likelihood at an endpoint, in one of three ways; the first that works is kept.

``prompt_logprobs``
    vLLM's own: the continuation becomes the beginning of the model's turn, and the server returns the log-probability
    of every token of the prompt. Exact, with media and with the model's chat template.
``echo``
    Completions that repeat their prompt with log-probabilities. Exact, but a text without the chat template.
``first_token``
    The likeliest first tokens of an answer. Correct for letters and single tokens; one request for all choices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, get_args

from polymeter.core.errors import ModelError
from polymeter.core.request import ChoiceLogprob, Loglikelihood, Output, Usage
from polymeter.models.endpoint.errors import EndpointError
from polymeter.models.openai.answers import choices_of, usage_of
from polymeter.models.openai.client import Client
from polymeter.models.openai.content import dumps
from polymeter.models.openai.scoring import (
    MissingFieldError,
    Token,
    echoed_tokens,
    first_tokens,
    from_offset,
    prompt_tokens,
    repeats,
    spelled,
    total,
)
from polymeter.models.openai.settings import Api, Way

_N_TOP = 20
_SHOWN = 40
_ONE: Mapping[str, Any] = {"max_tokens": 1, "temperature": 1.0}
"""Temperature 1 leaves log-probabilities unchanged at servers that scale them."""


@dataclass(frozen=True, slots=True)
class Context:
    """The context of continuations.

    Attributes:
        messages: JSON list of the messages, without a final message of the model.
        prefill: The text of that final message; empty if there is none.
        text: All text, for endpoints that continue text; ``None`` if there are media.
    """

    messages: bytes
    prefill: str
    text: str | None


Answer = Callable[[Context, Loglikelihood], Awaitable[Output]]
Used = list[Usage | None]
"""The usage of each call for one request."""


class Ways:
    """The ways that are tried at a model's endpoint, and those that have worked. All of its addresses share them: an
    answer must not depend on the address that it comes from.

    Args:
        api: ``completions``: only ``echo`` is tried.
        way: The way to use; ``None``: the first that works.

    Attributes:
        order: The ways to try.
        working: The way that works, by whether there are media.
    """

    def __init__(self, api: Api, way: Way | None) -> None:
        self.order: tuple[Way, ...] = (way,) if way else ("echo",) if api == "completions" else get_args(Way)
        self.working: dict[bool, Way] = {}
        self._searches: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}

    def search(self) -> asyncio.Lock:
        """A lock: only one search at a time."""
        return self._searches.setdefault(asyncio.get_running_loop(), asyncio.Lock())


class Likelihood:
    """Answers log-likelihood requests.

    Args:
        client: The endpoint.
        ways: The ways to try.
    """

    def __init__(self, client: Client, ways: Ways) -> None:
        self._client = client
        self._where = client.address.where
        self._ways = ways

    async def answer(self, context: Context, parameters: Loglikelihood) -> Output:
        """The log-probability of every continuation. The output's note names the way that was used.

        Raises:
            ModelError: if the endpoint supports none of the ways, or failed.
        """
        if parameters.is_rolling:
            return await self._by_whole_text(parameters)
        has_media = context.text is None
        way = self._ways.working.get(has_media)
        if way is not None:
            return await self._use(way, context, parameters)
        async with self._ways.search():
            way = self._ways.working.get(has_media)
            if way is None:
                return await self._search(context, parameters)
        return await self._use(way, context, parameters)

    async def _search(self, context: Context, parameters: Loglikelihood) -> Output:
        reasons: list[str] = []
        is_unclear = False
        for way in self._ways.order:
            try:
                output = await self._use(way, context, parameters)
            except (EndpointError, MissingFieldError) as error:
                if error.kind != "permanent" or error.scope == "endpoint":
                    raise
                is_unclear = is_unclear or error.scope == "unclear"
                reasons.append(f"{way}: {error.what}")
            else:
                self._ways.working[context.text is None] = way
                return output
        raise ModelError(
            f"The endpoint returns no log-probabilities. Tried {'; '.join(reasons)}.",
            where=self._where,
            hint="Choose tasks that generate, or a server that returns them, such as vLLM.",
            scope="unclear" if is_unclear else "request",
        )

    async def _use(self, way: Way, context: Context, parameters: Loglikelihood) -> Output:
        ways: Mapping[Way, Answer] = {
            "prompt_logprobs": self._by_prompt,
            "echo": self._by_echo,
            "first_token": self._by_first_token,
        }
        return await ways[way](context, parameters)

    async def _by_prompt(self, context: Context, parameters: Loglikelihood) -> Output:
        used: Used = []
        scored = await _together([self._prompt_choice(context, text, used) for text in parameters.continuations])
        return Output(logprobs=tuple(scored), usage=_summed(used), note="log-probabilities: prompt_logprobs")

    async def _prompt_choice(self, context: Context, continuation: str, used: Used) -> ChoiceLogprob:
        # The model's turn begins without a space: templates strip it, or it would change the tokens.
        own = continuation if context.prefill else continuation.lstrip() or continuation
        message = dumps({"role": "assistant", "content": context.prefill + own})
        settings = {
            **_ONE,
            "prompt_logprobs": 1,
            "add_generation_prompt": False,
            "continue_final_message": True,
        }
        payload = await self._client.chat(_appended(context.messages, message), settings)
        used.append(usage_of(payload))
        tokens = prompt_tokens(payload, choices_of(payload, where=self._where)[0], where=self._where)
        scored = spelled(tokens, own)
        if scored is not None:
            return scored
        n_context = await self._n_context(context, used)
        if not 0 < n_context < len(tokens):
            raise ModelError(f"The endpoint's tokens do not spell the continuation {own[:80]!r}.", where=self._where)
        return total(tokens[n_context:])

    async def _n_context(self, context: Context, used: Used) -> int:
        """Return the number of tokens before the continuation."""
        messages, settings = context.messages, dict(_ONE)
        if context.prefill:
            messages = _appended(messages, dumps({"role": "assistant", "content": context.prefill}))
            settings.update(add_generation_prompt=False, continue_final_message=True)
        usage = usage_of(await self._client.chat(messages, settings))
        used.append(usage)
        return (usage.input_tokens if usage else None) or 0

    async def _by_echo(self, context: Context, parameters: Loglikelihood) -> Output:
        if context.text is None:
            raise MissingFieldError("it accepts no media")
        used: Used = []
        scored = await _together([self._echo_choice(context.text, text, used) for text in parameters.continuations])
        note = "log-probabilities: echo, without a chat template"
        return Output(logprobs=tuple(scored), usage=_summed(used), note=note)

    async def _by_whole_text(self, parameters: Loglikelihood) -> Output:
        """Score texts without a context. No server returns the log-probability of a text's first token."""
        used: Used = []
        scored = await _together([self._echo_text(text, used) for text in parameters.continuations])
        note = "log-probabilities: echo, without the first token of a text"
        return Output(logprobs=tuple(scored), usage=_summed(used), note=note)

    async def _echo_text(self, text: str, used: Used) -> ChoiceLogprob:
        if not text:
            return ChoiceLogprob(0.0, True, 0)
        tokens, _ = await self._echoed(text, used)
        return total(tokens[1:] if tokens[0].logprob is None else tokens)

    async def _echoed(self, text: str, used: Used) -> tuple[list[Token], list[int]]:
        """The tokens of a text, and where in it each begins and the last one ends.

        Raises:
            MissingFieldError: if there are none, or if they are those of another text: a prompt that the server cuts,
                normalises or puts into a template has other log-probabilities.
        """
        settings = {"max_tokens": 1, "temperature": 1.0, "echo": True, "logprobs": 1}
        payload = await self._client.completion(dumps(text), settings)
        usage = usage_of(payload)
        used.append(usage)
        n_new = usage.output_tokens if usage and usage.output_tokens is not None else 1
        tokens, offsets = echoed_tokens(choices_of(payload, where=self._where)[0], n_new, where=self._where)
        if not repeats(tokens, text):
            shown = "".join(token.text for token in tokens)
            what = f"its echo is another text than was sent: {_ends(shown)}, not {_ends(text)}"
            raise MissingFieldError(what, where=self._where)
        return tokens, offsets

    async def _echo_choice(self, context: str, continuation: str, used: Used) -> ChoiceLogprob:
        tokens, offsets = await self._echoed(context + continuation, used)
        joined = "".join(token.text for token in tokens)
        if joined.endswith(context + continuation) or not offsets:
            scored = spelled(tokens, continuation)
        else:  # the bytes of a character are spread over tokens: only the server knows where each token begins
            # Counted from the end: a token that begins every text has a length, too.
            end = offsets[len(tokens)] if len(offsets) > len(tokens) else len(context + continuation)
            scored = from_offset(tokens, offsets, end - len(continuation))
        if scored is None:
            what = f"The endpoint's tokens do not spell the continuation {continuation[:80]!r}."
            raise ModelError(what, where=self._where)
        return scored

    async def _by_first_token(self, context: Context, parameters: Loglikelihood) -> Output:
        messages, settings = context.messages, {**_ONE, "logprobs": True, "top_logprobs": _N_TOP}
        if context.prefill:
            messages = _appended(messages, dumps({"role": "assistant", "content": context.prefill}))
            settings.update(add_generation_prompt=False, continue_final_message=True)
        payload = await self._client.chat(messages, settings)
        scored = first_tokens(choices_of(payload, where=self._where)[0], parameters.continuations, where=self._where)
        note = "log-probabilities: first token"
        if scored.unseen:
            note += f"; not among the likeliest: choice {', '.join(map(str, scored.unseen))}"
        return Output(logprobs=scored.choices, usage=usage_of(payload), note=note)


def _ends(text: str) -> str:
    """The beginning and the end of a text, for a message."""
    return repr(text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]}…{text[-_SHOWN:]}")


def _appended(messages: bytes, message: bytes) -> bytes:
    comma = b"," if len(messages) > 2 else b""
    return b"%s%s%s]" % (messages[:-1], comma, message)


def _summed(used: Used) -> Usage | None:
    """Return the usage of all calls; a count that one of them does not report is unknown."""
    tiers = {one.service_tier if one else None for one in used}
    summed: dict[str, Any] = {}
    for name in (one.name for one in fields(Usage) if one.name != "service_tier"):
        column = [getattr(one, name) if one else None for one in used]
        summed[name] = None if None in column else sum(column)
    if all(count is None for count in summed.values()):
        return None
    return Usage(**summed, service_tier=tiers.pop() if len(tiers) == 1 else None)


async def _together(questions: list[Any]) -> list[ChoiceLogprob]:
    """Send requests at the same time; if one fails, the others are cancelled."""
    tasks = [asyncio.ensure_future(question) for question in questions]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
