"""The most that a try can cost, and what an answer cost.

The input is bounded by ``polymeter.prices.tokens`` (a token has at least one byte), the output by the token limit of
the request. All of the input is taken at its dearest price.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from polymeter.core.content import Audio, Image, Video
from polymeter.core.errors import PlanError
from polymeter.core.model import Model
from polymeter.core.records.rates import Rates, at_tier
from polymeter.core.records.usage import ModelUsage
from polymeter.core.request import Generate, GenerateImage, Loglikelihood, OwnPrompt, Request, Response, Usage
from polymeter.prices.tokens import TokenRule, request_tokens, token_rule
from polymeter.run.budget.amounts import Amount, picodollars
from polymeter.run.budget.caps import Caps
from polymeter.run.schedule.recorder import sent_media

SMALL = ModelUsage(output=16, requests=1, images_sent=0, images_made=0, audio_s=0.0, audio=0, image=0, image_output=0)
"""The answer of a small request, which shows that an endpoint is there."""
_SMALL_INPUT = 560
"""The most tokens of its prompt: a word, and what a template may put around it."""
_AROUND_TOOLS = 1024
"""Tokens that a provider puts around tools: Anthropic states up to 804."""
_WAYS = 3
"""An endpoint is tried in so many ways until one gives log-probabilities, with at most two calls for a continuation."""


@dataclass(frozen=True, slots=True)
class Tariff:
    """The cost of requests to one model under the caps of a run.

    Attributes:
        model: The model.
        name: Its name, for messages.
        caps: The caps.
        tiers: Its prices by service tier; empty: its requests cost nothing by themselves.
        rule: How its tokens are counted.
        n_beside: The most tokens of what the model's settings add to every request.
    """

    model: Model
    name: str
    caps: Caps
    tiers: Mapping[str, Rates]
    rule: TokenRule
    n_beside: int = 0

    @classmethod
    def of(cls, model: Model, name: str, caps: Caps, tiers: Mapping[str, Rates]) -> Tariff:
        """The tariff of a model."""
        body = model.identity.get("extra_body") if model.traits.is_endpoint else None
        n_beside = len(json.dumps(body, default=str)) if body else 0
        return cls(model, name, caps, tiers, token_rule(model), n_beside)

    @property
    def rates(self) -> Rates | None:
        """The prices of the standard tier; ``None`` if requests cost nothing by themselves."""
        return at_tier(self.tiers, "")

    @property
    def _is_counted(self) -> bool:
        """True if a cap counts the requests by themselves."""
        return self.caps.tokens is not None or bool(self.tiers)

    def small(self, n: int = 1) -> Amount:
        """The most that some small requests can cost."""
        if not self._is_counted:
            return Amount()
        return self._amount(replace(SMALL, input=_SMALL_INPUT + self.n_beside)).scaled(n)

    def worst_of(self, asked: Sequence[Request | OwnPrompt]) -> Amount:
        """The most that one try of a request can cost, or of repeats that are sent together.

        Raises:
            PlanError: if there is no bound.
        """
        if not self._is_counted:
            return Amount()
        total = Amount()
        for one in asked:
            if isinstance(one, Request):
                total += self._amount(self._most(one), _tier_of(one))
        return total

    def spent_by(self, asked: Sequence[Request | OwnPrompt], responses: Sequence[Response]) -> Amount | None:
        """Return the cost of a try; ``None`` if it is unknown."""
        if not self._is_counted:
            return Amount()
        total = Amount()
        for one, response in zip(asked, responses, strict=True):
            if response.error is not None:
                # A request of several calls may have been declined after some of them.
                is_free = response.error.is_unpaid and not _has_calls(one)
                if not is_free:
                    return None
            elif not response.is_joined and isinstance(one, Request):
                spent = self._answered(one, response)
                if spent is None:
                    return None
                total += spent
        return total

    def _most(self, request: Request) -> ModelUsage:
        """The most that one request can use."""
        parameters = request.parameters
        tokens = request_tokens(request, self.rule).upper + _tools_upper(request) + self.n_beside
        sent = sent_media(request)
        usage = ModelUsage(
            input=tokens,
            output=0,
            images_sent=int(sent.get("images_sent") or 0),
            images_made=0,
            audio_s=sent.get("audio_s") or 0.0,
            requests=1,
            **_parts_of(request),
        )
        if isinstance(parameters, Loglikelihood):
            n_calls = _WAYS * len(parameters.continuations) + 1
            is_remote = self.model.traits.is_endpoint
            return replace(usage, input=tokens * (_WAYS + 1), output=n_calls) if is_remote else usage
        if isinstance(parameters, GenerateImage):
            # An image that is charged by its tokens has no limit on them.
            if self.caps.tokens is not None or self.rates is None or self.rates.image_made is None or self.rates.output:
                raise self._unbounded(request, "an image, whose tokens have no limit")
            return replace(usage, images_made=1)
        limit = self.model.token_limit(parameters)
        if limit is None:
            raise self._unbounded(request, "an answer of any length")
        return replace(usage, output=limit)

    def _unbounded(self, request: Request, what: str) -> PlanError:
        task = f"Task {request.origin.task!r}" if request.origin is not None else "A request"
        flag = "--max-cost" if self.caps.cost is not None else "--max-tokens"
        is_text = isinstance(request.parameters, Generate)
        return PlanError(
            f"{task} asks {self.name} for {what}, so its cost has no bound, and {flag} cannot hold.",
            where="max_new_tokens" if is_text else "image_made",
            hint="Set a token limit in the task's generation settings (max_new_tokens), or with --gen-kwargs "
            "max_new_tokens=N."
            if is_text
            else "Cap the cost only, and give the price of an image (image_made), and 0 for tokens of answers, in a "
            "file of --prices.",
        )

    def _answered(self, request: Request, response: Response) -> Amount | None:
        counts = usage_of(response)
        if counts is None:
            return None
        tokens = (counts.prompt or 0) + (counts.output or 0)
        sent = sent_media(request)
        if not self.tiers:
            return Amount(tokens)
        usage = replace(
            counts,
            images_sent=int(sent.get("images_sent") or 0),
            audio_s=sent.get("audio_s") or 0.0,
            **{name: n for name, n in _parts_of(request).items() if getattr(counts, name) is None},
        )
        high = stated_cost(response)
        if high is None:
            rates = at_tier(self.tiers, _tier_in(response))
            high = None if rates is None else rates.cost_of(usage).high
        return None if high is None else Amount(tokens, picodollars(high))

    def _amount(self, usage: ModelUsage, tier: str = "") -> Amount:
        tokens = (usage.prompt or 0) + (usage.output or 0)
        if not self.tiers:
            return Amount(tokens)
        rates = at_tier(self.tiers, tier)
        written = replace(usage, input=0, cached_write=usage.input)
        costs = [None if rates is None else rates.cost_of(one).high for one in (usage, written)]
        if None in costs:
            of_tier = f" in the service tier {tier!r}" if tier else ""
            raise PlanError(
                f"The prices of {self.name}{of_tier} are not complete, so --max-cost cannot hold.",
                where="--max-cost" if rates is None else rates.source,
                hint=f"Give both prices: --price {self.name}=IN/OUT, in US dollars for a million tokens.",
            )
        return Amount(tokens, picodollars(max(cost for cost in costs if cost is not None)))


def usage_of(response: Response) -> ModelUsage | None:
    """The usage that an answer states; ``None`` if it does not state its tokens."""
    names = [one.name for one in fields(Usage) if one.name.endswith("_tokens")]
    sums: dict[str, int] = {}
    n_images = 0
    for output in response.outputs:
        n_images += len(output.images)
        for name in names if output.usage is not None else ():
            count = getattr(output.usage, name)
            if count is not None:
                sums[name] = sums.get(name, 0) + count
    whole, answered = sums.get("input_tokens"), sums.get("output_tokens")
    if whole is None or answered is None:
        return None
    read, written = sums.get("cached_tokens", 0), sums.get("cache_write_tokens", 0)
    return ModelUsage(
        input=max(whole - read - written, 0),
        cached_read=read,
        cached_write=written,
        output=answered,
        images_made=n_images,
        requests=1,
        audio=sums.get("audio_tokens"),
        image=sums.get("image_tokens"),
        image_output=sums.get("image_output_tokens"),
    )


def stated_cost(response: Response) -> float | None:
    """The cost that a provider states in its answer, in US dollars; ``None`` if it states none."""
    stated = [None if output.usage is None else output.usage.cost for output in response.outputs]
    known = [cost for cost in stated if cost is not None]
    return sum(known) if known and len(known) == len(stated) else None


def _parts_of(request: Request) -> dict[str, Any]:
    """The tokens that have prices of their own: none of those that the request has no content for, else unknown."""
    kinds = {type(medium) for medium in request.media()}
    makes_images = isinstance(request.parameters, GenerateImage)
    return {
        "audio": None if kinds & {Audio, Video} else 0,
        "image": None if kinds & {Image, Video} else 0,
        "image_output": None if makes_images else 0,
    }


def _tier_of(request: Request) -> str:
    """The service tier that a request asks for; empty: it asks for none."""
    parameters = request.parameters
    if isinstance(parameters, Loglikelihood):
        return ""
    body = parameters.extra.get("extra_body")
    return str({**(body if isinstance(body, Mapping) else {}), **parameters.extra}.get("service_tier") or "")


def _tier_in(response: Response) -> str:
    """The service tier that an answer states; empty: it states none."""
    return next((one.usage.service_tier for one in response.outputs if one.usage and one.usage.service_tier), "")


def _tools_upper(request: Request) -> int:
    """The most tokens of the tools and further fields of a request, and of the calls in its conversation."""
    tools = request.parameters.tools if isinstance(request.parameters, Generate) else ()
    told = [asdict(tool) for tool in tools]
    told += [asdict(call) for message in request.messages for call in message.calls]
    told += [dict(message.carried) for message in request.messages if message.carried]
    if not isinstance(request.parameters, Loglikelihood) and request.parameters.extra.get("extra_body"):
        told.append(request.parameters.extra["extra_body"])
    return len(json.dumps(told, default=str)) + _AROUND_TOOLS if told else 0


def _has_calls(asked: Request | OwnPrompt) -> bool:
    return isinstance(asked, Request) and isinstance(asked.parameters, Loglikelihood)
